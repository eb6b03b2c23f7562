"""The standard streams of a command, however its caller left them: closed, or in an encoding that lacks characters."""

from __future__ import annotations

import codecs
import os
import sys

#: The name of the handler for characters that an encoding lacks.
_ESCAPED = "igq.escaped"


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
