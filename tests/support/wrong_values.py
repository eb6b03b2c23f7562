"""Values that a program may put into a field or an argument by mistake: of each type, and beyond what fits."""

from __future__ import annotations

from typing import Any, Final


class Index:
    """It counts as a number for ``struct``, but is none."""

    def __index__(self) -> int:
        return 1


class Text(str):
    """A text of a derived class."""

    __slots__ = ()


WRONG: Final[list[Any]] = [
    None,
    "text",
    "é",
    "\ud800",
    "a\0b",
    Text("text"),
    b"",
    b"x",
    b"\xff\xfe",
    b"1" * 24,
    b"x" * 300,
    b"x" * 20_000,
    bytearray(b"A1"),
    bytearray(24),
    memoryview(b"1" * 24),
    1.5,
    float("nan"),
    True,
    0,
    1,
    -1,
    2**31 - 1,
    2**31,
    2**32,
    2**63,
    2**80,
    1j,
    Index(),
    [],
    [1],
    (),
    {},
    object(),
    int,
]
