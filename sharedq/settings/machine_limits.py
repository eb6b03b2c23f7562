"""Limits of the machine that end an embedded server, and what is said of them: a full disk, too few open files."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from tempfile import TemporaryFile

#: Bytes that a disk has free, unless it counts as full: a put of one long message writes as many.
LEAST_FREE_BYTES = 1 << 20
#: Open files that a process here needs: a manager has about fifty, and each program that connects needs one more.
LEAST_FILES = 256
_PROBE_BYTES = 1 << 16


def full_disk(folder: Path) -> str:
    """Say that the disk of *folder* is full, and where. Empty: it is not. A quota of the user counts, too."""
    try:
        found = os.statvfs(folder)
        free = found.f_bavail * found.f_frsize
        if free < LEAST_FREE_BYTES:
            return f"the disk is full: {folder} has {free >> 10} KiB left"
        # Some file systems count no files.
        if found.f_files and not found.f_favail:
            return f"the disk is full: {folder} has no room for another file"
        # Only a write shows a quota.
        with TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE_BYTES))
            probe.flush()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk is full: {folder}: {error.strerror}"
    return ""


def too_few_files() -> str:
    """Say that this process may not have as many open files as it needs. Empty: it may.

    The soft limit does not count: the server raises it as far as the hard one.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard >= LEAST_FILES:
        return ""
    return f"ulimit -n allows {hard} open files, and {LEAST_FILES} are needed: ulimit -n {LEAST_FILES}"
