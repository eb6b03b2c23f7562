"""Settings of the group: recorded when it is created, the same for every member and program.

A process uses the recorded settings, whatever its own settings say. The record is a field of the administration
structure's ``group`` hash; ``igq group set`` changes it.
"""

from __future__ import annotations

import json
from typing import Final

from sharedq.settings.values import Settings

#: In the order of display.
AGREED: Final = (
    "lease_ms",
    "wait_replicas",
    "wait_replicas_timeout_ms",
    "journal",
    "journal_max_entries",
    "journal_max_bytes",
)
#: Settings that a running process adopts as soon as it hears of a change. A lease keeps the length that it was taken
#: with, and a connection keeps its journal settings, so changes of the others affect only what begins later.
AT_ONCE: Final = ("wait_replicas", "wait_replicas_timeout_ms", "journal_max_bytes")
#: The field of the ``group`` hash.
FIELD: Final = "settings"


def as_record(settings: Settings) -> str:
    """Return the record for these settings."""
    return json.dumps({name: getattr(settings, name) for name in AGREED})


def with_record(settings: Settings, record: bytes, names: tuple[str, ...] = AGREED) -> Settings:
    """Return *settings* with the recorded values of *names*. Names that this version does not know are ignored."""
    recorded = json.loads(record)
    return settings.model_copy(update={name: recorded[name] for name in names if name in recorded})


def contradictions(own: Settings, record: bytes) -> list[str]:
    """Describe where a process's explicit settings differ from the group's. Defaults do not count."""
    in_force = with_record(own, record)
    return [
        f"{name} is {_shown(in_force, name)} in the group, {_shown(own, name)} in the settings of this process"
        for name in AGREED
        if name in own.model_fields_set and getattr(own, name) != getattr(in_force, name)
    ]


def in_environment(settings: Settings) -> dict[str, str]:
    """Return the group's settings as environment variables, for a child that must use its parent's settings."""
    return {f"IGQ_{name.upper()}": _shown(settings, name) for name in AGREED}


def _shown(settings: Settings, name: str) -> str:
    return json.dumps(getattr(settings, name))
