"""The state of structures and their backups, for DISPLAY CFSTATUS."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, backup_path, log_path
from sharedq.members.group import Group


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """The latest backup of a structure. ``messages``: their number. ``bytes``: the size of its file."""

    begun: datetime
    messages: int
    bytes: int


def messages_in(group: Group, structure: str) -> int:
    """Count the messages that the structure stores, in whatever state."""
    messages = group.structure(structure).messages
    return int(group.command(messages, "HLEN", messages))


def latest_backup(group: Group, structure: str) -> BackupFacts | None:
    """Return the backup that RECOVER CFSTRUCT would use here. None if there is no good one."""
    path = backup_path(group.settings, structure)
    stamps = tuple(_stamp(each) for each in (path, log_path(path)))
    return _read_facts(path, group.name, structure, stamps) if stamps[0] else None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what a change of a file changes. None if it cannot be seen."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=64)
def _read_facts(path: Path, group: str, structure: str, _stamps: object) -> BackupFacts | None:
    """Read and check a backup, which means all of it: once, as long as its stamps stay."""
    try:
        backup = Backup(path, group, structure)
        size = path.stat().st_size
    except (BackupError, OSError):
        return None
    return BackupFacts(datetime.fromisoformat(str(backup.about["begun"])), len(backup), size)
