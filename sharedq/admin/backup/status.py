"""The state of structures and their backups, for DISPLAY CFSTATUS."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, backup_path
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
    try:
        backup = Backup(path, group.name, structure)
    except BackupError:
        return None
    return BackupFacts(datetime.fromisoformat(str(backup.about["begun"])), len(backup), path.stat().st_size)
