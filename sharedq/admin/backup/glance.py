"""The backups of a structure at a glance, for metrics and a doctor: when, how large, and whether the latest try failed.

Nothing is checked: to look at a whole backup takes as long as to recover from it. A try that failed leaves a note
beside the backup, on the same machine, until another one succeeds. DISPLAY CFSTATUS tells of both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, backup_path, failure_path, log_path, read_about
from sharedq.members.group import Group
from sharedq.settings.values import Settings

_LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True)
class BackupGlance:
    """The backups of a structure in the backup directory of this machine.

    Attributes:
        begun: when the latest one was; None if there is none.
        bytes: its size.
        failed_at, error: of a later try that failed; None and empty if the latest one did not.
    """

    begun: datetime | None = None
    bytes: int = 0
    failed_at: datetime | None = None
    error: str = ""


def glance_at(settings: Settings, structure: str) -> BackupGlance:
    """Look at the files of a structure's latest backup."""
    path = backup_path(settings, structure)
    begun, size, failed_at, error = None, 0, None, ""
    with suppress(OSError, ValueError, KeyError):
        begun = datetime.fromisoformat(str(read_about(path)["begun"]))
        size = path.stat().st_size
    with suppress(OSError, ValueError, KeyError, TypeError):
        note = json.loads(failure_path(path).read_text(encoding="utf-8"))
        failed_at, error = datetime.fromisoformat(note["at"]), str(note["error"])
    return BackupGlance(begun, size, failed_at, error)


@contextmanager
def noting_failure(path: Path) -> Iterator[None]:
    """Note beside the backup *path* that an attempt failed within, or that it did not."""
    note = failure_path(path)
    try:
        yield
    except Exception as error:
        text = json.dumps({"at": datetime.now(UTC).isoformat(), "error": str(error)[:_LONGEST_ERROR]})
        # A disk that is full takes no note either; then the backup only grows old.
        with suppress(OSError):
            note.write_text(text, encoding="utf-8")
        raise
    with suppress(OSError):
        note.unlink(missing_ok=True)


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
