"""Removes a manager from the group for good. The command works through the group; no manager need be running."""

from __future__ import annotations

from igq.agent.progress.wake import wake_movers
from igq.errors import CommandError
from igq.operations.command_log import note_group_command, noting_refusal
from igq.operations.shutdown import UP
from sharedq.admin.member_removal import RemovalRefusedError, remove_member
from sharedq.members.group import Group
from sharedq.settings.values import Settings


def remove_manager(settings: Settings, name: str) -> None:
    """Remove the manager *name* from the group.

    Raises:
        CommandError: there is no such manager, or something prevents the removal. Nothing has changed.
        DeploymentError, MQIError: Redis cannot be used, or another attempt took over. Repeat the call to go on.
    """
    group, command = Group(settings), f"group remove {name}"
    try:
        with noting_refusal(group, command):
            _remove(group, name)
        note_group_command(group, command, "done", without=name)
        for member in group.members():
            if member.state in UP:
                # Movers send messages for a member there, whether it runs or not: tell them that this is no member.
                wake_movers(group, member.name)
    finally:
        group.leave()


def _remove(group: Group, name: str) -> None:
    try:
        remove_member(group, name)
    except RemovalRefusedError as error:
        raise CommandError(str(error)) from None
