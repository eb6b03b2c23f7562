"""Backups of structures that are missing, failed or old."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, warning
from sharedq.settings.values import Settings, trigger_of

#: Without a schedule, a backup is old after this time.
_OLD = timedelta(days=7)


def check_backups(seen: GroupSeen) -> Iterator[Diagnosis]:
    """The latest backup of each structure with RECOVER(YES), in the backup directory of this machine."""
    old = _old_after(seen)
    for structure, backup in seen.backups.items():
        todo = f"BACKUP CFSTRUCT({structure}), and set backup_schedule"
        if backup.failed_at is not None:
            yield error(
                f"structure {structure}: its backup failed at {backup.failed_at:%Y-%m-%d %H:%M} UTC: {backup.error}",
                f"mend that, then BACKUP CFSTRUCT({structure})",
            )
        elif backup.begun is None:
            yield warning(f"structure {structure} has RECOVER(YES) and no backup in {seen.settings.backups}", todo)
        elif seen.now - backup.begun > old:
            days = (seen.now - backup.begun) / timedelta(days=1)
            yield warning(f"structure {structure}: its latest backup is {days:.1f} days old", todo)
    settings = seen.settings
    if seen.backups and settings.is_embedded and _is_one_disk(settings):
        yield warning(
            f"backups are on the disk of the data, {settings.data_dir}: one broken disk takes both",
            "set backup_dir to a place on another disk",
        )


def _old_after(seen: GroupSeen) -> timedelta:
    """Twice the time between two scheduled backups, or a week."""
    if not seen.settings.backup_schedule:
        return _OLD
    trigger = trigger_of(seen.settings.backup_schedule)
    following = trigger.get_next_fire_time(None, seen.now)
    after = following and trigger.get_next_fire_time(following, following)
    interval: timedelta = after - following if after else _OLD
    return 2 * interval


def _is_one_disk(settings: Settings) -> bool:
    try:
        return settings.backups.stat().st_dev == settings.data_dir.stat().st_dev
    except OSError:
        return False
