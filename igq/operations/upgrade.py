"""``igq upgrade``: brings the key space of a group to the format of this version, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from igq.errors import CommandError
from igq.operations.command_log import note_group_command, noting_refusal
from sharedq.members import formats
from sharedq.members.group import Group
from sharedq.scripts.members import upgrade_call
from sharedq.settings.values import Settings

_IN_THE_WAY, _CHANGED = 1, 2


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """One change of the format.

    Attributes:
        to: the format afterwards.
        text: what it does, for people.
        prepare: changes keys, so that both formats can be read, before the format is recorded. It may run again after
            an interruption.
    """

    to: int
    text: str
    prepare: Callable[[Group], None]


def _nothing(_: Group) -> None:
    """The format is recorded, and no key changes."""


#: In their order. The last one leads to `formats.FORMAT`.
STEPS = (UpgradeStep(1, "record the format of the key space", _nothing),)


def upgrade(settings: Settings, *, is_dry_run: bool) -> list[str]:
    """Do, or only list, the steps that the group lacks. Returns a line for each.

    Raises:
        CommandError: no manager has joined the group; a member or program is registered that does not speak the new
            format; the group has a later format.
        DeploymentError, MQIError: Redis cannot be used.
    """
    group = Group(settings)
    try:
        if not group.members():
            raise CommandError(f"no queue manager has joined group {group.name} yet: there is nothing to upgrade")
        known = formats.recorded_format(group)
        if known > formats.FORMAT:
            raise CommandError(formats.why_refused(group.name, known))
        steps = [step for step in STEPS if step.to > known]
        if not is_dry_run:
            with noting_refusal(group, "upgrade"):
                for step in steps:
                    step.prepare(group)
                    _record(group, known, step.to)
                    known = step.to
            note_group_command(group, "upgrade", "done")
        return [f"format {step.to}: {'would ' if is_dry_run else ''}{step.text}" for step in steps]
    finally:
        group.leave()


def _record(group: Group, known: int, later: int) -> None:
    reply = group.call(*upgrade_call(group.keys, str(known or ""), str(later)))
    if reply[0] == _IN_THE_WAY:
        text = f"{reply[1].decode()} does not speak format {later}: stop or upgrade it, then run igq upgrade again"
        raise CommandError(text)
    if reply[0] == _CHANGED:
        raise CommandError(f"group {group.name} was upgraded to format {reply[1].decode()} meanwhile")
