"""Standard input, of the commands that read it."""

from __future__ import annotations

import sys
from io import BufferedReader
from typing import cast

from igq.errors import CommandError


def standard_input(remedy: str) -> BufferedReader:
    """Return standard input, as bytes.

    Args:
        remedy: how the command works without it.

    Raises:
        CommandError: the caller closed it.
    """
    if sys.stdin is None:
        raise CommandError(f"standard input is closed; {remedy}")
    return cast(BufferedReader, sys.stdin.buffer)
