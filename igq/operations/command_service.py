"""START CMDSERV, STOP CMDSERV, DISPLAY CMDSERV: asks a running manager through the group, and says how it stands.

The manager is told, and learns it with its next renewal at the latest. A manager that starts has a command server, even
if its last one was told otherwise.
"""

from __future__ import annotations

import json
from typing import Final

from sharedq.members.group import Group, Member
from sharedq.members.news import tell
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.scripts.members import member_state_call

RUNNING, STOPPED = "RUNNING", "STOPPED"
#: The group knows of a manager the state that was asked for, and the one that the manager has told.
WANTED, TOLD = "command_server_wanted", "command_server"
#: The states asked for and told -> IBM's word.
_STATES: Final = {
    (RUNNING, RUNNING): RUNNING,
    (STOPPED, STOPPED): STOPPED,
    (STOPPED, RUNNING): "STOPPING",
    (RUNNING, STOPPED): "STARTING",
}


def ask_command_server(group: Group, qmgr: str, wanted: str) -> bool:
    """Ask for a state, and do not wait. Returns whether another one was asked for before.

    Raises:
        MQIError: 2059, the manager is not running; 2009, Redis cannot be reached.
    """
    member = running_member(group, qmgr)
    if _wanted(member) == wanted:
        return False
    reply = group.call(*member_state_call(group.keys, qmgr, member.incarnation, json.dumps({WANTED: wanted})))
    if reply[0] == MQRC.CONNECTION_BROKEN:
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", qmgr, "it has meanwhile ended or been restarted")
    tell(group, [member.token])
    return True


def command_server_state(group: Group, qmgr: str) -> str:
    """Return the state of a manager's command server, in IBM's word.

    Raises:
        MQIError: 2059, the manager is not running; 2009, Redis cannot be reached.
    """
    return state_of(running_member(group, qmgr))


def state_of(member: Member) -> str:
    """Return the state of the command server of a manager that was just read."""
    if member.state == "STARTING":
        return "ENABLED" if _wanted(member) == RUNNING else "DISABLED"
    if member.state not in ("RUNNING", "QUIESCING"):
        return STOPPED
    return _STATES[_wanted(member), STOPPED if member.details.get(TOLD) == STOPPED else RUNNING]


def _wanted(member: Member) -> str:
    return STOPPED if member.details.get(WANTED) == STOPPED else RUNNING


def running_member(group: Group, qmgr: str) -> Member:
    """A manager that runs. Raises MQIError: 2059, it does not."""
    member = group.member(qmgr)
    if member is None or member.state not in ("STARTING", "RUNNING", "QUIESCING"):
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", qmgr, "it is not running")
    return member
