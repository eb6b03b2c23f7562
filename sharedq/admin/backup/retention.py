"""Scheduled backups: they never replace what another group left, and the latest ones are kept under their time."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, backup_path
from sharedq.members.group import Group

_TIME = "%Y%m%dT%H%M%SZ"


def is_of_another_group(group: Group, structure: str, born: str) -> bool:
    """Whether the latest backup was made of a group that Redis has lost since: it is not *born* (`Group.born`).

    Such a backup has what the group needs to recover. A file that cannot be read is none.
    """
    try:
        made_of = Backup(backup_path(group.settings, structure), group.name, structure).about.get("born")
    except BackupError:
        return False
    return bool(made_of and made_of != born)


def keep(path: Path, made: datetime, retention: int) -> Path:
    """Keep the file *path* under a name with the time, too, and only the *retention* latest of these.

    Returns:
        The path with the time.

    Raises:
        OSError: a file cannot be written or removed.
    """
    stem, suffix = path.stem, path.suffix
    kept = path.with_name(f"{stem}.{made:{_TIME}}{suffix}")
    # One name for all times, so that the next call removes what a killed one has left.
    new = path.with_name(f"{stem}.kept.new")
    new.unlink(missing_ok=True)
    try:
        os.link(path, new)
    except OSError:
        # Not every file system has links.
        shutil.copy2(path, new)
    new.replace(kept)
    of_these = re.compile(rf"{re.escape(stem)}\.\d{{8}}T\d{{6}}Z{re.escape(suffix)}")
    for old in sorted(each for each in path.parent.iterdir() if of_these.fullmatch(each.name))[:-retention]:
        with suppress(FileNotFoundError):
            old.unlink()
    return kept
