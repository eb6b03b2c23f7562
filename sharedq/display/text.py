"""Foreign text in a form that is safe for a terminal or a page, and without what may be a secret."""

from __future__ import annotations

import re
from typing import Final

from sharedq.settings.redis_url import HIDDEN, mask_urls

#: Keywords of MQSC whose values are secrets: PASSWORD and LDAPPWD, for example. No command of igq takes one,
#: but a command that is refused is kept, too. SSLCRYP has the PIN of a card in it.
_KEYWORD: Final = r"\w*(?:PASSWORD|PASSWD|PASSPHRASE|PWD|SSLCRYP)\w*"
_KEYWORD_ALONE: Final = re.compile(_KEYWORD, re.IGNORECASE)
#: The value may lack its last quote.
_WITH_VALUE: Final = re.compile(rf"({_KEYWORD})\s*\(\s*(?:'(?:[^']|'')*(?:'|$)|[^)]*)", re.IGNORECASE)


def visible(text: str, keep: str = "") -> str:
    r"""The text in one line. Characters that control a terminal or are invisible are written like ``\x1b``.

    These are all control characters (line ends and C1 too), marks that change the direction of writing, and halves of
    characters, which cannot be written at all.

    Args:
        keep: characters among these that stay.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_secret(keyword: str) -> bool:
    """Whether the value of a keyword is a secret."""
    return _KEYWORD_ALONE.fullmatch(keyword) is not None


def mask_secrets(text: str) -> str:
    """Return a text with what may be a password, as a value of MQSC or in a URL of Redis, hidden."""
    return mask_urls(_WITH_VALUE.sub(rf"\1({HIDDEN}", text))
