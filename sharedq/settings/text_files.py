"""Text that people write: files of settings, commands and rules, as their editors store them."""

from __future__ import annotations

import codecs
from pathlib import Path

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class NotTextError(ValueError):
    """The bytes are not text; the message says where, and why."""


def read_text(path: Path) -> str:
    """Return the text of a file: see `decode_text`.

    Raises:
        OSError: the file cannot be read.
        NotTextError: the file is not text.
    """
    return decode_text(path.read_bytes())


def decode_text(data: bytes) -> str:
    r"""Return UTF-8 as text, without its byte order mark and with \n at the ends of lines.

    A byte order mark of UTF-16, as PowerShell writes one, is understood too.

    Raises:
        NotTextError: for example "line 3 is not UTF-8 text".
    """
    if data.startswith(_UTF_16):
        try:
            return _with_plain_ends(data.decode("utf-16"))
        except UnicodeDecodeError:
            raise NotTextError("this is not UTF-16 text") from None
    try:
        return _with_plain_ends(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotTextError(f"line {_line_at(data, error.start)} is not UTF-8 text") from None


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _line_at(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
