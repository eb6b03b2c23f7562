"""Writes files that a user names: each has its old content or all of the new one, whenever the process dies."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Replace what is in *path*. The mode of a file that is there stays, and a symbolic link still leads to its file.

    A device or a pipe is written to and never replaced: ``/dev/null`` stays what it is.

    Args:
        mode: of a new file, less the umask.

    Raises:
        OSError: it cannot be written; the old content stays.
    """
    target = Path(os.path.realpath(path))
    try:
        there = target.stat().st_mode
    except FileNotFoundError:
        there = None
    if there is not None and not stat.S_ISREG(there):
        with path.open("wb") as file:
            file.write(content)
        return
    new = target.parent / f".igq.{secrets.token_hex(8)}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if there is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(there))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
