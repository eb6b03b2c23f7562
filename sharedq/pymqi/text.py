"""Bytes and text as pymqi tells them apart: structures take bytes, names take either."""

from __future__ import annotations

from typing import Any

from sharedq.pymqi.errors import WrongTypeError, WrongValueError


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
