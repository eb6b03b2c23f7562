"""Lines that a command says beside their results: one line each, whatever stands in names and arguments."""

from __future__ import annotations

import sys

from sharedq.display.text import visible
from sharedq.settings.redis_mask import mask_urls


def tell(text: str) -> None:
    """A line on standard error, without the passwords of URLs that it repeats."""
    if sys.stderr is not None:
        print(visible(mask_urls(text)), file=sys.stderr)


def say(text: str) -> None:
    """A line on standard output."""
    print(visible(text))
