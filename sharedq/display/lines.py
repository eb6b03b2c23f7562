"""Lines that a command prints beside its results: each is one line, whatever its names and arguments contain."""

from __future__ import annotations

import codecs
import json
import os
import sys
from typing import Any

from sharedq.display.text import visible
from sharedq.settings.redis_url import mask_urls

#: The name of the handler for characters that an encoding lacks.
_ESCAPED = "igq.escaped"


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


def prepare_streams() -> None:
    """Prepare for whatever the caller did to the standard streams. Each command begins with this.

    The number of a closed stream goes to the null device: a file or a socket that got it would be replaced in the next
    child process. A character that an encoding lacks, such as an umlaut in ASCII, is written as its bytes in UTF-8,
    like ``\\xc3\\xbc``: a command that has done its work must not fail because it cannot tell.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    codecs.register_error(_ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].encode("utf-8", "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in lacking), error.end
