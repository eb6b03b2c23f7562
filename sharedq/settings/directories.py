"""Directories of this user's own."""

from __future__ import annotations

from pathlib import Path


def make_private(path: Path) -> None:
    """Make a directory that is not there, and what is missing above it, for this user alone.

    A directory that is there stays as it is. `Path.mkdir` gives its mode to the last directory only.

    Raises:
        OSError: it cannot be made; FileExistsError: it is no directory.
    """
    for each in reversed([above for above in path.parents if not above.exists()]):
        each.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
