"""Standard input, of the commands that read it."""

from __future__ import annotations

import sys
from io import BufferedReader
from pathlib import Path
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
        raise CommandError(f"standard input is closed; {remedy}", 2)
    return cast(BufferedReader, sys.stdin.buffer)


def read_bytes(file: Path) -> bytes:
    """Return the bytes of a file that a command line names; ``-`` is standard input. Raises CommandError."""
    try:
        return standard_input("give FILE").read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise CommandError(f"{name_of(file)}: {error.strerror}") from None


def name_of(file: Path) -> str:
    """Return the name of a file for people."""
    return "standard input" if str(file) == "-" else str(file)
