"""Commands that people gave: noted for a manager, which logs each as IGQ0031I, and tells of it by an event (CMDEV)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Final

from igq.errors import CommandError
from sharedq.members.event_notes import Giver, leave_note
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.redis_mask import mask_urls

#: A command is noted up to this length, in characters.
_LENGTH_MAX: Final = 4_000


def note_command(group: Group, qmgr: str, command: str, result: str, giver: Giver | None = None) -> None:
    """Note a command and its result for *qmgr*. Passwords in URLs are masked."""
    fields = {
        **asdict(giver or Giver()),
        "command": mask_urls(" ".join(command.split()))[:_LENGTH_MAX],
        "result": result,
    }
    leave_note(group, qmgr, "command", "", fields)


def note_group_command(group: Group, command: str, result: str, *, without: str = "") -> None:
    """Note a command that is about the group, for one of its members: a running one if there is any.

    Args:
        without: a member that is no longer there to log it.
    """
    try:
        members = [member for member in group.members() if member.name != without]
    except (MQIError, DeploymentError):
        return
    members.sort(key=lambda member: (member.state != "RUNNING", member.name))
    if members:
        note_command(group, members[0].name, command, result)


@contextmanager
def noting_refusal(group: Group, command: str) -> Iterator[None]:
    """Note a command about the group that the body refuses. Where Redis does not answer, no note could be left."""
    try:
        yield
    except CommandError as error:
        note_group_command(group, command, f"failed: {error}")
        raise


def note_refresh(group: Group, qmgr: str, wanted: str, pattern: str, giver: Giver) -> None:
    """Note that *qmgr* is to tell of the objects that it has now (REFRESH QMGR TYPE(CONFIGEV)).

    Args:
        wanted: ALL, QUEUE, or MQSC's word for a kind of object.
        pattern: names of queues and structures, maybe generic.
    """
    fields = {"wanted": wanted, "pattern": pattern, "user": giver.user, "appl": giver.appl}
    leave_note(group, qmgr, "refresh", "CONFIG", fields)
