"""Stops a manager from another process on any host: asks through the group and waits until the manager has ended.

A manager that shall not come back is removed from the group. No manager need be running for that.
"""

from __future__ import annotations

import json
import time

from igq.agent.progress.sleep import wake_movers
from igq.errors import CommandError
from igq.operations.command_log import note_command, note_group_command, noting_refusal
from sharedq.admin.member_removal import RemovalRefusedError, remove_member
from sharedq.members.group import Group, Member
from sharedq.members.news import tell
from sharedq.mqi.constants import MQRC
from sharedq.scripts.members import member_state_call
from sharedq.scripts.reads import lease_end_ms, lease_left_ms
from sharedq.settings.values import Settings

__all__ = ["STOP_TIMEOUT_S", "ask_to_stop", "require_running", "stop_manager"]
#: Seconds that programs have to end when a manager quiesces, by default.
STOP_TIMEOUT_S = 30.0
#: States of a manager that holds its name.
UP = ("STARTING", "RUNNING", "QUIESCING")
#: Seconds between two looks of a waiting stop.
_LOOK_S = 0.1
#: Seconds that a manager needs beyond its programs' time: to learn of the stop, end its agent, recover the rest.
_GRACE_S = 30.0


def stop_manager(settings: Settings, name: str, *, is_immediate: bool, timeout_s: float) -> None:
    """Ask the manager *name* to stop and wait until it has.

    Raises:
        CommandError: there is no such manager; it is not running; it ended in another way; it does not stop in time.
        DeploymentError, MQIError: Redis cannot be used.
    """
    group = Group(settings)
    try:
        member = require_running(group, name)
        ask_to_stop(group, member, is_immediate=is_immediate, timeout_s=timeout_s)
        _wait(group, member, time.monotonic() + (0 if is_immediate else timeout_s) + _GRACE_S)
    finally:
        group.leave()


def require_running(group: Group, name: str) -> Member:
    """Return the manager *name* as the group knows it, if its lease has not run out.

    Raises:
        CommandError: there is no such manager, or it is not running.
    """
    member = group.member(name)
    if member is None:
        known = ", ".join(each.name for each in group.members()) or "it has none yet"
        if name in (group.name, f"*{group.name}"):
            raise CommandError(f"{name} is the queue-sharing group: name one of its queue managers: {known}")
        raise CommandError(f"there is no queue manager {name} in group {group.name}: {known}")
    if state_now(group, member) not in UP:
        raise CommandError(f"queue manager {name} is not running")
    return member


def state_now(group: Group, member: Member) -> str:
    """Return the state of a manager that was just read; ``FAILED`` if it should be up and has no lease."""
    if member.state not in UP or has_lease(group, member):
        return member.state
    # A manager that stops writes that and gives back its lease in one script, maybe just now: read it again.
    again = group.member(member.name)
    is_same = again is not None and again.incarnation == member.incarnation and again.state in UP
    return "FAILED" if again is None or is_same else again.state


def has_lease(group: Group, member: Member) -> bool:
    """Whether the manager's lease is in force: the manager lives, or died a moment ago."""
    left_ms = lease_left_ms(group, group.keys, f"{member.name}.{member.incarnation}")
    return left_ms is not None and left_ms > 0


def ask_to_stop(group: Group, member: Member, *, is_immediate: bool, timeout_s: float) -> None:
    """Ask a running manager to stop, and do not wait. Raises CommandError: it has meanwhile ended."""
    # Separate fields: a request to quiesce must not take back an earlier one to stop at once.
    changes: dict[str, object] = {"stop_at_once": True} if is_immediate else {"stop_timeout_s": timeout_s}
    reply = group.call(*member_state_call(group.keys, member.name, member.incarnation, json.dumps(changes)))
    if reply[0] == MQRC.CONNECTION_BROKEN:
        raise CommandError(f"queue manager {member.name} has meanwhile ended or been restarted")
    note_command(group, member.name, f"qmgr stop {member.name}{' --immediate' if is_immediate else ''}", "asked")
    tell(group, [member.token])


def _wait(group: Group, asked: Member, until_s: float) -> None:
    while True:
        member = group.member(asked.name)
        if member is None or member.incarnation != asked.incarnation:
            raise CommandError(f"queue manager {asked.name} has meanwhile been restarted")
        if member.state == "STOPPED":
            # The member is STOPPED before its last work is resolved. Its claim goes when that is done.
            if lease_end_ms(group, group.keys, f"!{member.name}.{member.incarnation}") is None:
                return
        elif state_now(group, member) == "FAILED":
            raise CommandError(f"queue manager {asked.name} has failed while stopping; its peers recover its work")
        if time.monotonic() >= until_s:
            raise CommandError(f"queue manager {asked.name} has not stopped in time")
        time.sleep(_LOOK_S)


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
