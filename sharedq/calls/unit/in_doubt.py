"""Units of work that an external coordinator prepares and ends later, over any connection of the manager or the group.

A unit of work with QMGR disposition belongs to its manager. One with GROUP disposition belongs to the queue-sharing
group: any member ends it, also while the manager at which it was prepared runs. The two do not see each other's ids.

The shape is that of XA. Between prepare and end the unit of work is in doubt: its puts are invisible, its gets stay
got, and no death, no recovery and no restart ends it. The coordinator chooses its external id.

One script in the administration structure decides the prepare, after every operation is recorded in its structure.
Each structure then sets its part apart from the connection. One script decides the end there, too. A process that dies
after such a decision leaves the rest to its recovery, as with any commit over several structures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sharedq.calls.unit.commit import require_recorded, send_outstanding, settle
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.objects.store.failures import failure_of, structure_state
from sharedq.redis.keys import prepared_field
from sharedq.redis.link import ScriptCall
from sharedq.scripts.reads import pairs_like
from sharedq.scripts.unit import (
    End,
    complete_call,
    decide_prepared_call,
    decide_together_call,
    end_unit_call,
    prepare_call,
    set_apart_call,
)
from sharedq.session.connection import Connection
from sharedq.session.unit_of_work import CHUNK_MEMBERS, CHUNK_MESSAGES

log = LibraryLogger(__name__)

#: Longest external id, bytes; as much as an XID of XA holds.
XID_MAX = 128
#: Units of work that have ended and whose ends are remembered, in the whole group.
ENDED_KEPT = 20_000
#: Units of work that one decision commits together, at most.
TOGETHER_MAX = 1000
_USED, _TOO_LATE = 1, 2
_ENDED, _UNKNOWN, _RUNNING = 1, 2, 3
_CANNOT, _DONE, _UNREAD = 1, 2, 3

Outcome = Literal["C", "B"]
#: How it has ended: as decided; or its commit was, and a structure (M), or every one (R), had lost what was done there.
Ended = Literal["C", "B", "M", "R"]
_ENDS: dict[Outcome, End] = {"C": "commit", "B": "backout"}
_SAID = {
    "C": "committed",
    "B": "backed out",
    "P": "in doubt",
    "M": "committed, but for what it did in a structure that has failed",
    "R": "lost, with the structures that it was in",
}
_CODES = {"C": XAReturn.XA_HEURCOM, "B": XAReturn.XA_HEURRB, "M": XAReturn.XA_HEURMIX, "R": XAReturn.XA_HEURRB}
_LOST = ("M", "R")

#: Called for each chunk of a unit of work with its id, and the number of messages made available, removed or put back;
#: None if the unit is in doubt and was only set apart.
OnChunk = Callable[[str, int | None], None]


@dataclass(frozen=True, slots=True)
class PreparedUnit:
    """A unit of work in doubt, or being ended.

    Attributes:
        qmgr: its owner: the manager at which it was prepared, or with GROUP disposition the group.
        xid: its external id, from the coordinator.
        nid: its short name, for operators.
        id: id of the unit of work; it begins with the owner token of its connection.
        appl_name: name of that connection's program.
        messages: number of messages put and got in it.
        prepared_ms: time of the prepare, by Redis' clock.
        structures: the queues that it touches in each, and whether members of groups are among its messages there.
        failures: how many times each of these had failed before, if it had.
        times_read: how often its messages were read; None if `commit_together` does not need a reader.
        outcome: the decision, if there is one: C commit, B back out.
        decided_by: owner token of the decider, which ends it, or whose recovery does.
    """

    qmgr: str
    xid: bytes
    nid: str
    id: str
    appl_name: str
    messages: int
    prepared_ms: int
    structures: dict[str, tuple[list[str], bool]]
    failures: dict[str, int]
    times_read: int | None
    outcome: Outcome | None
    decided_by: str

    @property
    def owner(self) -> str:
        """Owner token of the connection that did it."""
        return self.id.partition("/")[0]

    @property
    def is_unread(self) -> bool:
        """Whether its messages must be read before `commit_together`, and no program has read them."""
        return self.times_read == 0

    @property
    def prepared_at(self) -> str:
        """The manager at which it was prepared."""
        return self.nid.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class UnitBatch:
    """One batch of a series. The units of work of each batch are committed together, once.

    Attributes:
        series: its name. After a crash a coordinator continues with the same one.
        number: rising, from 0.
        kept_s: seconds for which its decision is remembered; 0 for ever.
    """

    series: str
    number: int = 0
    kept_s: int = 0


def prepare(
    connection: Connection,
    xid: bytes,
    batch: UnitBatch | None = None,
    *,
    must_be_read: bool = False,
    for_group: bool = False,
) -> int:
    """Prepare the unit of work under the external id *xid*; the connection goes on with the next one.

    Args:
        batch: the batch that it belongs to.
        for_group: with GROUP disposition.
        must_be_read: `commit_together` refuses if none of the committed units was read (``Reader.note_read``).

    A message got with MQGMO_MARK_SKIP_BACKOUT counts as got: a later back-out puts it back too.

    Returns:
        The number of messages in doubt now. 0 if the unit of work was empty; *xid* is unused then.

    Raises:
        XAError: XAER_DUPID, *xid* is in doubt at this manager (*for_group*: in the group) or was recently; XAER_PROTO,
            *batch* or a later one of its series is decided; the unit of work is as it was. XAER_INVAL.
        MQIError: 2003 an asynchronous put of it had failed, or a structure, everything is backed out; 2009 unknown:
            `prepared_units` shows it after the group has recovered this connection.
    """
    _check(xid)
    send_outstanding(connection)
    unit = connection.unit
    if not unit.parts:
        return 0
    require_recorded(connection)
    messages = unit.messages
    # The counts at the time it entered them. A later failure makes the count larger.
    failures = {name: connection.access(name).failures for name in unit.parts}
    info: dict[str, Any] = {"read": 0} if must_be_read else {}
    info |= {
        "unit": unit.id,
        "appl": connection.appl_name,
        "tag": connection.tag[1:],
        "messages": messages,
        "structures": {name: [list(part.queues), part.has_members] for name, part in unit.parts.items()},
        "failures": {name: count for name, count in failures.items() if count},
    }
    decide = prepare_call(
        connection.group.keys,
        connection.owner_arguments(),
        unit.id,
        prepared_field(_whose(connection, for_group), xid),
        json.dumps(info, separators=(",", ":")),
        connection.tag,
        *_place_in_series(batch),
    )
    unit_id = unit.id

    def apply(structures: Sequence[str]) -> None:
        for structure in structures:
            try:
                connection.checked_call(*setting_apart(connection, structure, connection.token, unit_id))
            except MQIError as error:
                connection.leave_to_group("prepared", structure, error)

    decided = settle(connection, decide, apply)
    if decided[0] == _USED:
        raise XAError(XAReturn.XAER_DUPID, xid, f"that id is {_SAID[decided[1].decode()]} already")
    if decided[0] == _TOO_LATE and batch is not None:
        raise XAError(XAReturn.XAER_PROTO, xid, f"batch {batch.number} of {batch.series} was decided without it")
    return messages


def setting_apart(connection: Connection, structure: str, owner: str, unit_id: str) -> ScriptCall:
    """The call that stores *owner*'s prepared unit of work under its own id in *structure*."""
    keys, journal_max = connection.access(structure).keys, connection.group.journal_max
    return set_apart_call(keys, connection.token, owner, unit_id, journal_max)


def end_prepared(connection: Connection, xid: bytes, outcome: Outcome, *, qmgr: str = "") -> bool:
    """Commit (C) or back out (B) the unit of work prepared as *xid*.

    Args:
        qmgr: its owner; default: the connection's manager. Another manager must not be running.

    Returns:
        False if it had ended like this already (the group remembers the latest ``ENDED_KEPT``).

    Raises:
        XAError: XAER_NOTA no such id; XA_HEURCOM or XA_HEURRB it has ended the other way, or is about to. XA_HEURMIX
            it is committed, except its work in a structure that has failed since the prepare; XA_HEURRB if it had
            none in any other. A repetition gives the same answer.
        MQIError: 2222 *qmgr* is running; 2009 unknown, may be repeated over another connection. The group completes a
            decision.
    """
    _check(xid)
    qmgr = qmgr or connection.qmgr_name
    field = prepared_field(qmgr, xid)
    status, *detail = connection.call(
        *decide_prepared_call(connection.group.keys, connection.owner_arguments(), qmgr, field, outcome)
    )
    if status == _UNKNOWN:
        raise XAError(XAReturn.XAER_NOTA, xid, f"{qmgr} has prepared nothing under that id, or it was forgotten")
    if status == _RUNNING:
        raise error_for(MQRC.Q_MGR_ACTIVE, "", qmgr, f"{qmgr} is running, its units of work are resolved there")
    if status == _ENDED:
        ended = detail[0].decode()
        if ended == outcome or (ended, outcome) == ("R", "B"):
            return False
        raise XAError(_CODES[ended], xid, f"it is {_SAID[ended]}")
    ended = complete(connection, _unit(field, detail[0]))
    if ended in _LOST:
        raise XAError(_CODES[ended], xid, f"it is {_SAID[ended]}")
    return True


def commit_together(
    connection: Connection, xids: Sequence[bytes], batch: UnitBatch | None = None, *, for_group: bool = False
) -> bool:
    """Commit the units prepared at the connection's manager as *xids*, by one decision: all of them or none.

    A repetition, by any program, completes the units that are not complete yet and does nothing else.

    Args:
        batch: their batch. From now on nothing more is prepared for it.
        for_group: they have GROUP disposition; any member may have prepared them.

    Returns:
        False if *batch* or a later one of its series was decided before. The caller should back these units out.

    Raises:
        XAError, MQIError: as for `decide_together`; 2123 committed, except work in structures that have failed since. A
            repetition gives the same answer.
    """
    is_first, decided, lost = _decide_together(connection, xids, batch, for_group)
    lost += [unit.xid for unit in decided if complete(connection, unit) in _LOST]
    if lost:
        detail = (
            f"committed, but {len(lost)} of {len(xids)} did something in a structure that has failed: {lost[0]!r}, ..."
        )
        raise connection.error(MQRC.OUTCOME_MIXED, "MQCMIT", detail=detail)
    return is_first


def decide_together(
    connection: Connection, xids: Sequence[bytes], batch: UnitBatch | None = None, *, for_group: bool = False
) -> list[PreparedUnit] | None:
    """Decide the commit of the units prepared as *xids*. The caller must `complete` each of them.

    The work goes over this connection. If the connection ends before, its recovery completes the units of work.

    Returns:
        The units of work to complete; None if *batch* or a later one of its series was decided before.

    Raises:
        XAError: XAER_NOTA or XA_HEURRB, the named one is not there or was backed out; nothing has changed.
            XAER_PROTO they had to be read, and no program has read any of them. XAER_INVAL more than ``TOGETHER_MAX``.
        MQIError: 2009 unknown, may be repeated over another connection. The group completes everything decided.
    """
    is_first, decided, _ = _decide_together(connection, xids, batch, for_group)
    return decided if is_first else None


def _decide_together(
    connection: Connection, xids: Sequence[bytes], batch: UnitBatch | None, for_group: bool
) -> tuple[bool, list[PreparedUnit], list[bytes]]:
    """As `decide_together`: whether *batch* was not decided before; which of *xids* are still to be completed.

    Also which of them were committed before, except for losses with structures.
    """
    for xid in xids:
        _check(xid)
    if len(xids) > TOGETHER_MAX:
        raise XAError(XAReturn.XAER_INVAL, xids[0], f"{len(xids)} units of work together; at most {TOGETHER_MAX}")
    whose = _whose(connection, for_group)
    status, *rest = connection.call(
        *decide_together_call(
            connection.group.keys,
            connection.owner_arguments(),
            *_place_in_series(batch),
            0 if batch is None else batch.kept_s,
            [prepared_field(whose, xid) for xid in xids],
        )
    )
    if status == _CANNOT:
        xid, ended = _xid_of(rest[0]), rest[1].decode()
        if ended:
            raise XAError(XAReturn.XA_HEURRB, xid, f"it is {_SAID[ended]}")
        raise XAError(XAReturn.XAER_NOTA, xid, f"{whose} has prepared nothing under that id")
    if status == _UNREAD:
        raise XAError(XAReturn.XAER_PROTO, _xid_of(rest[0]), "nobody has read what it got")
    found, lost = rest
    units = [_unit(field.decode(), text) for field, text in zip(found[::2], found[1::2], strict=True)]
    return status != _DONE, units, [_xid_of(field) for field in lost]


def _whose(connection: Connection, for_group: bool) -> str:
    return connection.group.name if for_group else connection.qmgr_name


def _xid_of(field: bytes) -> bytes:
    return bytes.fromhex(field.decode().partition(" ")[2])


def latest_batch(group: Group, series: str) -> int | None:
    """Number of the latest batch of *series* that is decided; None before the first.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    key = group.keys.series + series
    number = group.command(key, "GET", key)
    return None if number is None else int(number)


def _place_in_series(batch: UnitBatch | None) -> tuple[str, int | None]:
    return ("", None) if batch is None else (batch.series, batch.number)


def complete(connection: Connection, unit: PreparedUnit, on_chunk: OnChunk = lambda _unit_id, _messages: None) -> Ended:
    """Have every structure apply what is decided about *unit*, then forget it. Anybody may repeat it at any point.

    A structure that has failed since *unit* was prepared has nothing to apply. Backed out it is nevertheless.

    Returns:
        How it has ended: other than as decided where something of a commit is lost.

    Raises:
        MQIError: 2009 unknown, the connection has ended: its recovery completes the unit of work, if it decided it.
    """
    assert unit.outcome is not None
    lost: list[str] = []
    for structure in unit.structures:
        try:
            if not _end_part(connection, unit, structure, on_chunk) and _has_lost(connection.group, unit, structure):
                lost.append(structure)
        except MQIError as error:
            if connection.token != unit.decided_by:
                raise
            connection.leave_to_group(_SAID[unit.outcome], structure, error)
    ended: Ended = unit.outcome
    if lost and unit.outcome == "C":
        ended = "R" if len(lost) == len(unit.structures) else "M"
        log.warning("prepared_unit_of_work_lost", nid=unit.nid, xid=unit.xid.hex(), structures=" ".join(lost))
    field = prepared_field(unit.qmgr, unit.xid)
    _, kept = connection.checked_call(*complete_call(connection.group.keys, field, unit.id, ended, ENDED_KEPT))
    # The first one knows more: a part that it has applied may be lost by now.
    return kept.decode() or ended


def _has_lost(group: Group, unit: PreparedUnit, structure: str) -> bool:
    """Whether a structure without any of *unit* has failed since the prepare. Otherwise its part was applied."""
    # The first process that sees the failure tells the group, so that it is counted.
    structure_state(group, structure)
    known, sequence = failure_of(group, structure), group.structure(structure).sequence
    if (known.count if known else 0) != unit.failures.get(structure, 0):
        return True
    # Its queues were deleted after a failure that no process noticed.
    return not group.command(sequence, "EXISTS", sequence)


def _end_part(connection: Connection, unit: PreparedUnit, structure: str, on_chunk: OnChunk) -> bool:
    """Apply the decision in one structure. Returns whether a part of *unit* was there, which is applied now."""
    try:
        return _apply(connection, unit, structure, on_chunk)
    except MQIError as error:
        if error.reason == MQRC.CF_STRUC_ERROR:
            # The structure was deleted, which is possible only after it lost its queues.
            return False
        if error.reason not in (MQRC.CF_STRUC_FAILED, MQRC.CF_STRUC_IN_USE):
            raise
    # The structure has failed since this connection entered it, perhaps before the unit of work was done.
    return _apply(connection, unit, structure, on_chunk)


def _apply(connection: Connection, unit: PreparedUnit, structure: str, on_chunk: OnChunk) -> bool:
    assert unit.outcome is not None
    queues, has_members = unit.structures[structure]
    end = end_unit_call(
        connection.access(structure).keys,
        _ENDS[unit.outcome],
        connection.token,
        connection.token,
        unit.id,
        queues,
        -1,
        connection.group.journal_max,
        has_members=has_members,
        chunk=CHUNK_MEMBERS if has_members else CHUNK_MESSAGES,
        is_prepared=True,
    )
    # The unit of work may never have been set apart here, because the preparing program died before.
    calls = [setting_apart(connection, structure, unit.owner, unit.id), end]
    left, is_there = 1, False
    while left:
        *_, (reason, *rest) = connection.call_many(calls)
        if reason:
            raise connection.error(reason)
        left, messages = map(int, rest)
        is_there |= bool(messages)
        on_chunk(unit.id, messages)
        calls = [end]
    return is_there


def prepared_units(group: Group, qmgr: str = "") -> list[PreparedUnit]:
    """The units of work in doubt, with those that are just being ended.

    Args:
        qmgr: their owner, as in ``PreparedUnit.qmgr``; default: all owners.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    found = dict(pairs_like(group, "HSCAN", group.keys.prepared, f"{qmgr} *" if qmgr else "*"))
    return sorted((_unit(field.decode(), text) for field, text in found.items()), key=lambda unit: unit.nid)


def _unit(field: str, text: bytes) -> PreparedUnit:
    info: dict[str, Any] = json.loads(text)
    qmgr, _, xid = field.partition(" ")
    return PreparedUnit(
        qmgr=qmgr,
        xid=bytes.fromhex(xid),
        nid=info["nid"],
        id=info["unit"],
        appl_name=info["appl"],
        messages=int(info["messages"]),
        prepared_ms=int(info["prepared_ms"]),
        structures={name: (list(queues), bool(members)) for name, (queues, members) in info["structures"].items()},
        failures={name: int(count) for name, count in info.get("failures", {}).items()},
        times_read=info.get("read"),
        outcome=info.get("outcome"),
        decided_by=info.get("by", ""),
    )


def _check(xid: bytes) -> None:
    given: object = xid
    if not isinstance(given, bytes):
        raise XAError(XAReturn.XAER_INVAL, xid, f"the id is {type(given).__name__}, must be bytes")
    if not 1 <= len(xid) <= XID_MAX:
        raise XAError(XAReturn.XAER_INVAL, xid, f"{len(xid)} bytes; 1 to {XID_MAX} are allowed")
