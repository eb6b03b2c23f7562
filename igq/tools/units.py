"""Units of work of a command that moves many messages: a number of them, or of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def in_units(items: Iterable[_T], length: Callable[[_T], int], messages: int, size: int) -> Iterator[list[_T]]:
    """Cut messages into units of work. `igq load` goes on by their numbers, so the same messages make the same units.

    Args:
        length: the bytes of a message.
        messages: of a unit, at most.
        size: bytes, with the message after which a unit ends before it has so many messages.
    """
    iterator = iter(items)
    while unit := list(islice(iterator, 1)):
        held = length(unit[0])
        for item in islice(iterator, messages - 1):
            unit.append(item)
            held += length(item)
            if held > size:
                break
        yield unit
