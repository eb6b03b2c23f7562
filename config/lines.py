"""Lines that a command says beside their results: one line each, whatever stands in names and arguments."""

from __future__ import annotations

import sys

from config.redis_mask import mask_urls
from config.shown_text import visible


def tell(text: str) -> None:
    """A line on standard error, without the passwords of URLs that it repeats."""
    if sys.stderr is not None:
        print(visible(mask_urls(text)), file=sys.stderr)


def say(text: str) -> None:
    """A line on standard output."""
    print(visible(text))
