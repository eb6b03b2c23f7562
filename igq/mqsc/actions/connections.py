"""DISPLAY CONN: the connections of a manager and their open handles; STOP CONN: the end of one."""

from __future__ import annotations

from collections.abc import Iterator

from igq.mqsc import messages
from igq.mqsc.actions.in_doubt import unit_record, units_in_doubt
from igq.mqsc.language.attribute_values import find_parameter, read_choice
from igq.mqsc.language.parameters import keywords
from igq.mqsc.language.parser import Command
from igq.mqsc.records import Shown, read_request, shown, two_columns
from igq.output.plural import counted
from recovery.resolution import Outcome, recover
from sharedq.calls.handles.connect import connect_to, disconnect
from sharedq.members.group import Group
from sharedq.members.news import tell
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.names import is_generic, matches
from sharedq.objects.repository import Repository
from sharedq.objects.store.connections import (
    ConnectionHandle,
    ConnectionInfo,
    connections_of,
    handles_of,
    told_connections,
)
from sharedq.objects.store.structures import Away

#: After the connection and the type of the report, which is an option too.
_CONNECTION = keywords("CONN", "CONN")[2:]
_HANDLE = keywords("CONN", "HANDLE")[2:]
#: How a handle was opened: its letters (prelude/handles), and IBM's names.
_OPEN_OPTIONS = {
    "I": "MQOO_INPUT_SHARED",
    "X": "MQOO_INPUT_EXCLUSIVE",
    "O": "MQOO_OUTPUT",
    "B": "MQOO_BROWSE",
    "Q": "MQOO_INQUIRE",
    "S": "MQOO_SET",
}
_NAME_LENGTH = 12


def display_connections(command: Command, repository: Repository) -> list[str]:
    """DISPLAY CONN: the manager's connections by owner token with the units of work in doubt there, and open handles.

    TYPE(CONN) shows a connection, TYPE(HANDLE) each of its handles, TYPE(ALL) or (*) both.
    """
    kind = read_choice(command, "TYPE", ("CONN", "HANDLE", "ALL", "*"), "CONN")
    known = {"CONN": _CONNECTION, "HANDLE": _HANDLE}.get(kind, (*_CONNECTION, *_HANDLE))
    wanted = find_parameter(command, "EXTCONN")
    is_filter = wanted is not None and wanted.values is not None
    options = ("TYPE", "CMDSCOPE", *(("EXTCONN",) if is_filter else ()))
    request = read_request(command, options, ("CONN", *known), all_by_default=True)
    group, qmgr = repository.group, repository.qmgr or ""
    pattern = command.name or "*"
    records: list[list[Shown]] = []
    away: Away = {}
    for each in connections_of(group, qmgr, away):
        if not matches(pattern, each.token):
            continue
        if kind != "HANDLE":
            records.append(list(connection_record(each)))
        if kind != "CONN":
            records += [list(_handle_record(each, handle)) for handle in handles_of(group, each.token, away)]
    if kind != "HANDLE":
        records += [
            list(unit_record(each)) for each in units_in_doubt(repository, qmgr) if matches(pattern, each.owner)
        ]
    lines: list[str] = []
    for record in records:
        if is_filter and wanted is not None and not matches(wanted.value, extconn(qmgr)):
            continue
        if request.where(record):
            lines += [
                messages.details(command),
                *two_columns(request.select(record, always=2)),
            ]
    if not lines:
        if is_generic(pattern) or kind == "HANDLE" or find_parameter(command, "WHERE") is not None:
            lines = [messages.NOTHING_FOUND.format("handle" if kind == "HANDLE" else command.object_type)]
        else:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name)
    return [*lines, *messages.away(away, messages.WORK_AND_HANDLES)]


def connection_record(connection: ConnectionInfo) -> Iterator[Shown]:
    """A connection as DISPLAY CONN and DISPLAY THREAD show it."""
    yield shown("CONN", connection.token)
    yield shown("TYPE", "CONN")
    yield shown("EXTCONN", extconn(connection.qmgr))
    yield shown("APPLDESC", "")
    yield shown("APPLTAG", connection.appl_name)
    yield shown("APPLTYPE", "SYSTEM" if connection.is_own else "USER")
    yield shown("ASTATE", "NONE")
    yield shown("CHANNEL", connection.channel)
    yield shown("CONNAME", connection.address)
    yield shown("CONNOPTS", "MQCNO_STANDARD_BINDING")
    yield shown("CONNTAG", connection.tag)
    yield shown("EXTURID", "")
    yield shown("PID", connection.pid)
    yield shown("QMNAME", connection.qmgr)
    yield shown("QMURID", "")
    yield shown("UOWSTATE", "ACTIVE" if connection.has_unit_of_work else "NONE")
    yield shown("UOWSTDA", "")
    yield shown("UOWSTTI", "")
    yield shown("URTYPE", "QMGR")
    yield shown("URDISP", "QMGR")
    yield shown("USERID", connection.user)


def _handle_record(connection: ConnectionInfo, handle: ConnectionHandle) -> Iterator[Shown]:
    yield shown("CONN", connection.token)
    yield shown("TYPE", "HANDLE")
    yield shown("EXTCONN", extconn(connection.qmgr))
    yield shown("ASTATE", "NONE")
    yield shown("HSTATE", "INACTIVE")
    yield shown("OBJNAME", handle.object_name)
    yield shown("OBJTYPE", "QUEUE")
    yield shown("OPENOPTS", open_options(handle.mode))
    yield shown("QMNAME", connection.qmgr)
    yield shown("QSGDISP", "QMGR" if handle.structure.startswith("@") else "SHARED")


def open_options(mode: str) -> str:
    """OPENOPTS: IBM's names for the letters of a handle's mode."""
    return ",".join(name for letter, name in _OPEN_OPTIONS.items() if letter in mode)


def extconn(qmgr: str) -> str:
    """EXTCONN: the half of a connection id that is the same for all connections of a manager, hexadecimal."""
    return (b"CSQ " + qmgr.encode()[:_NAME_LENGTH].ljust(_NAME_LENGTH)).hex().upper()


def stop_connection(command: Command, repository: Repository) -> list[str]:
    """STOP CONN: shut a program's connection out, back out what it had not committed, and free its tag and handles.

    The program's next call gets 2009. Its other connections go on, and it may connect again.

    Raises:
        MQIError: 2085, the manager has no such connection; 2042, it is one of the manager's own; 2346, 2345, a
            structure cannot be reached now: the connection is shut out, and the manager ends its work later.
    """
    command.check_keywords(("EXTCONN", "CMDSCOPE"))
    group, qmgr = repository.group, repository.qmgr or ""
    found = next((each for each in told_connections(group, qmgr) if each.token == command.name), None)
    if found is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name, f"{qmgr} has no such connection")
    if found.is_own:
        raise error_for(MQRC.OBJECT_IN_USE, "", command.name, "it is the queue manager's own; STOP QMGR ends it")
    return end_connection(group, qmgr, found)


def end_connection(group: Group, qmgr: str, found: ConnectionInfo) -> list[str]:
    """End a program's connection. Raises MQIError: 2346, 2345, as `stop_connection`."""
    connection = connect_to(group, qmgr, appl_name="STOP CONN")
    try:
        report = recover(group, connection, found.token, force=True)
    finally:
        disconnect(connection)
        # A call that waits notices it otherwise only when its wait ends, and a consumer with its next message.
        tell(group, [found.token.rpartition(".")[0]], found.token)
    if report.outcome is Outcome.NOT_YET:
        return [messages.CONNECTION_ENDING.format(found.token)]
    units = counted(report.units_of_work, "unit of work", "units of work")
    return [messages.CONNECTION_STOPPED.format(found.token, units, counted(report.messages, "message"))]
