"""The words of a selection string.

Source: IBM MQ, "Message selector syntax".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from sharedq.properties.names import RESERVED_WORDS


class TokenKind(Enum):
    """The kind of a token."""

    WORD = "a reserved word"
    NAME = "a name"
    NUMBER = "a number"
    TEXT = "a text"
    BYTES = "a byte string"
    SIGN = "a sign"
    END = "the end"


class Token(NamedTuple):
    """A token: its kind, its value (a reserved word in capitals) and where it begins."""

    kind: TokenKind
    value: str | float
    at: int


class SelectorError(ValueError):
    """A selection string is not in IBM MQ's syntax.

    Attributes:
        is_extended: it is in the syntax that needs an extended message selection provider.
    """

    is_extended = False


class ExtendedSelectorError(SelectorError):
    """A selection string asks for parts of the data of a message."""

    is_extended = True


_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | "0[xX](?P<bytes>(?:[0-9A-Fa-f]{2})+)"
      | (?P<number>
            0[xX][0-9A-Fa-f]+[lL]?
          | (?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?
          | [0-9]+(?:[eE][+-]?[0-9]+[fFdD]?|[fFdD])
          | [0-9]+[lL]?
        )(?![\w$.])
      | (?P<name>[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*|\$[\w$]*(?:\.[^\W\d][\w$]*)*)
      | (?P<sign><>|<=|>=|[=<>+\-*/(),])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)


_LITERAL: Final = re.compile(r"('(?:[^']|'')*')")


def in_one_line(text: str) -> str:
    """Return the same selection string with a blank for each line end and tab that separates its words."""
    parts = _LITERAL.split(text)
    parts[::2] = (re.sub(r"\s", " ", each) for each in parts[::2])
    return "".join(parts)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a selection string; the last is its end. Raises SelectorError: something in it is none."""
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise SelectorError(f"{text[at : at + 20]!r} is not understood")
        yield _token(match)
        if match.lastgroup == "end":
            return
        at = match.end()


def _token(match: re.Match[str]) -> Token:
    kind, at = match.lastgroup or "", match.start()
    found = match[kind]
    if kind == "text":
        return Token(TokenKind.TEXT, found[1:-1].replace("''", "'"), at)
    if kind == "bytes":
        return Token(TokenKind.BYTES, found.lower(), at)
    if kind == "number":
        return Token(TokenKind.NUMBER, _number(found), at)
    if kind == "name" and found.upper() in RESERVED_WORDS:
        return Token(TokenKind.WORD, found.upper(), at)
    return Token({"name": TokenKind.NAME, "sign": TokenKind.SIGN, "end": TokenKind.END}[kind], found, at)


def _number(text: str) -> float:
    """The number, an ``int`` if it is written as a whole one; those that begin with 0 are octal."""
    digits = text.rstrip("lL")
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
    try:
        if base == 16 or digits.isdigit():
            whole = int(digits, base)
            float(whole)
            return whole
        value = float(text.rstrip("fFdD"))
    except (ValueError, OverflowError):
        raise SelectorError(f"{text[:40]} is no number of base {base}, or too large") from None
    if value == float("inf"):
        raise SelectorError(f"{text[:40]} is too large")
    return value
