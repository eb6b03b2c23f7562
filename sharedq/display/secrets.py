"""Hides what may be a secret in a text that is kept: in a log, or in the audit trail."""

from __future__ import annotations

import re
from typing import Final

from sharedq.settings.redis_mask import HIDDEN, mask_urls

#: Keywords of MQSC whose values are secrets: PASSWORD and LDAPPWD, for example. No command of igq takes one,
#: but a command that is refused is kept, too. SSLCRYP has the PIN of a card in it.
_KEYWORD: Final = r"\w*(?:PASSWORD|PASSWD|PASSPHRASE|PWD|SSLCRYP)\w*"
_KEYWORD_ALONE: Final = re.compile(_KEYWORD, re.IGNORECASE)
#: The value may lack its last quote.
_WITH_VALUE: Final = re.compile(rf"({_KEYWORD})\s*\(\s*(?:'(?:[^']|'')*(?:'|$)|[^)]*)", re.IGNORECASE)


def is_secret(keyword: str) -> bool:
    """Whether the value of a keyword is a secret."""
    return _KEYWORD_ALONE.fullmatch(keyword) is not None


def mask_secrets(text: str) -> str:
    """Return a text with what may be a password, as a value of MQSC or in a URL of Redis, hidden."""
    return mask_urls(_WITH_VALUE.sub(rf"\1({HIDDEN}", text))
