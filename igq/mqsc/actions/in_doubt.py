"""RESOLVE INDOUBT, and the DISPLAY of units of work that an external coordinator has prepared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, read_choice
from igq.mqsc.language.parser import Command, MqscSyntaxError
from igq.mqsc.records import Shown, shown, two_columns
from igq.operations.shutdown import has_lease
from sharedq.calls.handles.connect import connect_to, disconnect
from sharedq.calls.unit.in_doubt import PreparedUnit, end_prepared, prepared_units
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.objects.definitions.names import matches
from sharedq.objects.repository import Repository
from sharedq.session.connection import Connection

_OPTIONS = ("ACTION", "NID", "QMNAME", "CMDSCOPE")


def display_in_doubt(command: Command, repository: Repository) -> list[str]:
    """DISPLAY THREAD TYPE(INDOUBT). QMNAME asks for the units of a manager that is not running."""
    qmgr = _qmgr_meant(command, repository)
    lines: list[str] = []
    for unit in units_in_doubt(repository, qmgr):
        if matches(command.name or "*", unit.appl_name):
            lines += two_columns([shown("THREAD", unit.appl_name), shown("NID", unit.nid), *unit_record(unit)])
    if not lines:
        return [messages.NO_THREADS_IN_DOUBT]
    return [messages.IN_DOUBT_THREADS.format(qmgr), *lines]


def units_in_doubt(repository: Repository, qmgr: str) -> list[PreparedUnit]:
    """Return what *qmgr* has in doubt with the group's units: all of these if *qmgr* is the manager that is asked.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    group = repository.group

    def is_meant(unit: PreparedUnit) -> bool:
        return unit.qmgr == qmgr or (unit.qmgr == group.name and qmgr in (repository.qmgr, unit.prepared_at))

    return [unit for unit in prepared_units(group) if is_meant(unit)]


def unit_record(unit: PreparedUnit) -> Iterator[Shown]:
    """A prepared unit of work as DISPLAY CONN shows it."""
    prepared = datetime.fromtimestamp(unit.prepared_ms / 1000, UTC)
    yield shown("CONN", unit.owner)
    yield shown("APPLTAG", unit.appl_name)
    yield shown("EXTURID", unit.xid.hex().upper())
    yield shown("QMNAME", unit.prepared_at)
    yield shown("QMURID", unit.nid)
    yield shown("UOWSTATE", "PREPARED" if unit.outcome is None else "UNRESOLVED")
    yield shown("UOWSTDA", f"{prepared:%Y-%m-%d}")
    yield shown("UOWSTTI", f"{prepared:%H.%M.%S}")
    yield shown("URTYPE", "XA")
    yield shown("URDISP", "QMGR" if unit.qmgr == unit.prepared_at else "GROUP")


def resolve_in_doubt(command: Command, repository: Repository) -> list[str]:
    """RESOLVE INDOUBT: commit or back out instead of the coordinator, at this manager or for one that is not running.

    Units with GROUP disposition can be resolved at any manager.

    Returns:
        A line for each unit of work.

    Raises:
        MQIError: 2085, none is in doubt and all were meant; 2222, the manager of QMNAME is running.
        PartlyDoneError: one was not found or not resolved. The others were resolved.
    """
    command.check_keywords(_OPTIONS)
    action = read_choice(command, "ACTION", ("COMMIT", "BACKOUT"), "")
    nid = find_parameter(command, "NID")
    if not action or nid is None:
        given = command.parameters[-1].segment if command.parameters else f"RESOLVE INDOUBT({command.name})"
        raise MqscSyntaxError(command.line, given, "ACTION(COMMIT|BACKOUT) and NID(*|nid, ...)")
    wanted = nid.values or ()
    qmgr = _qmgr_meant(command, repository)
    units = [
        unit
        for unit in units_in_doubt(repository, qmgr)
        if matches(command.name, unit.appl_name) and ("*" in wanted or unit.nid in wanted)
    ]
    unknown = f"no such thread of {qmgr} is in doubt"
    found = {"*", *(unit.nid for unit in units)}
    not_found = [messages.THREAD_NOT_FOUND.format(each, unknown) for each in dict.fromkeys(wanted) if each not in found]
    if not (units or not_found):
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name, unknown)
    lines, failed = _resolve_each(repository, units, action) if units else ([], {})
    if failed or not_found:
        reason = next(iter(failed.values()), int(MQRC.UNKNOWN_OBJECT_NAME))
        raise messages.PartlyDoneError([*lines, *failed, *not_found], reason)
    return lines


def _resolve_each(
    repository: Repository, units: Sequence[PreparedUnit], action: str
) -> tuple[list[str], dict[str, int]]:
    """Return a line for each unit that was resolved, and one with its reason code for each that was not.

    Raises:
        PartlyDoneError: the connection was lost.
    """
    lines: list[str] = []
    failed: dict[str, int] = {}
    connection = connect_to(repository.group, repository.qmgr or "", appl_name="RESOLVE INDOUBT")
    try:
        with connection.lock:
            for position, unit in enumerate(units):
                try:
                    lines.append(_resolve(connection, unit, action))
                except XAError as error:
                    is_gone = error.code == XAReturn.XAER_NOTA
                    failed[_why_not(unit, error)] = int(MQRC.UNKNOWN_OBJECT_NAME) if is_gone else 0
                except MQIError as error:
                    if not connection.is_ended:
                        failed[messages.failure(f"Thread NID({unit.nid})", error)] = int(error.reason)
                        continue
                    unknown = messages.THREAD_UNKNOWN.format(unit.nid, error)
                    rest = (each.nid for each in units[position + 1 :])
                    untried = [messages.THREAD_NOT_RESOLVED.format(nid, "it was not tried any more") for nid in rest]
                    raise messages.PartlyDoneError(
                        [*lines, *failed, unknown, *untried], error.reason, is_outcome_unknown=True
                    ) from error
    finally:
        disconnect(connection)
    return lines, failed


def _resolve(connection: Connection, unit: PreparedUnit, action: str) -> str:
    text = messages.THREAD_COMMITTED if action == "COMMIT" else messages.THREAD_BACKED_OUT
    end_prepared(connection, unit.xid, "C" if action == "COMMIT" else "B", qmgr=unit.qmgr)
    return text.format(unit.nid)


def _why_not(unit: PreparedUnit, error: XAError) -> str:
    if error.code == XAReturn.XAER_NOTA:
        return messages.THREAD_NOT_FOUND.format(unit.nid, error.detail)
    # Its coordinator was a moment earlier, or a structure has lost what the unit did there.
    return messages.THREAD_NOT_RESOLVED.format(unit.nid, error.detail)


def _qmgr_meant(command: Command, repository: Repository) -> str:
    """Return the manager of QMNAME, which must not be running, or else the one that the command is for.

    Raises:
        MQIError: 2058, there is no such manager; 2222, it is running.
    """
    named = find_parameter(command, "QMNAME")
    if named is None or named.value.strip() in ("", repository.qmgr):
        return repository.qmgr or ""
    member = repository.group.member(named.value)
    if member is None:
        raise error_for(MQRC.Q_MGR_NAME_ERROR, "", named.value, f"there is no queue manager {named.value}")
    if has_lease(repository.group, member):
        raise error_for(MQRC.Q_MGR_ACTIVE, "", named.value, f"{named.value} is running: give the command there")
    return member.name
