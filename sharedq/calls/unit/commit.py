"""How a connection's unit of work ends: MQCMIT and MQBACK, in one structure and in several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from sharedq.calls.requests.get import ANY, GetRequest
from sharedq.calls.unit.put_buffer import (
    Sending,
    commit_at_once_call,
    flush_pending,
    note_replies,
    pending_calls,
    send_pending,
)
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.link import Reply, ScriptCall, steps
from sharedq.scripts.connections import forget_decisions_call
from sharedq.scripts.get import EndedUnit
from sharedq.scripts.unit import NOTHING_SKIPPED, End, decide_call, end_unit_call
from sharedq.session.connection import Connection
from sharedq.session.unit_of_work import CHUNK_MESSAGES

#: The place, in the reply of structure/commit_put, of the reply to the get that rode along.
_RIDER = 3
#: Reasons with which Redis refuses a call, or a script a unit of work that is not as it should be: nothing was done.
_UNDONE = (
    MQRC.STORAGE_MEDIUM_FULL,
    MQRC.NOT_AUTHORIZED,
    MQRC.CF_STRUC_IN_USE,
    MQRC.CF_NOT_AVAILABLE,
    MQRC.UNEXPECTED_ERROR,
    MQRC.BACKED_OUT,
)


def commit(connection: Connection, *, and_then: GetRequest | None = None) -> Reply:
    """MQCMIT: make the unit of work's puts available and its gets final.

    Args:
        and_then: a get under syncpoint for the next unit of work. It leaves in the same write if one call
            commits everything in the structure of its queue, or if the get itself can commit the earlier gets
            there; else after the commit. If it waits and finds nothing, it has begun to wait.

    Returns:
        The reply to *and_then*; None if this get is still to be called.

    Raises:
        MQIError: 2003 an asynchronous put of it had failed, or a structure: everything is backed out; 2123 committed,
            but for its part in a structure that has failed; 2009 unknown.
    """
    steps.taken += 1
    try:
        return _commit(connection, and_then)
    except MQIError as error:
        if connection.is_ended or error.reason == MQRC.BACKED_OUT:
            raise
        # Nothing was decided: a structure has failed, or refuses for now and the commit can be tried again.
        _back_out_failed_puts(connection)
        raise


def _commit(connection: Connection, followed: GetRequest | None) -> Reply:
    if connection.put_failure is not None:
        _back_out_failed_puts(connection)
    if connection.pending:
        structure = connection.pending[0].handle.structure.keys.name
        rider = followed if followed and followed.may_ride(structure) else None
        at_once = commit_at_once_call(connection, is_followed=followed is not None, rider=rider)
        if at_once is not None:
            return _commit_one(connection, structure, [at_once], None, followed, is_riding=rider is not None)
    if followed and _may_commit_within(connection, followed):
        return _commit_within(connection, followed)
    by_structure = pending_calls(connection)
    parts = connection.unit.parts
    if len(parts) == 1:
        (structure,) = parts
        end = _end_call(connection, "commit", structure, expected=parts[structure].operations)
        return _commit_one(connection, structure, by_structure.get(structure, []), end, followed)
    send_pending(connection, by_structure)
    _back_out_failed_puts(connection)
    return _commit_everywhere(connection, followed) if parts else None


def _may_commit_within(connection: Connection, get: GetRequest) -> bool:
    """Whether the unit of work is nothing but gets of plain messages in the structure of *get*'s queue, few enough."""
    return not connection.pending and len(connection.unit.parts) == 1 and _may_end_part(connection, get)


def _may_end_part(connection: Connection, get: GetRequest) -> bool:
    """Whether the call *get* can end what the unit of work did in the structure of its queue: few gets, all plain."""
    unit = connection.unit
    part = unit.parts.get(get.handle.structure.keys.name)
    return (
        get.is_plain and get.selection is ANY and part is not None and part.is_only_gets and unit.messages <= part.chunk
    )


def _commit_within(connection: Connection, get: GetRequest) -> Reply:
    """Commit in the script that makes the next get; its reply."""
    (reply,) = get.send([_with_commit(connection, get)])
    if reply[0] == MQRC.BACKED_OUT:
        _lose_unit(connection, "an operation is missing")
    connection.unit.begin_next()
    return reply


def _with_commit(connection: Connection, get: GetRequest) -> ScriptCall:
    unit = connection.unit
    part = unit.parts[get.handle.structure.keys.name]
    return get.with_commit(EndedUnit(unit.id, part.operations, list(part.queues)))


def _lose_unit(connection: Connection, why: str) -> NoReturn:
    backout(connection)
    raise error_for(MQRC.BACKED_OUT, "MQCMIT", connection.qmgr_name, why)


def _commit_one(
    connection: Connection,
    structure: str,
    sendings: list[Sending],
    end: ScriptCall | None,
    followed: GetRequest | None,
    *,
    is_riding: bool = False,
) -> Reply:
    """Commit in the one structure that the unit of work touches: by *end*, or else by what sends its puts.

    Args:
        followed: a get for the unit of work that follows.
        is_riding: that get is a part of the call that sends the puts, if it can be made there.
    """
    unit = connection.unit
    # Most often there is one, which needs no loop.
    calls = [sendings[0].call] if len(sendings) == 1 else [sending.call for sending in sendings]
    if end:
        calls.append(end)
    part = unit.parts.get(structure)
    chunk = CHUNK_MESSAGES if part is None else part.chunk
    after: list[ScriptCall] = []
    # After the first chunk of a large unit of work, a get would be taken for a part of it.
    if followed and not is_riding and followed.handle.structure.keys.name == structure and unit.messages <= chunk:
        after = [followed.call(followed.waits_as, after_commit=True)]
    calls += after
    replies = followed.send(calls) if followed and (is_riding or after) else connection.call_many(calls)
    # Not before: a commit that Redis refused as a whole (2192) can be tried again.
    connection.pending.clear()
    note_replies(connection, sendings, replies[: len(sendings)])
    decided = replies[len(calls) - len(after) - 1]
    if decided[0]:
        _lose_unit(connection, str(connection.put_failure or "an operation is missing"))
    if structure in unit.parts and decided[1]:
        _finish_decided(connection, structure, decided)
    unit.begin_next()
    if not followed or not (is_riding or after):
        return None
    return replies[-1] if after else next(iter(decided[_RIDER:]), None)


def _back_out_failed_puts(connection: Connection) -> None:
    if connection.put_failure is not None:
        failure, connection.put_failure = connection.put_failure, None
        for puts in connection.pending:
            # Never sent: nobody has said whether they went by definitions that are in force.
            puts.handle.puts.may_be_stale = True
        backout(connection)
        raise error_for(MQRC.BACKED_OUT, "MQCMIT", connection.qmgr_name, str(failure)) from failure


def _commit_everywhere(connection: Connection, followed: GetRequest | None) -> Reply:
    """Several structures: one decision in the administration structure, then each applies it, all at once.

    Returns:
        The reply to the get that *followed* names, where that ended the part of its structure; else None.
    """
    unit = connection.unit
    decide = decide_call(connection.group.keys, connection.owner_arguments(), unit.id, unit.parts)
    within = followed if followed and _may_end_part(connection, followed) else None
    if within:
        # The calls of several structures leave in several writes.
        within.blocks_s = 0.0
    got: Reply = None
    failed: list[str] = []

    def apply(structures: Sequence[str]) -> None:
        nonlocal got
        calls = [_end_call(connection, "commit", structure, expected=-1) for structure in structures]
        source = ""
        if within:
            source = within.handle.structure.keys.name
            calls[structures.index(source)] = _with_commit(connection, within)
        for structure, reply in zip(structures, connection.call_apart(calls), strict=True):
            # A structure that has just failed has nothing left to end.
            is_within = structure == source and structure in unit.parts
            if is_within and reply[0] not in _UNDONE:
                got = reply
            elif not _finish_decided(connection, structure, None if is_within else reply):
                failed.append(structure)

    decided = settle(connection, decide, apply)
    if decided[0]:
        raise connection.error(decided[0], "MQCMIT")
    if failed:
        if got is not None and within and got[0] in (MQRC.NONE, MQRC.TRUNCATED_MSG_ACCEPTED):
            # The caller does not see the message that the get took, so it goes back.
            unit.add(within.handle.structure.keys.name, within.handle.name, len(got[2].split()))
            backout(connection)
        detail = f"committed, but for what it did in {' and '.join(failed)}, which has failed"
        raise connection.error(MQRC.OUTCOME_MIXED, "MQCMIT", detail=detail)
    return got


def settle(connection: Connection, decide: ScriptCall, apply: Callable[[Sequence[str]], None]) -> Reply:
    """Write a decision about the unit of work, have its structures apply that, and begin the next one.

    Returns:
        The reply to *decide*. Where it begins with a number other than 0 nothing is decided, and nothing done.
    """
    unit = connection.unit
    forget: list[ScriptCall] = []
    if connection.to_forget:
        forget = [forget_decisions_call(connection.group.keys, connection.to_forget)]
    decided, *forgotten = connection.call_many([decide, *forget])
    if all(not reply[0] for reply in forgotten):
        connection.to_forget = []
    if decided[0]:
        return decided
    apply(list(unit.parts))
    # A structure that has failed meanwhile concerns this unit of work, which is decided, and not the next one.
    connection.put_failure = None
    # Not earlier: until every structure has applied the decision, a recoverer of this connection must find it.
    connection.to_forget.append(unit.id)
    unit.begin_next()
    return decided


def send_outstanding(connection: Connection) -> None:
    """Send the buffered puts, so that everything the unit of work did is recorded where it was done.

    Raises:
        MQIError: 2003 one of its asynchronous puts had failed, everything is backed out; 2009 unknown.
    """
    flush_pending(connection)
    _back_out_failed_puts(connection)


def require_recorded(connection: Connection) -> None:
    """Check that each structure still has its part of the unit of work: none has failed meanwhile.

    Raises:
        MQIError: 2003 one has, everything is backed out; 2009 a recoverer has shut this connection out.
    """
    unit = connection.unit
    for structure in unit.parts:
        key = connection.access(structure).keys.unit_of_work + connection.token
        if connection.command(key, "LINDEX", key, 0) != f"A{unit.id}".encode():
            _lose_unit(connection, f"its part in {structure} is not there any more")


def _finish_decided(connection: Connection, structure: str, reply: Reply) -> bool:
    """Apply a decision. If that is impossible now, the group applies it, and this connection has ended.

    Returns:
        False where the structure has failed: nothing is left there to apply.
    """
    try:
        if reply and reply[0]:
            raise connection.error(reply[0], "MQCMIT", structure)
        _end_part(connection, "commit", structure, reply)
    except MQIError as error:
        if structure in connection.unit.parts:
            connection.leave_to_group("committed", structure, error)
        connection.put_failure = None
        return False
    return True


def backout(connection: Connection, *, by_program: bool = False) -> None:
    """MQBACK: undo the unit of work. Puts vanish, gets return to their places.

    If a structure cannot undo its part now, the group does so, and this connection has ended. Nobody may commit the
    rest: parts that are undone elsewhere are gone, and so are the buffered asynchronous puts.

    Args:
        by_program: the program itself calls MQBACK: a message that it got with MQGMO_MARK_SKIP_BACKOUT stays got,
            in the unit of work that follows. Else everything is undone.

    Raises:
        MQIError: 2009, the group backs it out.
    """
    steps.taken += 1
    unit = connection.unit
    connection.pending.clear()
    connection.put_failure = None
    marked = unit.marked if by_program else None
    unit.marked = marked
    for structure in list(unit.parts):
        try:
            _end_part(connection, "backout", structure, None)
        except MQIError as error:
            # A structure that has failed has nothing left to undo.
            if connection.is_ended:
                raise
            if structure in unit.parts:
                connection.leave_to_group("backed out", structure, error)
    connection.put_failure, marked = None, unit.marked
    unit.restore_order()
    unit.begin_next()
    if marked:
        structure, queue, messages, operations, has_members = marked
        unit.add(structure, queue, messages, operations=operations, has_members=has_members)


def _end_part(connection: Connection, how: End, structure: str, reply: Reply) -> None:
    """Call until a structure has applied its part of the unit of work, chunk by chunk."""
    while reply is None or reply[1]:  # operations left
        name, keys, args = _end_call(connection, how, structure, expected=-1)
        reply = connection.checked_call(name, keys, args)


def _end_call(connection: Connection, how: End, structure: str, *, expected: int) -> ScriptCall:
    unit = connection.unit
    part, marked = unit.parts[structure], unit.marked
    skip = NOTHING_SKIPPED
    if marked and marked.structure == structure:
        skip = (unit.next_id, marked.operations)
    return end_unit_call(
        connection.access(structure).keys,
        how,
        connection.token,
        connection.token,
        unit.id,
        list(part.queues),
        expected,
        connection.journal_max,
        has_members=part.has_members,
        chunk=part.chunk,
        skip=skip,
    )
