"""Directories of this user's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from sharedq.settings.text_files import read_text


def check_name(path: Path) -> None:
    """Refuse a path that cannot be written as text: it is part of a URL, of log lines and of JSON.

    Raises:
        ValueError: it has bytes that are no text in the encoding of the locale, or characters that it lacks.
    """
    try:
        str(path).encode()
        os.fsencode(path)
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        raise ValueError(f"the name is not text in {encoding}; allowed: ASCII, or UTF-8 in such a locale") from None


def make_private(path: Path) -> None:
    """Make a directory that is not there, and what is missing above it, for this user alone.

    A directory that is there stays as it is. `Path.mkdir` gives its mode to the last directory only.

    Raises:
        OSError: it cannot be made; FileExistsError: it is no directory.
    """
    for each in reversed([above for above in path.parents if not above.exists()]):
        each.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def absolute(path: Path, start: Path) -> Path:
    """Return *path* from *start*, with ``~`` for a home."""
    # Not Path.expanduser: that raises for an unknown user, where the name stands for itself in a shell.
    return Path(os.path.normpath(start / os.path.expanduser(path)))  # noqa: PTH111


def default_data_dir(env: Mapping[str, str]) -> Path:
    """Return the data directory if no setting names one."""
    if env.get("XDG_DATA_HOME"):
        return absolute(Path(env["XDG_DATA_HOME"], "igq"), Path.cwd())
    try:
        home = Path(env["HOME"]) if env.get("HOME") else Path("~").expanduser()
    except RuntimeError:
        # A user whom the system does not know, as in a container.
        home = Path("/")
    return absolute(home / ".local/share/igq", Path.cwd())


def data_dir_of(env: Mapping[str, str]) -> Path:
    """Return the data directory in force, without reading or checking any other setting: for probes.

    A file of settings that cannot be read names none; the programs that need it say so.
    """
    if env.get("IGQ_DATA_DIR"):
        return absolute(Path(env["IGQ_DATA_DIR"]), Path.cwd())
    if env.get("IGQ_CONFIG"):
        import tomllib

        file = absolute(Path(env["IGQ_CONFIG"]), Path.cwd())
        try:
            named = tomllib.loads(read_text(file)).get("data_dir")
        except (OSError, ValueError, RecursionError):
            named = None
        if isinstance(named, str) and named.strip():
            return absolute(Path(named), file.parent)
    return default_data_dir(env)
