"""From lines of text to whole MQSC commands: continuation, comments, semicolons. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one command, joined, and where it began.

    Attributes:
        line: number of the command's first line, from 1.
        text: the command without continuation characters and without its semicolon.
        lines: the lines as they were given, for the listing.
        is_cut: the input ended where a continuation line was promised.
    """

    line: int
    text: str
    lines: tuple[str, ...]
    is_cut: bool = False


def split_commands(lines: Iterable[str]) -> Iterator[Source]:
    """Yield each command as soon as its last line was read, so that a terminal is answered at once.

    A line that ends with ``+`` goes on with the first non-blank character of the next one, a line that ends
    with ``-`` with its first character. ``*`` in the first column is a comment, between continued lines too.
    """
    text, first = "", 0
    given: list[str] = []
    joins_at_first_word = True
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        if line.startswith("*") or (not line.strip() and not given):
            continue
        first = first or number
        part = line.lstrip() if joins_at_first_word else line
        given.append(line)
        stripped = part.rstrip()
        if stripped.endswith(("+", "-")):
            text += stripped[:-1]
            joins_at_first_word = stripped.endswith("+")
            continue
        yield from _split_at_semicolons(first, text + part, tuple(given))
        text, given, first, joins_at_first_word = "", [], 0, True
    if given:
        yield Source(first, text.strip(), tuple(given), is_cut=True)


def visible(line: str) -> str:
    r"""A line for a terminal: what would steer that, or nobody would see, is written as ``\x1b``; tabs are not."""
    return "".join(char if char.isprintable() or char == "\t" else _escaped(char) for char in line)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _split_at_semicolons(line: int, text: str, given: tuple[str, ...]) -> Iterator[Source]:
    """Commands behind one another on a line; a semicolon in quotes is a character like any other."""
    parts, start, is_quoted = [], 0, False
    for position, character in enumerate(text):
        if character == "'":
            is_quoted = not is_quoted
        elif character == ";" and not is_quoted:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    for part in parts:
        if part.strip():
            yield Source(line, part.strip(), given)
            # What stands on a line is listed once, with its first command.
            given = ()
