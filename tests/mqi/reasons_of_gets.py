"""The reasons of MQGET: options, handles and attributes, and the messages on the queue."""

from __future__ import annotations

from copy import copy

from sharedq import verbs
from sharedq.mqi.constants import MQRC, MatchOption, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.mqi.reason_scenes import COMPLETE, LOGICAL, WARNING, Call, G, P, Scene, provokes
from tests.support.groups import BOTH, LMIG, LSEG, MIG, SEG

# -- MQGET: options, handles, attributes ---------------------------------------------------------------------------


@provokes(MQRC.OPTIONS_ERROR)
def options_that_contradict(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.SYNCPOINT | G.BROWSE_FIRST)


@provokes(MQRC.OPTIONS_ERROR)
def a_signal(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.SET_SIGNAL)


@provokes(MQRC.OPTIONS_ERROR)
def an_unlock_with_company(s: Scene) -> Call:
    s.has()
    s.did(s.get(G.BROWSE_FIRST | G.LOCK))
    return lambda: s.get(G.UNLOCK | G.BROWSE_FIRST)


@provokes(MQRC.OPTIONS_ERROR)
def two_ways_for_properties(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.NO_PROPERTIES | G.PROPERTIES_FORCE_MQRFH2)


@provokes(MQRC.OPTIONS_ERROR)
def a_mark_for_those_who_co_operate(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.BROWSE_FIRST | G.MARK_BROWSE_CO_OP)


@provokes(MQRC.HMSG_ERROR)
def properties_without_a_message_handle(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.PROPERTIES_IN_HANDLE)


@provokes(MQRC.HOBJ_ERROR)
def a_get_by_a_closed_handle(s: Scene) -> Call:
    s.has()
    s.did(verbs.mqclose(s.connection, s.handle))
    return s.get


@provokes(MQRC.HOBJ_ERROR)
def a_put_by_a_closed_handle(s: Scene) -> Call:
    s.did(verbs.mqclose(s.connection, s.handle))
    return s.put


@provokes(MQRC.BUFFER_LENGTH_ERROR)
def a_buffer_of_less_than_nothing(s: Scene) -> Call:
    s.has()
    return lambda: s.get(room=-1)


@provokes(MQRC.NOT_OPEN_FOR_BROWSE)
def a_browse_by_a_handle_for_input(s: Scene) -> Call:
    s.has()
    handle = s.open(options=OpenOption.INPUT_SHARED)
    return lambda: s.get(G.BROWSE_FIRST, at=handle)


@provokes(MQRC.NOT_OPEN_FOR_INPUT)
def a_get_under_the_cursor_by_a_handle_for_browse(s: Scene) -> Call:
    s.has()
    handle = s.open(options=OpenOption.BROWSE)
    s.did(s.get(G.BROWSE_FIRST, at=handle))
    return lambda: s.get(G.MSG_UNDER_CURSOR, at=handle)


@provokes(MQRC.WAIT_INTERVAL_ERROR)
def an_interval_that_cannot_be(s: Scene) -> Call:
    return lambda: s.get(G.WAIT, wait_interval=-2)


@provokes(MQRC.GET_INHIBITED)
def gets_are_inhibited(s: Scene) -> Call:
    s.has()
    s.group.repository("QM1").alter("QLOCAL", s.name, {"get": "DISABLED"})
    return s.get


@provokes(MQRC.GET_INHIBITED)
def browses_are_inhibited_with_a_lock(s: Scene) -> Call:
    s.has()
    s.did(s.get(G.BROWSE_FIRST | G.LOCK))
    s.group.repository("QM1").alter("QLOCAL", s.name, {"get": "DISABLED"})
    return lambda: s.get(G.BROWSE_NEXT)


@provokes(MQRC.Q_MGR_QUIESCING)
def a_get_while_the_manager_quiesces(s: Scene) -> Call:
    s.has()
    s.connection.is_quiescing = True
    return lambda: s.get(G.FAIL_IF_QUIESCING)


@provokes(MQRC.Q_MGR_QUIESCING)
def a_put_while_the_manager_quiesces(s: Scene) -> Call:
    s.connection.is_quiescing = True
    return lambda: s.put(options=P.FAIL_IF_QUIESCING)


@provokes(MQRC.Q_DELETED)
def a_get_from_what_was_deleted(s: Scene) -> Call:
    delete_under_its_handle(s)
    return s.get


@provokes(MQRC.Q_DELETED)
def a_put_on_what_was_deleted(s: Scene) -> Call:
    delete_under_its_handle(s)
    return s.put


@provokes(MQRC.OBJECT_CHANGED)
def an_alias_that_leads_elsewhere(s: Scene) -> Call:
    s.group.define_shared("ELSEWHERE")
    s.group.define("QM1", QueueAlias(name="ALIAS", target=s.name))
    handle = s.open("ALIAS", OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    s.group.repository("QM1").alter("QALIAS", "ALIAS", {"target": "ELSEWHERE"})
    return lambda: s.put(at=handle)


def delete_under_its_handle(s: Scene) -> None:
    """A queue that is open cannot be deleted. The agents' own way of getting has no handle."""
    handle = copy(s.handle)
    s.did(verbs.mqclose(s.connection, s.handle))
    s.handle = handle
    handle.is_closed = False
    s.connection.handles[handle.number] = handle
    s.group.repository("QM1").delete("QLOCAL", s.name)


# -- MQGET: what is there ------------------------------------------------------------------------------------------


@provokes(MQRC.NO_MSG_AVAILABLE)
def nothing_is_there(s: Scene) -> Call:
    return s.get


@provokes(MQRC.NO_MSG_AVAILABLE)
def nothing_comes_within_the_interval(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.WAIT, MQMD(version=2, correl_id=b"C" * 24), wait_interval=1)


@provokes(MQRC.NO_MSG_AVAILABLE)
def a_get_that_finds_nothing_leaves_the_lock(s: Scene) -> Call:
    s.has()
    s.did(s.get(G.BROWSE_FIRST | G.LOCK))
    return lambda: s.get(md=MQMD(version=2, correl_id=b"C" * 24))


@provokes(MQRC.NO_MSG_AVAILABLE, changes="alq")
def a_browse_that_finds_nothing_ends_the_lock(s: Scene) -> Call:
    s.has()
    s.did(s.get(G.BROWSE_FIRST | G.LOCK))
    return lambda: s.get(G.BROWSE_NEXT)


@provokes(MQRC.NO_MSG_AVAILABLE)
def a_group_that_is_incomplete(s: Scene) -> Call:
    s.has_group((1, 0, MIG), (3, 0, LMIG))
    return lambda: s.get(LOGICAL | G.ALL_MSGS_AVAILABLE)


@provokes(MQRC.NO_MSG_AVAILABLE)
def the_middle_of_a_logical_message_is_no_whole_one(s: Scene) -> Call:
    s.has_group((1, 0, SEG), (1, 4, LSEG))
    s.did(s.get(LOGICAL))
    return lambda: s.get(LOGICAL | COMPLETE)


@provokes(MQRC.NO_MSG_UNDER_CURSOR)
def nothing_was_browsed(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.MSG_UNDER_CURSOR)


@provokes(MQRC.NO_MSG_UNDER_CURSOR)
def what_was_browsed_is_gone(s: Scene) -> Call:
    s.has(b"1", b"2")
    s.did(s.get(G.BROWSE_FIRST))
    s.did(s.get())
    return lambda: s.get(G.BROWSE_MSG_UNDER_CURSOR)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def a_get_that_does_not_fit(s: Scene) -> Call:
    s.has()
    return lambda: s.get(room=1)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def a_get_in_a_unit_of_work_that_does_not_fit(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.SYNCPOINT | G.MARK_SKIP_BACKOUT, room=1)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def a_group_that_does_not_fit(s: Scene) -> Call:
    s.has_group((1, 0, MIG), (2, 0, LMIG))
    s.did(s.get(LOGICAL))
    return lambda: s.get(LOGICAL, room=1)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def segments_that_do_not_fit(s: Scene) -> Call:
    s.has_group((1, 0, SEG), (1, 4, LSEG))
    return lambda: s.get(COMPLETE, room=7)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def a_browse_that_does_not_fit_keeps_cursor_lock_and_marks(s: Scene) -> Call:
    s.has(b"a", b"longer", b"longer still")
    s.did(s.get(G.BROWSE_FIRST | G.MARK_BROWSE_HANDLE))
    s.did(s.get(G.BROWSE_NEXT | G.LOCK))
    return lambda: s.get(G.BROWSE_NEXT, room=1)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def a_lock_that_does_not_fit(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.BROWSE_FIRST | G.LOCK, room=1)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def a_mark_that_does_not_fit(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.BROWSE_FIRST | G.MARK_BROWSE_HANDLE, room=1)


@provokes(MQRC.TRUNCATED_MSG_FAILED, WARNING)
def what_is_locked_under_the_cursor_does_not_fit(s: Scene) -> Call:
    s.has()
    s.did(s.get(G.BROWSE_FIRST | G.LOCK))
    return lambda: s.get(G.BROWSE_MSG_UNDER_CURSOR, room=1)


@provokes(MQRC.TRUNCATED_MSG_ACCEPTED, WARNING)
def a_get_that_is_cut(s: Scene) -> Call:
    s.has()
    return lambda: s.get(G.ACCEPT_TRUNCATED_MSG, room=1)


@provokes(MQRC.NO_MSG_LOCKED, WARNING)
def nothing_is_locked(s: Scene) -> Call:
    s.has()
    s.did(s.get(G.BROWSE_FIRST))
    return lambda: s.get(G.UNLOCK)


@provokes(MQRC.MSG_MARKED_BROWSE_CO_OP)
def one_of_the_set_has_marked_it(s: Scene) -> Call:
    s.has()
    s.handle = s.open(options=BOTH | OpenOption.CO_OP)
    s.did(s.get(G.BROWSE_FIRST | G.MARK_BROWSE_CO_OP))
    return lambda: s.get(G.BROWSE_FIRST | G.MARK_BROWSE_CO_OP)


@provokes(MQRC.MATCH_OPTIONS_ERROR)
def an_unknown_match_option(s: Scene) -> Call:
    s.has()
    return lambda: s.get(match_options=1 << 20)


@provokes(MQRC.MATCH_OPTIONS_ERROR)
def inside_a_group_another_message_is_named(s: Scene) -> Call:
    s.has_group((1, 0, MIG), (2, 0, MIG), (3, 0, LMIG))
    s.did(s.get(LOGICAL))
    by = int(MatchOption.MATCH_MSG_SEQ_NUMBER)
    return lambda: s.get(LOGICAL, MQMD(version=2, msg_seq_number=3), match_options=by)


@provokes(MQRC.MATCH_OPTIONS_ERROR)
def inside_a_group_the_next_message_has_another_identifier(s: Scene) -> Call:
    s.has_group((1, 0, MIG), (2, 0, LMIG), correl_id=b"A" * 24)
    s.did(s.get(LOGICAL))
    return lambda: s.get(LOGICAL, MQMD(version=2, correl_id=b"B" * 24))


@provokes(MQRC.MSG_SEQ_NUMBER_ERROR)
def a_sequence_number_that_nothing_has(s: Scene) -> Call:
    s.has()
    return lambda: s.get(md=MQMD(version=2, msg_seq_number=0), match_options=int(MatchOption.MATCH_MSG_SEQ_NUMBER))


@provokes(MQRC.OFFSET_ERROR)
def an_offset_that_nothing_has(s: Scene) -> Call:
    s.has()
    return lambda: s.get(md=MQMD(version=2, offset=-1), match_options=int(MatchOption.MATCH_OFFSET))
