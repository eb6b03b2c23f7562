"""Distribution lists: MQOPEN, MQPUT and MQCLOSE of several queues as one object. A put is one unit of work.

Queue managers on z/OS have no distribution lists. Ours are as those of IBM MQ on other platforms.

Source: IBM MQ reference, MQOD, MQOR, MQRR, MQPMO, MQPMR; MQRC_MULTIPLE_REASONS, MQRC_GROUP_ID_ERROR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sharedq.calls.handles.open import close_handle, open_queue
from sharedq.calls.handles.ways import find_way
from sharedq.calls.put.put import PASSES, pass_context, put_checked
from sharedq.calls.put.store import check_unit_room
from sharedq.calls.unit.commit import backout, commit
from sharedq.logical import GROUP_FLAGS
from sharedq.messages.context import new_identifier
from sharedq.mqi.arguments import refuse_records, whole
from sharedq.mqi.constants import MQCC, MQRC, ObjectType, OpenOption, PutOption, PutRecordField
from sharedq.mqi.errors import WARNINGS, MQIError, error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.options import (
    NOT_FOR_PUTS,
    PUT_CONTEXT,
    check_close_options,
    check_open_options,
    check_put_context,
    check_put_options,
)
from sharedq.mqi.structures import MQMD, MQOD, MQOR, MQPMO, MQPMR, MQRR, copied
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ListHandle, ListMember

_OUTPUT: Final = int(OpenOption.OUTPUT)
_SYNCPOINT, _NO_SYNCPOINT = int(PutOption.SYNCPOINT), int(PutOption.NO_SYNCPOINT)
_ASYNC, _SYNC = int(PutOption.ASYNC_RESPONSE), int(PutOption.SYNC_RESPONSE)
_NEW_CORREL_ID, _LOGICAL_ORDER = int(PutOption.NEW_CORREL_ID), int(PutOption.LOGICAL_ORDER)
_FAIL_IF_QUIESCING: Final = int(PutOption.FAIL_IF_QUIESCING)
_SETS_IDENTITY: Final = int(PutOption.SET_IDENTITY_CONTEXT | PutOption.SET_ALL_CONTEXT)
#: The version of MQPMO that has records.
_VERSION_WITH_RECORDS: Final = 2
#: The fields of a put message record by their bits; and those that the call returns.
_FIELDS: Final = {int(field): str(field.name).lower() for field in PutRecordField if field}
_RETURNED: Final = ("msg_id", "correl_id", "group_id")
#: Outcomes of the destinations, in the order of the list.
Outcomes = list[MQRC]


def open_list(connection: Connection, od: MQOD, options: int, *responses: Sequence[MQRR]) -> ListHandle:
    """MQOPEN of a distribution list; *od* returns how many of its queues are open.

    Each destination counts as a handle (MAXHANDS).

    Args:
        responses: response records, besides those of *od*.

    Raises:
        MQIError: 2154, 2155, 2156 the records; 2152, 2153 the descriptor names an object besides; 2045, 2046 options;
            what every destination was refused for, or 2136 if for different reasons.
    """
    records = _object_records(od)
    for each in responses:
        refuse_records(MQRR, MQRC.RESPONSE_RECORDS_ERROR, each, 0, "MQOPEN")
    options = whole(options, MQRC.OPTIONS_ERROR, "MQOPEN", "")
    reason = check_open_options(options)
    if not reason and options & NOT_FOR_PUTS:
        reason = MQRC.OPTION_NOT_VALID_FOR_TYPE
    if reason:
        raise error_for(reason, "MQOPEN", "", "a distribution list is for puts")
    members = [_opened(connection, od, record, options) for record in records]
    outcomes = [member.reason for member in members]
    od.known_dest_count, od.unknown_dest_count, od.invalid_dest_count = _counts(members, outcomes)
    return ListHandle(options, members, _told(outcomes, "MQOPEN", od.response_records, *responses))


def _object_records(od: MQOD) -> Sequence[MQOR]:
    count = od.recs_present
    if count < 0 or od.object_type != ObjectType.Q:
        raise error_for(MQRC.RECS_PRESENT_ERROR, "MQOPEN", "", f"RecsPresent {count}")
    refuse_records(MQOR, MQRC.OBJECT_RECORDS_ERROR, od.object_records, count, "MQOPEN")
    if od.response_records:
        refuse_records(MQRR, MQRC.RESPONSE_RECORDS_ERROR, od.response_records, count, "MQOPEN")
    if od.object_name.strip(b" \0"):
        raise error_for(MQRC.OBJECT_NAME_ERROR, "MQOPEN", "", "the object records name the queues")
    if od.object_q_mgr_name.strip(b" \0"):
        raise error_for(MQRC.OBJECT_Q_MGR_NAME_ERROR, "MQOPEN", "", "the object records name the queue managers")
    return od.object_records[:count]


def _opened(connection: Connection, od: MQOD, record: MQOR, options: int) -> ListMember:
    member = ListMember(record.object_name, record.object_q_mgr_name)
    own = MQOD(
        object_name=record.object_name,
        object_q_mgr_name=record.object_q_mgr_name,
        alternate_user_id=od.alternate_user_id,
    )
    try:
        member.handle = open_queue(connection, own, options, may_create=False)
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        member.reason = error.reason
    return member


def _counts(members: Sequence[ListMember], outcomes: Outcomes) -> tuple[int, int, int]:
    """How many destinations went well that are local, and that are remote, and how many did not."""
    are_remote = [
        bool(member.handle.destination)
        for member, reason in zip(members, outcomes, strict=True)
        if member.handle is not None and not _is_failure(reason)
    ]
    remote = sum(are_remote)
    return len(are_remote) - remote, remote, len(members) - len(are_remote)


def _told(outcomes: Outcomes, verb: str, *responses: Sequence[MQRR]) -> MQRC:
    """The reason of a call, from those of its destinations. If these differ, the response records tell them.

    Returns:
        NONE, or the reason of a warning: 2136, or what every destination warns of.

    Raises:
        MQIError: what every destination failed for; 2136 they failed for different reasons.
    """
    if len(set(outcomes)) == 1:
        if _is_failure(outcomes[0]):
            raise error_for(outcomes[0], verb, "", "for every destination")
        return outcomes[0]
    for records in responses:
        for record, reason in zip(records, outcomes, strict=False):
            record.comp_code = int(MQCC.FAILED if _is_failure(reason) else MQCC.WARNING if reason else MQCC.OK)
            record.reason = int(reason)
    if all(map(_is_failure, outcomes)):
        detail = ", ".join(f"{reason:d} {reason.name}" for reason in dict.fromkeys(outcomes))
        raise error_for(MQRC.MULTIPLE_REASONS, verb, "", detail, comp_code=MQCC.FAILED)
    return MQRC.MULTIPLE_REASONS


def _is_failure(reason: MQRC) -> bool:
    return bool(reason) and reason not in WARNINGS


def close_list(connection: Connection, handle: ListHandle, options: int = 0) -> MQRC:
    """MQCLOSE of a distribution list; returns the reason of a warning, as that of a queue.

    Raises:
        MQIError: 2019 it is closed already; 2045, 2046 refused options; what Redis refuses, and it stays open.
    """
    if handle.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQCLOSE", "")
    reason = check_close_options(whole(options, MQRC.OPTIONS_ERROR, "MQCLOSE", ""), may_delete=False)
    if reason:
        raise error_for(reason, "MQCLOSE", "")
    warning = MQRC.NONE
    for member in handle.members:
        if member.handle is not None and not member.handle.is_closed:
            warning = close_handle(connection, member.handle) or warning
    handle.is_closed = True
    return warning


def put_list(connection: Connection, handle: ListHandle, md: MQMD, pmo: MQPMO, body: bytes) -> MQRC:
    """MQPUT to a distribution list: in the program's unit of work, or in one for this, which commits all of it.

    *md* stays as it is, but for the CorrelId of MQPMO_NEW_CORREL_ID, which is the same for every destination.

    Returns:
        NONE, or the reason of a warning: 2136 for different outcomes of destinations, or what all of them warn of.

    Raises:
        MQIError: 2154, 2156, 2158, 2159 the records; 2258 the message would be in the same group everywhere; 2003 it
            was backed out everywhere; what every destination was refused for, or 2136 if for different reasons.
    """
    options = _check(connection, handle, pmo)
    count = pmo.recs_present if pmo.version >= _VERSION_WITH_RECORDS else 0
    records = _put_records(pmo, count, options)
    _check_group(handle, md, options, records, pmo.put_msg_rec_fields)
    given = replace(pmo, options=options & ~(_NEW_CORREL_ID | _ASYNC | _NO_SYNCPOINT) | _SYNC)
    if options & _NEW_CORREL_ID:
        md.correl_id = new_identifier(connection.origin)
    put = _Put(connection, handle, copied(md), given, body, records, pmo.put_msg_rec_fields if records else 0)
    if options & _NEW_CORREL_ID:
        put.fields &= ~PutRecordField.CORREL_ID
    outcomes = pass_context(connection, [put.md], given, put.run) if options & PASSES else put.run()
    pmo.known_dest_count, pmo.unknown_dest_count, pmo.invalid_dest_count = _counts(handle.members, outcomes)
    pmo.resolved_q_name = pmo.resolved_q_mgr_name = b""
    return _told(outcomes, "MQPUT", pmo.response_records[:count] if count else (), handle.responses or ())


def _check(connection: Connection, handle: ListHandle, pmo: MQPMO) -> int:
    """Refuse what is the same for every destination. Returns the options."""
    connection.check()
    if handle.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQPUT", "")
    options = whole(pmo.options, MQRC.OPTIONS_ERROR, "MQPUT", "")
    reason = check_put_options(options)
    if not reason and not handle.options & _OUTPUT:
        reason = MQRC.NOT_OPEN_FOR_OUTPUT
    reason = reason or check_put_context(options & PUT_CONTEXT, handle.options)
    if not reason and connection.is_quiescing and options & _FAIL_IF_QUIESCING:
        reason = MQRC.Q_MGR_QUIESCING
    if reason:
        raise error_for(reason, "MQPUT", "", "a distribution list")
    return options


def _put_records(pmo: MQPMO, count: int, options: int) -> Sequence[MQPMR]:
    """The put message records of a call, if it has any. Raises MQIError: 2154, 2156, 2158, 2159."""
    if count < 0:
        raise error_for(MQRC.RECS_PRESENT_ERROR, "MQPUT", "", f"RecsPresent {count}")
    if count and pmo.response_records:
        refuse_records(MQRR, MQRC.RESPONSE_RECORDS_ERROR, pmo.response_records, count, "MQPUT")
    if not (count and pmo.put_msg_records):
        return ()
    refuse_records(MQPMR, MQRC.PUT_MSG_RECORDS_ERROR, pmo.put_msg_records, count, "MQPUT")
    fields = pmo.put_msg_rec_fields
    may_tell = not fields & PutRecordField.ACCOUNTING_TOKEN or options & _SETS_IDENTITY
    if not fields or fields & ~sum(_FIELDS) or not may_tell:
        raise error_for(MQRC.PMO_RECORD_FLAGS_ERROR, "MQPUT", "", f"PutMsgRecFields {fields:#x}")
    return pmo.put_msg_records[:count]


def _check_group(handle: ListHandle, md: MQMD, options: int, records: Sequence[MQPMR], fields: int) -> None:
    """Refuse one GroupId for groups on several queues. Raises MQIError: 2258."""
    is_grouped = md.version > 1 and md.msg_flags & GROUP_FLAGS and md.group_id != NULL_ID
    has_own = fields & PutRecordField.GROUP_ID and len(records) >= len(handle.members)
    if is_grouped and not has_own and not options & _LOGICAL_ORDER:
        raise error_for(MQRC.GROUP_ID_ERROR, "MQPUT", "", "each destination needs a GroupId of its own")


@dataclass(slots=True)
class _Put:
    """One MQPUT to a distribution list.

    Attributes:
        md, pmo: what they say for every destination.
        fields: of the *records* that count (MQPMRF_*).
    """

    connection: Connection
    handle: ListHandle
    md: MQMD
    pmo: MQPMO
    body: bytes
    records: Sequence[MQPMR]
    fields: int

    def run(self) -> Outcomes:
        """Put the message on each queue that takes it, and commit that, unless the program does.

        Raises:
            MQIError: 2003 and 2009, of the unit of work; 2024.
        """
        connection, members = self.connection, self.handle.members
        in_unit = bool(int(self.pmo.options) & _SYNCPOINT)
        failure = MQRC.OPEN_FAILED if self.handle.responses is None else MQRC.NONE
        outcomes = [MQRC.NONE if member.handle else failure or member.reason for member in members]
        live = [at for at, member in enumerate(members) if member.handle]
        has_own_unit = not in_unit and len(live) > 1
        unit = connection.apart() if has_own_unit and connection.has_unit else connection
        if in_unit or has_own_unit:
            check_unit_room(unit, len(live))
        try:
            for at in live:
                outcomes[at] = self._put_at(unit, at, in_unit=in_unit or has_own_unit)
            if has_own_unit and unit.has_unit:
                commit(unit)
        except BaseException:
            if has_own_unit and not unit.is_ended and unit.has_unit:
                backout(unit)
            raise
        finally:
            for member in members if unit is not connection else ():
                if member.handle is not None and member.beside is not None:
                    # After the commit, or as the backout has left it.
                    member.handle.order = member.beside.order
        return outcomes

    def _put_at(self, unit: Connection, at: int, *, in_unit: bool) -> MQRC:
        """Put the message on one queue; the reason of a warning, or why it was refused."""
        member, record = self.handle.members[at], self.records[at] if at < len(self.records) else None
        sent = copied(self.md)
        names = [name for bit, name in _FIELDS.items() if self.fields & bit] if record else []
        for name in names:
            setattr(sent, name, getattr(record, name))
        options = int(self.pmo.options) | (_SYNCPOINT if in_unit else _NO_SYNCPOINT)
        try:
            handle = _way(unit, self.connection, member)
            warning = put_checked(unit, handle, sent, replace(self.pmo, options=options), self.body, in_unit)
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN or unit.is_ended:
                raise
            member.beside = None
            return error.reason
        for name in names:
            if name in _RETURNED:
                setattr(record, name, getattr(sent, name))
        if member.handle is not None:
            member.handle.puts.turn = handle.puts.turn
        return warning


def _way(unit: Connection, connection: Connection, member: ListMember) -> Handle:
    """The handle by which *unit* puts on a queue of the list that *connection* has open."""
    handle, way = member.handle, member.beside
    assert handle is not None
    if handle.structure.has_failed and not handle.puts.binding:
        connection.check_usable(handle)
    if unit is connection:
        return handle
    if way is None or way.structure.has_failed or not unit.has_entered(way.structure):
        way = find_way(unit, handle, None if handle.puts.binding else handle.definition.route)
        way.puts.binding = handle.puts.binding
        member.beside = way
    way.order = handle.order
    way.puts.turn = handle.puts.turn
    return way
