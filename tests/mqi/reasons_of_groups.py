"""The reasons of MQGET that concern groups, segments and units of work; and those of MQCMIT."""

from __future__ import annotations

from sharedq import verbs
from sharedq.mqi.constants import MQRC, MatchOption
from sharedq.mqi.structures import MQMD
from tests.mqi.reason_scenes import COMPLETE, GROUP_ID, LOGICAL, WARNING, Call, G, P, Scene, limit_units, provokes
from tests.support.groups import LMIG, LSEG, MIG, SEG


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
    """Its unit of work ends, so its message is back."""
    s.group.define_shared("FULL", max_depth=1)
    full = s.open("FULL")
    s.did(s.put(at=full))
    s.has()
    s.did(s.get(G.SYNCPOINT))
    s.did(s.put(options=P.SYNCPOINT | P.ASYNC_RESPONSE, at=full))
    return lambda: verbs.mqcmit(s.connection)
