"""Reading many fields of a structure at once, in code that Python compiles for those fields.

Only compiled code lets CPython remember where an attribute is: ``operator.attrgetter`` takes 2.6 times as long for
the 28 fields of a message descriptor, and every put reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def reader(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns these fields of a structure, in this order."""
    return _compiled("lambda structure: ({fields})", names, {})


def reader_into(call: Callable[..., T], names: Iterable[str]) -> Callable[[Any], T]:
    """A function that makes the *call* with these fields of a structure as its arguments."""
    return _compiled("lambda structure: call({fields})", names, {"call": call})


def type_checker(call: Callable[..., bytes], numbers: Iterable[str], data: Iterable[str]) -> Callable[[Any], object]:
    """A function that says whether these fields of a structure are numbers that *call* takes, and byte strings.

    It may raise what *call* raises, and AttributeError.
    """
    of_bytes = "".join([f" is structure.{name}.__class__" for name in data])
    of_int = "".join([f" is structure.{name}.__class__" for name in numbers])
    text = (
        f"lambda structure: bytes{of_bytes or ' is bytes'} and (int{of_int} or whole({{fields}})) and call({{fields}})"
    )
    return _compiled(text, numbers, {"call": call, "whole": _are_whole})


def _are_whole(*values: object) -> bool:
    return all(isinstance(value, int) for value in values)


def _compiled(text: str, names: Iterable[str], known: dict[str, Any]) -> Callable[[Any], Any]:
    # The names are those of a class in this package; no program and no message gives one.
    fields = "".join([f"structure.{name}, " for name in names])
    function: Callable[[Any], Any] = eval(text.format(fields=fields), known)
    return function
