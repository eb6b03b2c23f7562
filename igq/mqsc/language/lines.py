"""Turns lines of text into whole MQSC commands: continuation, comments, semicolons. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

#: A line of 80 columns with a sequence number in the last eight.
_NUMBERED = re.compile(r"(.{71}[ +-])(\d{8})")


@dataclass(frozen=True, slots=True)
class CommandText:
    """The text of one command in one piece, and its first line.

    Attributes:
        line: number of the command's first line, from 1.
        text: the command without continuation characters and without its semicolon.
        lines: the original lines, for the listing.
        is_cut: the input ended although its last line continues.
        starts: for each line, the place in *text* where it begins, and its number.
    """

    line: int
    text: str
    lines: tuple[str, ...]
    is_cut: bool = False
    starts: tuple[tuple[int, int], ...] = ()

    def line_at(self, place: int) -> int:
        """Return the number of the line that has this place of *text*."""
        return next((number for start, number in reversed(self.starts) if start <= place), self.line)


def split_commands(lines: Iterable[str]) -> Iterator[CommandText]:
    """Yield each command as soon as its last line is read, so that a terminal gets its answer at once.

    A line that ends with ``+`` continues at the first non-blank character of the next line, a line that ends with ``-``
    at its first character. ``*`` in the first column begins a comment. Comments and blank lines between continued lines
    are ignored, and so are sequence numbers in columns 73 to 80, which z/OS members have.
    """
    text, first = "", 0
    given: list[str] = []
    starts: list[tuple[int, int]] = []
    joins_at_first_word = True
    for number, line in enumerate(_without_sequence_numbers(lines), start=1):
        if line.startswith("*") or not line.strip():
            continue
        first = first or number
        part = line.lstrip() if joins_at_first_word else line
        given.append(line)
        starts.append((len(text), number))
        stripped = part.rstrip()
        if stripped.endswith(("+", "-")):
            text += stripped[:-1]
            joins_at_first_word = stripped.endswith("+")
            continue
        yield from _split_at_semicolons(first, text + part, tuple(given), starts)
        text, given, starts, first, joins_at_first_word = "", [], [], 0, True
    if given:
        yield CommandText(first, text.strip(), tuple(given), is_cut=True)


def _without_sequence_numbers(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines without line ends, and without the numbers in columns 73 to 80 if the first line has one.

    Column 72 of such a line must be blank or continue the command, or the digits are part of a long word. Each number
    must be greater than the one before.
    """
    last: int | None = None
    for number, raw in enumerate(lines):
        line = raw.rstrip("\r\n")
        found = _NUMBERED.fullmatch(line) if number == 0 or last is not None else None
        if found and (last is None or int(found[2]) > last):
            last = int(found[2])
            line = found[1]
        yield line


def _split_at_semicolons(
    line: int, text: str, given: tuple[str, ...], starts: Sequence[tuple[int, int]]
) -> Iterator[CommandText]:
    """Split a line with several commands. A semicolon in quotes is an ordinary character."""
    parts, start, is_quoted = [], 0, False
    for position, character in enumerate(text):
        if character == "'":
            is_quoted = not is_quoted
        elif character == ";" and not is_quoted:
            parts.append((start, text[start:position]))
            start = position + 1
    parts.append((start, text[start:]))
    for begin, part in parts:
        if part.strip():
            moved = begin + len(part) - len(part.lstrip())
            yield CommandText(
                line, part.strip(), given, starts=tuple((place - moved, number) for place, number in starts)
            )
            # A line is listed once, with its first command.
            given = ()
