"""Settings that belong to the group: recorded when it is made, the same for every member and program.

A process goes by what is recorded, whatever its own settings say. The record is a field of the administration
structure's ``group`` hash; ``igq group set`` changes it.
"""

from __future__ import annotations

import json
from typing import Final

from sharedq.settings.values import Settings

#: In the order in which they are shown.
AGREED: Final = ("lease_ms", "wait_replicas", "wait_replicas_timeout_ms", "journal", "journal_max_entries")
#: What a running process goes over to as soon as it hears of a change. A lease is renewed as it was taken, and the
#: journal of a connection is what it was when that was made: those are for what begins afterwards.
AT_ONCE: Final = ("wait_replicas", "wait_replicas_timeout_ms")
#: The field of the ``group`` hash.
FIELD: Final = "settings"


def as_record(settings: Settings) -> str:
    """The record that these settings would make."""
    return json.dumps({name: getattr(settings, name) for name in AGREED})


def with_record(settings: Settings, record: bytes, names: tuple[str, ...] = AGREED) -> Settings:
    """*settings* with what is recorded for *names*. A name that this version does not know is passed over."""
    recorded = json.loads(record)
    return settings.model_copy(update={name: recorded[name] for name in names if name in recorded})


def contradictions(own: Settings, record: bytes) -> list[str]:
    """What a process was told otherwise than the group is, in words; what it was not told is no contradiction."""
    in_force = with_record(own, record)
    return [
        f"{name} is {_shown(in_force, name)} in the group, {_shown(own, name)} in the settings of this process"
        for name in AGREED
        if name in own.model_fields_set and getattr(own, name) != getattr(in_force, name)
    ]


def in_environment(settings: Settings) -> dict[str, str]:
    """The group's settings as variables, for a child that must go by those of its parent."""
    return {f"IGQ_{name.upper()}": _shown(settings, name) for name in AGREED}


def _shown(settings: Settings, name: str) -> str:
    return json.dumps(getattr(settings, name))
