"""Lines that a command prints beside its results: each is one line, whatever its names and arguments contain."""

from __future__ import annotations

import json
import sys
from typing import Any

from sharedq.display.text import visible
from sharedq.settings.redis_mask import mask_urls


def tell(text: str) -> None:
    """A line on standard error, without the passwords of URLs that it repeats."""
    if sys.stderr is not None:
        print(visible(mask_urls(text)), file=sys.stderr)


def say(text: str) -> None:
    """A line on standard output."""
    print(visible(text))


def say_json(value: Any, *, indent: int | None = None) -> None:
    """A value as JSON on standard output, at once. JSON in ASCII escapes whatever a terminal would obey."""
    print(json.dumps(value, indent=indent), flush=True)
