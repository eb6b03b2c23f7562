"""Every reason code that the seeds and the issue name for MQGET, MQPUT and MQCMIT, provoked by a small scene.

A call that fails, or that ends with 2080, changes nothing: neither in Redis nor in what the handle and its connection
know. Where a document says that it does change something, the scene says what.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.handle import Handle
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption, OpenOption, PutOption, Report
from sharedq.mqi.structures import MQGMO, MQMD, MQPMO
from sharedq.objects.definitions import QueueAlias
from tests.support.groups import BOTH, LMIG, LSEG, MIG, SEG
from tests.support.members import TestGroup
from tests.support.scenes import contents

ROOT = Path(__file__).parents[2]
G, P = GetOption, PutOption
LOGICAL, COMPLETE = G.LOGICAL_ORDER, G.COMPLETE_MSG
GROUP_ID = b"G" * 24
FAILED, WARNING = MQCC.FAILED, MQCC.WARNING
Call = Callable[[], tuple[MQCC, MQRC]]

#: What seeds 000 to 003 name, and what the issue names beside that.
NAMED = {
    *(2016, 2033, 2041, 2079, 2080, 2161, 2209, 2241, 2242, 2243, 2244, 2245, 2246, 2255, 2256, 2257, 2259),
    *(2003, 2024, 2046, 2185, 2249, 2250, 2251, 2252, 2253),
}
#: What the scripts of these calls can answer, and no scene here provokes.
ELSEWHERE = {
    2009: "tests/faults/test_lost_reply.py: outcomes that are unknown, and owners that are shut out",
    2219: "nobody gets it: calls of one connection take turns",
}


@dataclass
class Scene:
    """A queue, and a handle for everything."""

    group: TestGroup
    name: str = "Q"

    def __post_init__(self) -> None:
        self.connection = self.group.connect().connection
        self.handle = self.open()

    def open(self, name: str = "", options: int = BOTH) -> Handle:
        """A handle of this program."""
        return QueueManagerConnection(self.connection).open(name or self.name, options).handle

    def get(
        self, options: int = 0, md: MQMD | None = None, *, room: int = 100, at: Handle | None = None, **gmo: Any
    ) -> tuple[MQCC, MQRC]:
        """MQGET."""
        asked = MQGMO(**{"version": 3, "options": int(options), **gmo})
        _, _, completion, reason = verbs.mqget(self.connection, at or self.handle, md or MQMD(version=2), asked, room)
        return completion, reason

    def put(self, body: bytes = b"body", options: int = 0, *, at: Handle | None = None, **md: Any) -> tuple[MQCC, MQRC]:
        """MQPUT."""
        given = MQMD(**{"version": 2, **md})
        return verbs.mqput(self.connection, at or self.handle, given, MQPMO(options=int(options)), body)

    def has(self, *bodies: bytes, **md: Any) -> None:
        """Messages are there."""
        for body in bodies or (b"body",):
            assert self.put(body, **md) == (MQCC.OK, MQRC.NONE)

    def has_group(self, *members: tuple[int, int, int], body: bytes = b"body", **md: Any) -> None:
        """Members of one group: MsgSeqNumber, Offset, MsgFlags."""
        for seq, offset, flags in members:
            self.has(body, group_id=GROUP_ID, msg_seq_number=seq, offset=offset, msg_flags=flags, **md)

    def did(self, outcome: tuple[MQCC, MQRC]) -> None:
        """What leads to the scene worked."""
        assert outcome == (MQCC.OK, MQRC.NONE)


@dataclass(frozen=True)
class Case:
    """A scene; ``changes`` are the keys of the queue that a document lets the call change, by their letter."""

    reason: MQRC
    comp_code: MQCC
    scene: Callable[[Scene], Call]
    changes: str = ""
    changes_handle: bool = False

    @property
    def processes(self) -> bool:
        """Whether the call did what was asked."""
        return self.comp_code == WARNING and self.reason not in (MQRC.TRUNCATED_MSG_FAILED, MQRC.NO_MSG_LOCKED)


CASES: dict[str, Case] = {}
S = TypeVar("S", bound=Callable[[Scene], Call])


def provokes(reason: MQRC, comp_code: MQCC = FAILED, changes: str = "", *, handle: bool = False) -> Callable[[S], S]:
    def note(scene: S) -> S:
        CASES[f"{int(reason)}-{scene.__name__}"] = Case(reason, comp_code, scene, changes, handle)
        return scene

    return note


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
    """A queue that is open cannot be deleted; the agents' own way of getting has no handle."""
    handle = copy(s.handle)
    s.did(verbs.mqclose(s.connection, s.handle))
    s.handle = handle
    handle.is_closed = False
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


# -- MQGET: groups, segments, units of work ------------------------------------------------------------------------


@provokes(MQRC.INCOMPLETE_GROUP)
def under_the_cursor_is_not_what_goes_on_with_the_group(s: Scene) -> Call:
    s.has_group((1, 0, MIG), (2, 0, LMIG))
    s.has(b"alone", priority=9)
    s.did(s.get(G.BROWSE_FIRST))
    s.did(s.get(LOGICAL, MQMD(version=2, group_id=GROUP_ID), match_options=int(MatchOption.MATCH_GROUP_ID)))
    return lambda: s.get(LOGICAL | G.MSG_UNDER_CURSOR)


@provokes(MQRC.INCOMPLETE_GROUP, WARNING)
def a_group_is_left(s: Scene) -> Call:
    s.has_group((1, 0, MIG), (2, 0, LMIG), priority=9)
    s.has(b"alone", correl_id=b"C" * 24)
    s.did(s.get(LOGICAL))
    return lambda: s.get(md=MQMD(version=2, correl_id=b"C" * 24))


@provokes(MQRC.INCOMPLETE_MSG, WARNING)
def a_logical_message_is_left(s: Scene) -> Call:
    s.has_group((1, 0, SEG), (1, 4, LSEG), priority=9)
    s.has(b"alone", correl_id=b"C" * 24)
    s.did(s.get(LOGICAL))
    return lambda: s.get(md=MQMD(version=2, correl_id=b"C" * 24))


@provokes(MQRC.INCOMPLETE_MSG)
def under_the_cursor_is_not_what_goes_on_with_the_message(s: Scene) -> Call:
    s.has_group((1, 0, SEG), (1, 4, LSEG))
    s.has(b"alone", priority=9)
    s.did(s.get(G.BROWSE_FIRST))
    s.did(s.get(LOGICAL, MQMD(version=2, group_id=GROUP_ID), match_options=int(MatchOption.MATCH_GROUP_ID)))
    return lambda: s.get(LOGICAL | G.MSG_UNDER_CURSOR)


@provokes(MQRC.INCONSISTENT_CCSIDS, WARNING)
def segments_of_two_character_sets(s: Scene) -> Call:
    s.has_group((1, 0, SEG), coded_char_set_id=1208)
    s.has_group((1, 4, LSEG), coded_char_set_id=500)
    return lambda: s.get(COMPLETE)


@provokes(MQRC.INCONSISTENT_ENCODINGS, WARNING)
def segments_of_two_encodings(s: Scene) -> Call:
    s.has_group((1, 0, SEG), encoding=0x111)
    s.has_group((1, 4, LSEG), encoding=0x222)
    return lambda: s.get(COMPLETE)


@provokes(MQRC.INCONSISTENT_UOW)
def a_group_begun_outside_a_unit_of_work(s: Scene) -> Call:
    s.has_group((1, 0, MIG), (2, 0, LMIG))
    s.did(s.get(LOGICAL))
    return lambda: s.get(LOGICAL | G.SYNCPOINT)


@provokes(MQRC.INCONSISTENT_UOW)
def a_group_begun_inside_a_unit_of_work_whose_next_is_not_persistent(s: Scene) -> Call:
    s.has_group((1, 0, MIG), persistence=1)
    s.has_group((2, 0, LMIG), persistence=0)
    s.did(s.get(LOGICAL | G.SYNCPOINT_IF_PERSISTENT))
    return lambda: s.get(LOGICAL | G.SYNCPOINT_IF_PERSISTENT)


@provokes(MQRC.INVALID_MSG_UNDER_CURSOR)
def the_middle_of_a_message_under_the_cursor(s: Scene) -> Call:
    s.has_group((1, 4, LSEG), (1, 0, SEG))
    s.did(s.get(G.BROWSE_FIRST))
    return lambda: s.get(COMPLETE | G.MSG_UNDER_CURSOR)


@provokes(MQRC.UOW_NOT_AVAILABLE)
def persistent_segments_beside_a_unit_of_work(s: Scene) -> Call:
    s.has_group((1, 0, SEG), (1, 4, LSEG), persistence=1)
    s.did(s.put(options=P.SYNCPOINT))
    return lambda: s.get(COMPLETE)


@provokes(MQRC.WRONG_GMO_VERSION)
def logical_order_in_the_first_version_of_the_options(s: Scene) -> Call:
    s.has()
    return lambda: s.get(LOGICAL, version=1)


@provokes(MQRC.WRONG_MD_VERSION)
def logical_order_in_the_first_version_of_the_descriptor(s: Scene) -> Call:
    s.has()
    return lambda: s.get(LOGICAL, MQMD(version=1))


@provokes(MQRC.INCONSISTENT_BROWSE)
def a_browse_that_goes_on_in_another_order(s: Scene) -> Call:
    s.has(b"1", b"2")
    s.did(s.get(G.BROWSE_FIRST | LOGICAL))
    return lambda: s.get(G.BROWSE_NEXT)


@provokes(MQRC.SYNCPOINT_LIMIT_REACHED)
def a_get_too_many_for_a_unit_of_work(s: Scene) -> Call:
    limit_units(s)
    s.has(b"1", b"2")
    s.did(s.get(G.SYNCPOINT))
    return lambda: s.get(G.SYNCPOINT)


@provokes(MQRC.SYNCPOINT_LIMIT_REACHED)
def a_put_too_many_for_a_unit_of_work(s: Scene) -> Call:
    limit_units(s)
    s.did(s.put(options=P.SYNCPOINT))
    return lambda: s.put(options=P.SYNCPOINT)


@provokes(MQRC.SYNCPOINT_LIMIT_REACHED)
def segments_too_many_for_a_unit_of_work(s: Scene) -> Call:
    limit_units(s)
    s.has_group((1, 0, SEG), (1, 4, LSEG))
    s.did(s.get(G.BROWSE_FIRST | COMPLETE | G.LOCK))
    return lambda: s.get(COMPLETE | G.SYNCPOINT)


@provokes(MQRC.SYNCPOINT_LIMIT_REACHED)
def a_message_to_be_split_into_too_many_for_a_unit_of_work(s: Scene) -> Call:
    limit_units(s)
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_msg_length": 32})
    return lambda: s.put(bytes(64), P.SYNCPOINT, msg_flags=1)


@provokes(MQRC.SECOND_MARK_NOT_ALLOWED)
def a_second_message_that_is_to_skip_the_backout(s: Scene) -> Call:
    s.has(b"1", b"2")
    s.did(s.get(G.SYNCPOINT | G.MARK_SKIP_BACKOUT))
    return lambda: s.get(G.SYNCPOINT | G.MARK_SKIP_BACKOUT)


@provokes(MQRC.BACKED_OUT, changes="aqrig", handle=True)
def a_commit_of_an_asynchronous_put_that_failed(s: Scene) -> Call:
    """Its unit of work ends: what it got is back."""
    s.group.define_shared("FULL", max_depth=1)
    full = s.open("FULL")
    s.did(s.put(at=full))
    s.has()
    s.did(s.get(G.SYNCPOINT))
    s.did(s.put(options=P.SYNCPOINT | P.ASYNC_RESPONSE, at=full))
    return lambda: verbs.mqcmit(s.connection)


def limit_units(s: Scene) -> None:
    s.connection.max_uncommitted = 1


# -- MQPUT ---------------------------------------------------------------------------------------------------------


@provokes(MQRC.OPTIONS_ERROR)
def put_options_that_contradict(s: Scene) -> Call:
    return lambda: s.put(options=P.SYNCPOINT | P.NO_SYNCPOINT)


@provokes(MQRC.NOT_OPEN_FOR_OUTPUT)
def a_put_by_a_handle_for_input(s: Scene) -> Call:
    handle = s.open(options=OpenOption.INPUT_SHARED)
    return lambda: s.put(at=handle)


@provokes(MQRC.PUT_INHIBITED)
def puts_are_inhibited(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"put": "DISABLED"})
    return s.put


@provokes(MQRC.Q_FULL)
def the_queue_is_full(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_depth": 1})
    s.has()
    return s.put


@provokes(MQRC.Q_FULL)
def the_queue_is_full_for_a_member_of_a_group(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_depth": 1})
    s.has()
    return lambda: s.put(options=P.LOGICAL_ORDER, msg_flags=MIG)


@provokes(MQRC.MSG_TOO_BIG_FOR_Q)
def it_is_too_long(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_msg_length": 3})
    return s.put


FIELDS: tuple[tuple[MQRC, dict[str, Any]], ...] = (
    (MQRC.EXPIRY_ERROR, {"expiry": 0}),
    (MQRC.MD_ERROR, {"feedback": 1 << 40}),
    (MQRC.MISSING_REPLY_TO_Q, {"msg_type": 1}),
    (MQRC.MSG_TYPE_ERROR, {"msg_type": 0}),
    (MQRC.PERSISTENCE_ERROR, {"persistence": 7}),
    (MQRC.PRIORITY_ERROR, {"priority": -2}),
    (MQRC.REPORT_OPTIONS_ERROR, {"report": 0x1000_0000, "reply_to_q": b"R"}),
    (MQRC.REPORT_OPTIONS_ERROR, {"report": int(Report.PASS_MSG_ID) | 0x0004_0000}),
    (MQRC.MSG_FLAGS_ERROR, {"msg_flags": 1 << 10}),
    (MQRC.MSG_SEQ_NUMBER_ERROR, {"msg_flags": MIG, "msg_seq_number": 0}),
    (MQRC.OFFSET_ERROR, {"msg_flags": SEG, "offset": -1}),
    (MQRC.ORIGINAL_LENGTH_ERROR, {"msg_flags": SEG, "msg_type": 4, "original_length": 1}),
)
for number, (refused, given) in enumerate(FIELDS):

    def a_field_that_cannot_be(s: Scene, given: dict[str, Any] = given) -> Call:
        return lambda: s.put(**given)

    CASES[f"{int(refused)}-field-{number}"] = Case(refused, FAILED, a_field_that_cannot_be)


@provokes(MQRC.SEGMENT_LENGTH_ZERO)
def an_empty_segment(s: Scene) -> Call:
    return lambda: s.put(b"", group_id=GROUP_ID, msg_flags=SEG)


@provokes(MQRC.PRIORITY_EXCEEDS_MAXIMUM, WARNING)
def a_priority_that_is_too_high(s: Scene) -> Call:
    return lambda: s.put(priority=10)


@provokes(MQRC.UNKNOWN_REPORT_OPTION, WARNING)
def a_report_option_that_nobody_knows(s: Scene) -> Call:
    return lambda: s.put(report=0x0000_0008)


def begin_a_group(s: Scene, **md: Any) -> None:
    s.did(s.put(options=P.LOGICAL_ORDER, msg_flags=MIG, **md))


@provokes(MQRC.INCOMPLETE_GROUP)
def a_message_that_does_not_go_on_with_the_group(s: Scene) -> Call:
    begin_a_group(s)
    return lambda: s.put(options=P.LOGICAL_ORDER)


@provokes(MQRC.INCOMPLETE_MSG)
def a_message_that_does_not_go_on_with_the_segments(s: Scene) -> Call:
    s.did(s.put(options=P.LOGICAL_ORDER, msg_flags=SEG))
    return lambda: s.put(options=P.LOGICAL_ORDER)


@provokes(MQRC.INCONSISTENT_PERSISTENCE)
def a_group_of_two_persistences(s: Scene) -> Call:
    begin_a_group(s, persistence=1)
    return lambda: s.put(options=P.LOGICAL_ORDER, msg_flags=LMIG, persistence=0)


@provokes(MQRC.INCONSISTENT_UOW)
def a_group_put_outside_and_inside(s: Scene) -> Call:
    begin_a_group(s)
    return lambda: s.put(options=P.LOGICAL_ORDER | P.SYNCPOINT, msg_flags=LMIG)


@provokes(MQRC.WRONG_MD_VERSION)
def a_put_in_logical_order_in_the_first_version(s: Scene) -> Call:
    return lambda: s.put(options=P.LOGICAL_ORDER, version=1)


@provokes(MQRC.UOW_NOT_AVAILABLE)
def a_persistent_message_to_be_split_beside_a_unit_of_work(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_msg_length": 32})
    s.did(s.put(options=P.SYNCPOINT))
    return lambda: s.put(bytes(100), msg_flags=1, persistence=1)


# -- the tests -----------------------------------------------------------------------------------------------------


def state_of(scene: Scene) -> tuple[object, ...]:
    """What the handle and its connection know that decides about later calls."""
    handle, unit = scene.handle, scene.connection.unit
    parts = {name: (part.operations, tuple(part.queues)) for name, part in unit.parts.items()}
    return (replace(handle.cursor), handle.order, unit.id, unit.messages, unit.marked, parts)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_reason_code_is_provoked_and_a_failed_call_changes_nothing(group: TestGroup, name: str) -> None:
    case = CASES[name]
    group.define_shared("Q")
    scene = Scene(group)
    call = case.scene(scene)
    before, state = contents(group), state_of(scene)
    assert call() == (case.comp_code, case.reason)
    if case.processes:
        return
    after = contents(group)
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    letters = {key.decode().partition("}:")[2][0] for key in changed if key.endswith(b":Q")}
    if not case.changes:
        assert not changed
    assert letters <= set(case.changes)
    if not case.changes_handle:
        assert state_of(scene) == state


def test_every_reason_that_the_documents_name_is_provoked() -> None:
    assert {MQRC(reason) for reason in NAMED} <= {case.reason for case in CASES.values()}


def test_every_reason_that_the_scripts_can_answer_is_provoked_or_explained() -> None:
    scripts = ROOT / "sharedq/lua/structure"
    answered = set[int]()
    for name in ("get", "get_grouped", "browse", "unlock", "put", "put_plain", "commit", "commit_put", "backout"):
        header = (scripts / f"{name}.lua").read_text().partition("]]")[0]
        reasons = re.search(r"^REASONS(.*?)^INVARIANTS", header, re.DOTALL | re.MULTILINE)
        assert reasons
        answered |= {int(code) for code in re.findall(r"\b2\d\d\d\b", reasons[1])}
    provoked = {int(case.reason) for case in CASES.values()}
    assert answered - provoked == set(ELSEWHERE)
