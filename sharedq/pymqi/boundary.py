"""The arguments of pymqi's calls: a value of a type that the call does not take is refused before anything is done.

The annotations of a method say which types it takes; they are read with its first call.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from sharedq.pymqi.errors import WrongTypeError

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type)
Kinds = tuple[type, ...]


def checked(kind: C) -> C:
    """Have every public method of a class look at its arguments."""
    for name, method in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__init__", "__call__", "__getitem__", "__setitem__"):
            continue
        if isinstance(method, staticmethod):
            setattr(kind, name, staticmethod(checked_call(method.__func__)))
        elif isinstance(method, types.FunctionType):
            setattr(kind, name, checked_call(method))
    return kind


def checked_call(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function look at its arguments.

    Raises:
        WrongTypeError: an argument is of another type than its annotation.
    """
    takes = _Arguments(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for value, (name, kinds) in zip(args, takes.in_order, strict=False):
            if kinds and not isinstance(value, kinds):
                _refuse(function, name, value, kinds)
        if takes.rest and len(args) > len(takes.in_order):
            for value in args[len(takes.in_order) :]:
                if not isinstance(value, takes.rest):
                    _refuse(function, "an argument", value, takes.rest)
        for name, value in kwargs.items():
            kinds = takes.by_name.get(name, ())
            if kinds and not isinstance(value, kinds):
                _refuse(function, name, value, kinds)
        return function(*args, **kwargs)

    return call


@dataclass
class _Arguments:
    """The types that each argument of a function takes; none where any value will do."""

    function: Callable[..., Any]
    by_name: dict[str, Kinds] = field(init=False, default_factory=dict)
    rest: Kinds = field(init=False, default=())

    @cached_property
    def in_order(self) -> tuple[tuple[str, Kinds], ...]:
        """The positional parameters. This fills the other kinds, too: annotations may name later classes."""
        hints, in_order = get_type_hints(self.function), []
        for name, parameter in signature(self.function).parameters.items():
            kinds = _kinds_of(hints.get(name, Any))
            if parameter.kind == Parameter.VAR_POSITIONAL:
                self.rest = kinds
            elif parameter.kind != Parameter.VAR_KEYWORD:
                self.by_name[name] = kinds
                if parameter.kind != Parameter.KEYWORD_ONLY:
                    in_order.append((name, kinds))
        return tuple(in_order)


def _kinds_of(hint: Any) -> Kinds:
    """The classes of an annotation. Of a bool there are none: any value is true or false."""
    if hint in (Any, object, bool) or isinstance(hint, TypeVar):
        return ()
    if hint is None:
        return (type(None),)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        parts = [_kinds_of(each) for each in get_args(hint)]
        return tuple(kind for part in parts for kind in part) if all(parts) else ()
    found = origin or hint
    return (found,) if isinstance(found, type) else ()


def _refuse(function: Callable[..., Any], name: str, value: object, kinds: Kinds) -> None:
    wanted = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
    raise WrongTypeError(f"{function.__qualname__}: {name} is {type(value).__name__}, must be {wanted}")
