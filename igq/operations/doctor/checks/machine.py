"""This machine: open files and disks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, warning
from sharedq.settings.machine_limits import LEAST_FILES, full_disk, too_few_files

#: A disk with less than both has little room: bytes, and a part of it.
_ROOM_BYTES, _ROOM = 1 << 30, 0.05
#: Open files that a manager may have at least, for a hundred programs and more.
_FILES = 1_024


def check_open_files(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Limits of open files: of this process, and of the managers on this machine."""
    if text := too_few_files():
        yield error(text, f"ulimit -n {LEAST_FILES}, or LimitNOFILE= in the unit of systemd")
    host = os.uname().nodename
    for manager in seen.status.managers:
        limit = _limit_of(manager.pid) if manager.pid is not None and manager.host == host else None
        if limit is not None and limit < _FILES:
            yield warning(
                f"queue manager {manager.name} may have {limit} open files: each connection of a channel takes one",
                f"start it with ulimit -n {_FILES} or more, or LimitNOFILE= in the unit of systemd",
            )


def _limit_of(pid: int) -> int | None:
    """Return the hard limit of open files of a process; None if it has none, or is not to be seen."""
    try:
        lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    words = next((line.split() for line in lines if line.startswith("Max open files")), [])
    return int(words[4]) if len(words) > 4 and words[4].isdecimal() else None


def check_disks(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Room on the disks of data and backups."""
    settings = seen.settings
    for name, folder in {"data_dir": settings.data_dir, "backup_dir": settings.backups}.items():
        if not folder.is_dir():
            continue
        if text := full_disk(folder):
            yield error(f"{name}: {text}", "make room: puts fail until then; nothing that was acknowledged is lost")
            continue
        usage = shutil.disk_usage(folder)
        if usage.free < _ROOM_BYTES and usage.free < _ROOM * usage.total:
            yield warning(f"{name}: the disk of {folder} has {usage.free >> 20} MiB left", "make room soon")
