"""Removing a manager from the group for good: asked by an operator, done through the group, with nobody running."""

from __future__ import annotations

from config.settings import Settings
from igq.agent.wake import wake_movers
from igq.errors import CommandError
from igq.stopping import UP
from sharedq.group import Group
from sharedq.objects.removing import RemovalRefusedError, remove_member


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
