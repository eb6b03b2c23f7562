"""The schedule of a setting, written as cron writes it."""

from __future__ import annotations

from typing import Any

#: Names of the fields, as of five and of six.
_FIELDS = ("second", "minute", "hour", "day", "month", "day_of_week")
DESCRIPTION = "the five fields of a line of cron, or six with seconds first; blank for none"


def check_schedule(text: str) -> str:
    """Return *text* if it is blank or a schedule. Raises ValueError: it is neither."""
    if text.strip():
        trigger_of(text)
    return text.strip()


def trigger_of(text: str) -> Any:
    """Return the trigger of apscheduler for a schedule, in UTC. Raises ValueError: it is no schedule."""
    # Imported here: most commands have no schedule.
    from apscheduler.triggers.cron import CronTrigger

    fields = text.split()
    if len(fields) == len(_FIELDS):
        return CronTrigger(**dict(zip(_FIELDS, fields, strict=True)), timezone="UTC")
    return CronTrigger.from_crontab(text, timezone="UTC")
