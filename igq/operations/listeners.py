"""START and STOP of listeners and channels, how they stand, and figures of their clients (`igq.channels.figures`).

START and STOP tell a running manager through the group, and it learns that with its next renewal at the latest. A
manager that starts starts the listeners whose CONTROL says so, and all channels. A channel server asks the group
whether a channel is stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from igq.operations.command_service import running_member
from sharedq.members.event_notes import leave_note
from sharedq.members.group import Group, Member
from sharedq.members.news import tell
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.server_channels import Listener
from sharedq.objects.store.structures import EVENT_WORDS, ORDINARY_CHANNEL_EVENTS
from sharedq.scripts.members import member_state_call
from sharedq.scripts.reads import figures_of_channels

#: The group knows of a manager, for each listener, where it shall listen (nothing: it shall not), and its state.
_WANTED, _TOLD = "listener_wanted:", "listener:"
#: The group knows of a manager which channels take no connections.
_STOPPED = "channel_stopped:"
#: The group knows of a manager how many processes it has for each listener.
PROCESSES: Final = "channel_processes"


@dataclass(frozen=True, slots=True)
class ChannelFigures:
    """A channel at one server process of a manager, since that started.

    Attributes:
        listener: empty for the unix socket. ``process``: of its processes.
        channel: empty for clients of the unix socket that have named none.
        clients: so far. ``current``: of these, those that are there.
        waiting: gets that wait for a message.
    """

    qmgr: str
    listener: str
    process: int
    channel: str
    clients: int
    current: int
    calls: int
    sent: int
    received: int
    waiting: int


@dataclass(frozen=True, slots=True)
class ConnectionFigures:
    """A connection by a channel. ``last_ms``: when its latest call had ended; 0: it has made none.

    Attributes:
        is_getting: whether a get was under way.
    """

    calls: int = 0
    sent: int = 0
    received: int = 0
    began_ms: int = 0
    last_ms: int = 0
    frames_sent: int = 0
    frames_received: int = 0
    is_getting: int = 0


def wanted_by(listeners: Iterable[Listener]) -> dict[str, Any]:
    """The facts about a manager by which these listeners run there, as the group is told them."""
    return {_WANTED + each.name: _place(each) for each in listeners}


def wanted_listeners(details: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Where a manager shall listen, by the name of the listener."""
    found = ((name.removeprefix(_WANTED), place) for name, place in details.items() if name.startswith(_WANTED))
    return {name: place for name, place in found if place}


def told_of(states: Mapping[str, Mapping[str, Any] | None]) -> dict[str, Any]:
    """The states of listeners that have started, ended or failed, as the group is told them."""
    return {_TOLD + name: state for name, state in states.items()}


def listener_states(member: Member) -> dict[str, Mapping[str, Any]]:
    """The listeners of a manager that run, or could not start, as it has told; and those that are about to."""
    found = ((name.removeprefix(_TOLD), state) for name, state in member.details.items() if name.startswith(_TOLD))
    told, wanted = {name: state for name, state in found if state}, wanted_listeners(member.details)
    starting = {name: {"state": "STARTING", **place} for name, place in wanted.items() if name not in told}
    stopping = {name: {**told[name], "state": "STOPPING"} for name in told.keys() - wanted.keys()}
    return told | starting | stopping


def start_listener(group: Group, qmgr: str, listener: Listener) -> bool:
    """Ask a manager to listen, and do not wait. Returns whether it was not asked before.

    Raises:
        MQIError: 2059, the manager is not running; 2009, Redis cannot be reached.
    """
    return _ask(group, qmgr, listener.name, _place(listener))


def stop_listener(group: Group, qmgr: str, name: str) -> bool:
    """Ask a manager to listen no longer. Returns whether it did. Raises MQIError: as `start_listener`."""
    return _ask(group, qmgr, name, None)


def _place(listener: Listener) -> dict[str, Any]:
    return {"address": listener.address, "port": listener.port, "backlog": listener.backlog}


def _ask(group: Group, qmgr: str, name: str, place: dict[str, Any] | None) -> bool:
    member = running_member(group, qmgr)
    if wanted_listeners(member.details).get(name) == place:
        return False
    _tell(group, qmgr, member, {_WANTED + name: place})
    return True


def switch_channel(group: Group, qmgr: str, name: str, *, is_stopped: bool) -> bool:
    """Let a channel take connections at a manager, or none. Returns whether it was the other way. Raises as above."""
    member = running_member(group, qmgr)
    if is_channel_stopped(member.details, name) == is_stopped:
        return False
    _tell(group, qmgr, member, {_STOPPED + name: is_stopped})
    word = EVENT_WORDS["channel_event"] if is_stopped else ORDINARY_CHANNEL_EVENTS
    leave_note(group, qmgr, "channel", word, {"channel": name, "is_stopped": is_stopped})
    return True


def is_channel_stopped(details: Mapping[str, Any], name: str) -> bool:
    """Whether a channel takes no connections at a manager."""
    return bool(details.get(_STOPPED + name))


def _tell(group: Group, qmgr: str, member: Member, told: Mapping[str, Any]) -> None:
    changes = json.dumps(told)
    if group.call(*member_state_call(group.keys, qmgr, member.incarnation, changes))[0]:
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", qmgr, "it has meanwhile ended or been restarted")
    tell(group, [member.token])


def channel_figures(group: Group, members: Iterable[Member]) -> list[ChannelFigures]:
    """Return the figures of the channels of these managers. Raises MQIError: 2009."""
    return [
        ChannelFigures(*server, channel, *numbers)
        for server, told in _figures(group, members, "channels")
        for channel, numbers in sorted(told.items())
    ]


def connection_figures(group: Group, member: Member) -> dict[str, ConnectionFigures]:
    """Return the figures of a manager's connections by channels, by token. Raises MQIError: 2009."""
    told = _figures(group, [member], "connections")
    return {token: ConnectionFigures(*numbers) for _, its in told for token, numbers in its.items()}


def _figures(
    group: Group, members: Iterable[Member], field: Literal["channels", "connections"]
) -> Iterator[tuple[tuple[str, str, int], dict[str, Any]]]:
    servers = [
        (each.name, listener, process)
        for each in members
        for listener in ("", *listener_states(each))
        for process in range(each.details.get(PROCESSES, 1))
    ]
    for server, text in zip(servers, figures_of_channels(group, group.keys, servers, field), strict=True):
        yield server, json.loads(text) if text else {}
