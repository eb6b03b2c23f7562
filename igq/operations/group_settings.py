"""The settings that belong to the group: shows them, and changes them for every member and program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from igq.errors import CommandError
from igq.operations.command_log import note_group_command, noting_refusal
from sharedq.members.agreed_settings import AGREED, as_record, contradictions, with_record
from sharedq.members.group import Group
from sharedq.members.news import tell_everybody
from sharedq.redis.durability import fewest_replicas
from sharedq.scripts.members import set_settings_call
from sharedq.settings.loader import with_changes
from sharedq.settings.values import ConfigError, Settings


def group_settings(settings: Settings) -> tuple[dict[str, str], list[str]]:
    """Return the group's settings as text, and the settings of this process that differ.

    Raises:
        CommandError: no manager has ever joined the group.
        DeploymentError, MQIError: Redis cannot be used.
    """
    group = Group(settings)
    try:
        record = _record(group, settings)
    finally:
        group.leave()
    return _as_text(with_record(settings, record)), contradictions(settings, record)


def settings_in_force(group: Group) -> dict[str, str]:
    """Return the recorded settings of *group* as text. Empty if there is no record.

    Raises:
        MQIError: Redis cannot be reached.
    """
    record = group.read_record()
    return _as_text(with_record(group.settings, record)) if record else {}


def change_group_settings(settings: Settings, changes: Sequence[str], *, is_forced: bool = False) -> dict[str, str]:
    """Change some settings, each given as NAME=VALUE. Returns all of them as text.

    Args:
        is_forced: wait for more replicas even if fewer are there, and every write fails until they come.

    Raises:
        CommandError: a name or value is invalid, no manager has ever joined the group, or replicas are missing. Nothing
            has changed.
        DeploymentError, MQIError: Redis cannot be used.
    """
    # The change may be meant to repair a lack of replicas, so wait for none.
    group, command = Group(settings.model_copy(update={"wait_replicas": 0})), f"group set {' '.join(changes)}"
    try:
        with noting_refusal(group, command):
            changed = _change(group, settings, dict(_parsed(change) for change in changes), is_forced=is_forced)
        note_group_command(group, command, "done")
        return _as_text(changed)
    finally:
        group.leave()


def _change(group: Group, settings: Settings, told: Mapping[str, str], *, is_forced: bool) -> Settings:
    while True:
        record = _record(group, settings)
        present = with_record(settings, record)
        changed = _changed(present, told)
        if changed.wait_replicas > present.wait_replicas and not is_forced:
            _require_replicas(group, changed.wait_replicas)
        # Keep what a later version has recorded in addition.
        text = json.dumps(json.loads(record) | json.loads(as_record(changed)))
        known = group.read_record()
        if known in (b"", record) and group.call(*set_settings_call(group.keys, known, text)):
            tell_everybody(group)
            return changed


def _require_replicas(group: Group, wanted: int) -> None:
    """Refuse to wait for more replicas than every server has. A server that does not tell is taken at its word."""
    online = fewest_replicas(group.clients())
    if online is not None and online < wanted:
        there = "1 replica is" if online == 1 else f"{online} replicas are"
        raise CommandError(
            f"{there} there: with wait_replicas={wanted} every write would fail; --force sets it all the same"
        )


def _record(group: Group, own: Settings) -> bytes:
    """Return the record. In a group that an older version made, return the settings of this process."""
    if not group.members():
        raise CommandError(f"no queue manager has joined group {group.name} yet: its first one records the settings")
    return group.read_record() or as_record(own).encode()


def _parsed(change: str) -> tuple[str, str]:
    name, separator, value = change.partition("=")
    if not separator or name not in AGREED:
        known = ", ".join(AGREED)
        raise CommandError(f"{change!r} is not a setting of a group: give NAME=VALUE with one of {known}", 2)
    return name, value


def _changed(settings: Settings, told: Mapping[str, str]) -> Settings:
    try:
        return with_changes(settings, told)
    except ConfigError as error:
        raise CommandError(str(error), 2) from None


def _as_text(settings: Settings) -> dict[str, str]:
    return {name: json.dumps(getattr(settings, name)) for name in AGREED}
