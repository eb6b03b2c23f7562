"""Commands about listeners and channels that run.

Source: IBM MQ reference, "START LISTENER", "STOP LISTENER", "DISPLAY LSSTATUS", "START CHANNEL", "STOP CHANNEL",
"DISPLAY CHSTATUS".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from igq.mqsc import messages
from igq.mqsc.actions.connections import end_connection
from igq.mqsc.language.attribute_values import read_choice
from igq.mqsc.language.parameters import keywords
from igq.mqsc.language.parser import Command
from igq.mqsc.records import Shown, found_or_nothing, read_request, shown, shown_attributes, two_columns
from igq.operations.command_service import running_member
from igq.operations.listeners import (
    ConnectionFigures,
    connection_figures,
    is_channel_stopped,
    listener_states,
    start_listener,
    stop_listener,
    switch_channel,
)
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.names import matches
from sharedq.objects.definitions.server_channels import Channel, Listener
from sharedq.objects.repository import Repository
from sharedq.objects.store.connections import ConnectionInfo, told_connections

_SCOPES = ("CMDSCOPE",)
_NOTHING = ConnectionFigures()


def start(command: Command, repository: Repository) -> list[str]:
    """START LISTENER."""
    command.check_keywords(_SCOPES)
    listener = _listener(command, repository)
    is_new = start_listener(repository.group, repository.qmgr or "", listener)
    return [] if is_new else [messages.LISTENER_ALREADY_STARTED.format(listener.name)]


def stop(command: Command, repository: Repository) -> list[str]:
    """STOP LISTENER: its clients are ended, too."""
    command.check_keywords(_SCOPES)
    is_new = stop_listener(repository.group, repository.qmgr or "", command.name)
    if not is_new:
        _listener(command, repository)
    return [] if is_new else [messages.LISTENER_ALREADY_STOPPED.format(command.name)]


def start_channel(command: Command, repository: Repository) -> list[str]:
    """START CHANNEL: it takes connections again after STOP CHANNEL."""
    command.check_keywords(_SCOPES)
    channel = _channel(command, repository)
    is_new = switch_channel(repository.group, repository.qmgr or "", channel.name, is_stopped=False)
    return [] if is_new else [messages.CHANNEL_ALREADY_STARTED.format(channel.name)]


def stop_channel(command: Command, repository: Repository) -> list[str]:
    """STOP CHANNEL: it takes no connections, and the programs that it has are ended as STOP CONN ends them.

    With STATUS(INACTIVE) it takes new connections.
    """
    command.check_keywords(("MODE", "STATUS", *_SCOPES))
    read_choice(command, "MODE", ("QUIESCE", "FORCE", "TERMINATE"), "QUIESCE")
    status = read_choice(command, "STATUS", ("STOPPED", "INACTIVE"), "STOPPED")
    group, qmgr, channel = repository.group, repository.qmgr or "", _channel(command, repository)
    if status == "STOPPED":
        switch_channel(group, qmgr, channel.name, is_stopped=True)
    lines: list[str] = []
    for each in told_connections(group, qmgr):
        if each.channel == channel.name:
            lines += end_connection(group, qmgr, each)
    return lines


def display_listener_status(command: Command, repository: Repository) -> list[str]:
    """DISPLAY LSSTATUS: the listeners of this manager that run, or could not start."""
    qmgr = repository.qmgr or ""
    defined = {each.name: each for each in repository.listeners.all()}
    states = listener_states(running_member(repository.group, qmgr))
    records = (_listener_record(name, states[name], defined.get(name), qmgr) for name in sorted(states))
    return _displayed(command, records)


def display_channel_status(command: Command, repository: Repository) -> list[str]:
    """DISPLAY CHSTATUS: a record for each connection of a program by a channel, and one for each that is stopped."""
    group, qmgr = repository.group, repository.qmgr or ""
    member = running_member(group, qmgr)
    figures = connection_figures(group, member)
    stopped = [each.name for each in repository.channels.all() if is_channel_stopped(member.details, each.name)]
    running = [each for each in told_connections(group, qmgr) if each.channel]
    records = [
        *(_channel_record(qmgr, name) for name in stopped),
        *(_channel_record(qmgr, each.channel, each, figures.get(each.token, _NOTHING)) for each in running),
    ]
    return _displayed(command, records)


def _listener(command: Command, repository: Repository) -> Listener:
    found = repository.listeners.named(command.name)
    if found is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name)
    return found


def _channel(command: Command, repository: Repository) -> Channel:
    found = repository.channels.named(command.name)
    if found is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name)
    return found


def _displayed(command: Command, records: Iterable[Iterator[Shown]]) -> list[str]:
    kind = command.object_type
    request = read_request(command, _SCOPES, keywords(kind), all_by_default=True)
    lines: list[str] = []
    for record in map(list, records):
        if matches(command.name, str(record[0].value)) and request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=1))]
    return found_or_nothing(lines, command)


def _listener_record(name: str, state: Mapping[str, Any], defined: Listener | None, qmgr: str) -> Iterator[Shown]:
    date, _, time = str(state.get("since", "")).partition(" ")
    yield shown("LSSTATUS", name)
    yield shown("STATUS", str(state["state"]))
    yield shown("PID", int(state.get("pid", 0)))
    yield shown("STARTDA", date)
    yield shown("STARTTI", time)
    wanted = ("DESCR", "CONTROL", "BACKLOG", "TRPTYPE")
    yield from (each for each in shown_attributes(defined or Listener(name=name)) if each.keywords[0] in wanted)
    yield shown("IPADDR", str(state.get("address", "")))
    yield shown("PORT", int(state.get("port", 0)))
    yield shown("QMNAME", qmgr)


def _channel_record(
    qmgr: str, name: str, of: ConnectionInfo | None = None, figures: ConnectionFigures = _NOTHING
) -> Iterator[Shown]:
    """Of a client; without one, of a channel that is stopped."""
    yield shown("CHSTATUS", name)
    yield shown("CHLTYPE", "SVRCONN")
    yield shown("CONNAME", of.address if of else "")
    yield shown("STATUS", "RUNNING" if of else "STOPPED")
    yield shown("MCAUSER", of.user if of else "")
    yield shown("RAPPLTAG", of.appl_name if of else "")
    yield shown("CONN", of.token if of else "")
    yield shown("SUBSTATE", ("MQGET" if figures.is_getting else "RECEIVE") if of else "")
    yield shown("MSGS", figures.calls)
    yield shown("BYTSSENT", figures.sent)
    yield shown("BYTSRCVD", figures.received)
    yield shown("BUFSSENT", figures.frames_sent)
    yield shown("BUFSRCVD", figures.frames_received)
    for keywords_of, at_ms in ((("CHSTADA", "CHSTATI"), figures.began_ms), (("LSTMSGDA", "LSTMSGTI"), figures.last_ms)):
        at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H.%M.%S") if at_ms else " "
        for keyword, text in zip(keywords_of, at.split(" "), strict=True):
            yield shown(keyword, text)
    # Each connection has a socket of its own.
    yield shown("CURSHCNV", 1 if of else 0)
    yield shown("MAXSHCNV", 1 if of else 0)
    yield shown("QMNAME", qmgr)
