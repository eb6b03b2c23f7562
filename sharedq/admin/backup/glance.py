"""The backups of a structure at a glance, for metrics and a doctor: when, how large, and whether the latest try failed.

Nothing is checked: to look at a whole backup takes as long as to recover from it. A try that failed leaves a note
beside the backup, on the same machine, until another one succeeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sharedq.admin.backup.file import backup_path, failure_path, read_about
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
