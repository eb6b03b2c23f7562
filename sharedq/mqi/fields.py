"""Reading and writing many fields of a structure at once, in code that Python compiles for those fields.

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


def packer(pack: Callable[..., bytes], fields: Iterable[tuple[str, int, bool]]) -> Callable[..., bytes | bool]:
    """A function that calls *pack* with what it is given after a structure, and with these fields of the structure.

    It returns False where a byte string is too long, and may raise what *pack* raises, AttributeError and TypeError.

    Args:
        fields: the name of each ("": nulls), the length of a byte string (0: a number), and whether blanks fill it up.
    """
    fits, values = "", ""
    for name, length, is_padded in fields:
        fits += f"len(structure.{name}) <= {length} and " if name and length else ""
        value = f"structure.{name}" if name else repr(b"" if length else 0)
        values += f"{value}.ljust({length}), " if name and is_padded else f"{value}, "
    return _compiled(f"lambda structure, *front: {fits}pack(*front, {values})", (), {"pack": pack})


def maker(structure: Callable[..., T], fields: Iterable[tuple[str, bool]]) -> Callable[..., T]:
    """A function that makes a structure of StrucId and the values of these fields.

    Args:
        fields: the name of each ("": left out), and whether blanks and nulls fill it up.
    """
    taken, given = "", ""
    for at, (name, is_padded) in enumerate(fields):
        taken += f", value{at}"
        end = r'.rstrip(b" \0")' if is_padded else ""
        given += f"{name}=value{at}{end}, " if name else ""
    return _compiled(f"lambda identifier{taken}: structure({given})", (), {"structure": structure})


def _are_whole(*values: object) -> bool:
    return all(isinstance(value, int) for value in values)


def _compiled(text: str, names: Iterable[str], known: dict[str, Any]) -> Callable[..., Any]:
    # The names are those of a class in this package; no program and no message gives one.
    fields = "".join([f"structure.{name}, " for name in names])
    function: Callable[..., Any] = eval(text.format(fields=fields), known)
    return function
