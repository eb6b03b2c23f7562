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

from sharedq.pymqi.errors import WrongTypeError, WrongValueError

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


class default:  # noqa: N801 - pymqi's name
    """How text becomes a message: the encoding of its bytes, and the CCSID that says so in the descriptor."""

    ccsid = 1208
    bytes_encoding = "utf8"


class ByteString:
    """Bytes that a call shall take as a byte string where it could also take text."""

    def __init__(self, value: str | bytes) -> None:
        self.value = value.encode() if isinstance(value, str) else value
        self.pymqi_byte_string = True

    def __len__(self) -> int:
        return len(self.value)


def py23long(x: int) -> int:
    """*x*: integers have one type since Python 3."""
    return x


def is_unicode(s: object) -> bool:
    """Whether *s* is text."""
    return isinstance(s, str)


def ensure_not_unicode(value: object) -> None:
    """Refuse text where only bytes have a meaning. Raises WrongTypeError: *value* is a ``str``."""
    if isinstance(value, str):
        raise WrongTypeError(f"{value!r} is text where bytes are needed; encode it first")


def ensure_bytes(s: Any, encoding: str = "ascii") -> Any:
    """*s*, encoded if it is text; anything else is returned as it is.

    Raises:
        WrongValueError: the encoding does not have a character of the text, or there is no such encoding.
    """
    if not isinstance(s, str):
        return s
    try:
        return s.encode(encoding)
    except (ValueError, LookupError) as error:
        raise WrongValueError(f"{s!r:.100}: {error}") from error


def padded_count(count: int, boundary: int = 4) -> int:
    """The next multiple of *boundary* (a power of two) that is at least *count*."""
    return (count + boundary - 1) & -boundary
