"""Removing a manager from the group for good: asked by an operator, done through the group, with nobody running."""

from __future__ import annotations

from igq.agent.progress.wake import wake_movers
from igq.errors import CommandError
from igq.operations.shutdown import UP
from sharedq.admin.remove_member import RemovalRefusedError, remove_member
from sharedq.members.group import Group
from sharedq.settings.values import Settings


def remove_manager(settings: Settings, name: str) -> None:
    """Remove the manager *name* from the group.

    Raises:
        CommandError: there is none, or something stands against it; nothing has changed.
        DeploymentError, MQIError: Redis cannot be used, or another attempt took over; repeated, it goes on.
    """
    group = Group(settings)
    try:
        remove_member(group, name)
        for member in group.members():
            if member.state in UP:
                # Movers send what is for a member there, whether it runs or not: they must know that this is none.
                wake_movers(group, member.name)
    except RemovalRefusedError as error:
        raise CommandError(str(error)) from None
    finally:
        group.leave()
