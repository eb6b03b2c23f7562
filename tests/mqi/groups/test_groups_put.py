"""MQPUT of groups and segments: the fields and refusals of logical order, and splitting by the queue manager."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import MQIError, Queue, verbs
from sharedq.mqi.constants import MQCC, MQRC, GetOption, IntSelector, OpenOption, PutOption
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from tests.support.groups import (
    BOTH,
    LMIG,
    LOGICAL,
    LSEG,
    MAY_SEGMENT,
    MIG,
    SEG,
    drain,
    place,
    put_logical,
    put_member,
    take,
)
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

SYNCPOINT = int(PutOption.SYNCPOINT)


def refused(queue: Queue, flags: int = 0, *, options: int = 0, **fields: int) -> MQRC:
    with pytest.raises(MQIError) as caught:
        put_logical(queue, b"refused", flags, options=options, **fields)
    return caught.value.reason


def depth(queue: Queue) -> int:
    return int(queue.inquire(IntSelector.CURRENT_Q_DEPTH)[IntSelector.CURRENT_Q_DEPTH])


@pytest.mark.rule("mqi/put-groups", "A put with LOGICAL_ORDER makes GroupId and MsgSeqNumber, and Offset for segments.")
@pytest.mark.parametrize("is_shared", [True, False])
def test_logical_order_generates_the_group_and_numbers_its_messages(group: TestGroup, is_shared: bool) -> None:
    group.define_shared("Q") if is_shared else group.define_private("QM1", "Q")
    queue = group.connect().open("Q", BOTH)
    put = [put_logical(queue, b"%d" % n, flags) for n, flags in enumerate((MIG, MIG, LMIG))]
    put.append(put_logical(queue, b"next", LMIG))

    assert put[0].group_id == put[1].group_id == put[2].group_id != put[3].group_id
    assert [md.msg_seq_number for md in put] == [1, 2, 3, 1]
    assert len({md.msg_id for md in put}) == 4
    got = [queue.get() for _ in range(4)]
    assert [message.md.group_id for message in got] == [md.group_id for md in put]
    assert [place(message) for message in got] == [(1, 0, MIG), (2, 0, MIG), (3, 0, LMIG | MIG), (1, 0, LMIG | MIG)]


@pytest.mark.rule("mqi/put-groups", "A put with LOGICAL_ORDER makes GroupId and MsgSeqNumber, and Offset for segments.")
def test_segments_in_logical_order_follow_each_other(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    for body, flags in ((b"abc", SEG), (b"de", SEG), (b"f", LSEG)):
        put_logical(queue, body, flags)
    put_logical(queue, b"gh", LMIG | SEG)
    put_logical(queue, b"i", LMIG | LSEG)
    assert [place(queue.get())[:2] for _ in range(5)] == [(1, 0), (1, 3), (1, 5), (1, 0), (1, 2)]


@pytest.mark.rule(
    "mqi/put-groups", "A message in no group gets a null GroupId and MsgSeqNumber 1, whatever the descriptor says."
)
def test_a_message_in_no_group_has_no_group_fields(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    md = queue.put(b"x", MQMD(version=2, group_id=b"g" * 24, msg_seq_number=7, offset=3))
    assert (md.group_id, md.msg_seq_number, md.offset) == (NULL_ID, 1, 0)
    got = queue.get().md
    assert (got.group_id, got.msg_seq_number, got.offset, got.msg_flags) == (NULL_ID, 1, 0, 0)


@pytest.mark.rule(
    "mqi/put-groups",
    "A put with LOGICAL_ORDER that does not continue its group is refused (2241, 2242) and changes nothing.",
)
def test_a_put_that_breaks_its_group_is_refused_and_changes_nothing(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_logical(queue, b"1", MIG, persistence=1)
    assert refused(queue, 0, persistence=1) == MQRC.INCOMPLETE_GROUP
    assert refused(queue, MIG, persistence=0) == MQRC.INCONSISTENT_PERSISTENCE
    assert refused(queue, MIG, persistence=1, options=SYNCPOINT) == MQRC.INCONSISTENT_UOW
    put_logical(queue, b"2a", LMIG | SEG, persistence=1)
    assert refused(queue, LMIG, persistence=1) == MQRC.INCOMPLETE_MSG
    assert refused(queue, SEG, persistence=1) == MQRC.INCOMPLETE_MSG
    put_logical(queue, b"2b", LMIG | LSEG, persistence=1)
    assert drain(queue) == [b"1", b"2a", b"2b"]


@pytest.mark.rule(
    "mqi/put-groups", "Without LOGICAL_ORDER, a put that does not continue a group is a warning and the message is put."
)
def test_without_logical_order_that_is_a_warning_and_the_message_is_put(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    put_logical(queue, b"1", MIG)
    md, pmo = MQMD(version=2), MQPMO()
    assert verbs.mqput(connection.connection, queue.handle, md, pmo, b"2") == (MQCC.WARNING, MQRC.INCOMPLETE_GROUP)
    assert verbs.mqput(connection.connection, queue.handle, md, pmo, b"3") == (MQCC.OK, MQRC.NONE)
    assert drain(queue) == [b"1", b"2", b"3"]


@pytest.mark.rule(
    "mqi/put-groups", "A group field of the descriptor that is out of range is refused with 2249 to 2253."
)
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 1, "msg_flags": MIG}, MQRC.WRONG_MD_VERSION),
        ({"version": 2, "msg_flags": 1 << 5}, MQRC.MSG_FLAGS_ERROR),
    ],
)
def test_a_descriptor_that_cannot_be_in_logical_order(group: TestGroup, fields: dict[str, Any], reason: MQRC) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    with pytest.raises(MQIError) as caught:
        queue.put(b"x", MQMD(**fields), options=PutOption.LOGICAL_ORDER)
    assert caught.value.reason == reason
    assert depth(queue) == 0


@pytest.mark.rule(
    "mqi/put-groups", "A group field of the descriptor that is out of range is refused with 2249 to 2253."
)
@pytest.mark.parametrize(
    ("fields", "body", "reason"),
    [
        ({"msg_flags": MIG, "msg_seq_number": 0}, b"x", MQRC.MSG_SEQ_NUMBER_ERROR),
        ({"msg_flags": MIG, "msg_seq_number": 1_000_000_000}, b"x", MQRC.MSG_SEQ_NUMBER_ERROR),
        ({"msg_flags": SEG, "offset": -1}, b"x", MQRC.OFFSET_ERROR),
        ({"msg_flags": SEG, "offset": 999_999_999}, b"x", MQRC.OFFSET_ERROR),
        ({"msg_flags": SEG}, b"", MQRC.SEGMENT_LENGTH_ZERO),
        ({"msg_flags": SEG, "msg_type": 4, "original_length": 0}, b"x", MQRC.ORIGINAL_LENGTH_ERROR),
    ],
)
def test_a_position_that_cannot_be(group: TestGroup, fields: dict[str, Any], body: bytes, reason: MQRC) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    with pytest.raises(MQIError) as caught:
        queue.put(body, MQMD(version=2, group_id=b"g" * 24, **fields))
    assert caught.value.reason == reason
    assert depth(queue) == 0


def test_mqput1_knows_no_logical_order(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect().connection
    pmo = MQPMO(options=int(PutOption.LOGICAL_ORDER))
    outcome = verbs.mqput1(connection, MQOD(object_name=b"Q"), MQMD(version=2, msg_flags=MIG), pmo, b"x")
    assert outcome == (MQCC.FAILED, MQRC.OPTIONS_ERROR)


@pytest.mark.rule("mqi/put-groups", "A group that began in a unit of work that was backed out begins anew.")
def test_a_group_begun_in_a_backed_out_unit_of_work_begins_again(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    first = put_logical(queue, b"1", MIG, options=SYNCPOINT)
    put_logical(queue, b"2", MIG, options=SYNCPOINT)
    connection.backout()
    again = put_logical(queue, b"1", MIG, options=SYNCPOINT)
    assert (again.msg_seq_number, again.group_id == first.group_id) == (1, False)
    connection.commit()
    assert put_logical(queue, b"2", LMIG, options=SYNCPOINT).msg_seq_number == 2
    connection.backout()
    assert put_logical(queue, b"2", LMIG, options=SYNCPOINT).msg_seq_number == 2
    connection.commit()
    assert drain(queue, LOGICAL) == [b"1", b"2"]


@pytest.mark.rule("mqi/spanning", "After a restart, a group goes on where the status message says.")
def test_a_group_goes_on_where_its_status_says(group: TestGroup) -> None:
    """IBM's example: the first put after a restart names its place, the next ones are in logical order again."""
    group.define_shared("Q")
    before = group.connect().open("Q", BOTH)
    status = put_logical(before, b"1", MIG)
    after = group.connect().open("Q", BOTH)
    md = MQMD(version=2, group_id=status.group_id, msg_seq_number=status.msg_seq_number + 1, msg_flags=MIG)
    after.put(b"2", md)
    assert put_logical(after, b"3", LMIG).msg_seq_number == 3
    assert drain(after, LOGICAL) == [b"1", b"2", b"3"]


def test_asynchronous_puts_keep_logical_order(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    later = SYNCPOINT | int(PutOption.ASYNC_RESPONSE)
    for number in range(3):
        put_logical(queue, b"%d" % number, LMIG if number == 2 else MIG, options=later)
    connection.commit()
    assert drain(queue, LOGICAL | GetOption.ALL_MSGS_AVAILABLE) == [b"0", b"1", b"2"]


def test_many_at_once_keep_logical_order(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    messages = [(MQMD(version=2, msg_flags=LMIG if n == 149 else MIG), b"%d" % n) for n in range(150)]
    put = queue.put_many(messages, options=PutOption.LOGICAL_ORDER)
    assert [md.msg_seq_number for md in put] == list(range(1, 151))
    assert drain(queue, LOGICAL) == [b"%d" % n for n in range(150)]


@pytest.mark.rule("mqi/put-groups", "MQCLOSE warns of a group in logical order that was not finished.")
@pytest.mark.parametrize("options", [0, int(LOGICAL)])
def test_close_warns_of_an_unfinished_group_put_in_logical_order(group: TestGroup, options: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", OpenOption.OUTPUT)
    if options:
        put_logical(queue, b"1", MIG)
    else:
        put_member(queue, b"g", 1, b"1")
    assert queue.close() == (MQRC.INCOMPLETE_GROUP if options else MQRC.NONE)


# -- segmentation by the queue manager -----------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/put-groups",
    "SEGMENTATION_ALLOWED splits a message that MAXMSGL does not hold into segments of multiples of 16 bytes.",
)
@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("options", [0, SYNCPOINT, SYNCPOINT | int(PutOption.ASYNC_RESPONSE)])
def test_a_message_longer_than_maxmsgl_goes_in_segments(group: TestGroup, persistence: int, options: int) -> None:
    group.define_shared("Q", max_msg_length=40)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    body = bytes(range(100))
    md = queue.put(body, MQMD(version=2, msg_flags=MAY_SEGMENT, persistence=persistence), options=options)
    connection.commit()
    assert depth(queue) == 4
    assert (md.msg_seq_number, md.offset, md.msg_flags) == (1, 0, MAY_SEGMENT)
    whole = queue.get(GetOption.BROWSE_FIRST | GetOption.COMPLETE_MSG)
    assert (whole.body, whole.md.group_id, whole.md.persistence) == (body, md.group_id, persistence)
    pieces = [queue.get() for _ in range(4)]
    assert [(place(piece)[1], len(piece.body)) for piece in pieces] == [(0, 32), (32, 32), (64, 32), (96, 4)]
    assert [piece.segment_status for piece in pieces] == [b"S", b"S", b"S", b"L"]
    assert {piece.segmentation for piece in pieces} == {b"A"}
    assert len({piece.md.msg_id for piece in pieces}) == 4


def test_a_message_that_may_not_be_segmented_is_refused(group: TestGroup) -> None:
    group.define_shared("Q", max_msg_length=40)
    queue = group.connect().open("Q", BOTH)
    with pytest.raises(MQIError) as caught:
        queue.put(bytes(41), MQMD(version=2, msg_flags=MIG))
    assert caught.value.reason == MQRC.MSG_TOO_BIG_FOR_Q
    group.repository("QM1").alter("QLOCAL", "Q", {"max_msg_length": 15})
    with pytest.raises(MQIError) as caught:
        queue.put(bytes(41), MQMD(version=2, msg_flags=MAY_SEGMENT))
    assert caught.value.reason == MQRC.MSG_TOO_BIG_FOR_Q
    group.repository("QM1").alter("QLOCAL", "Q", {"max_msg_length": 16})
    queue.put(bytes(41), MQMD(version=2, msg_flags=MAY_SEGMENT))
    assert depth(queue) == 3


@pytest.mark.rule("mqi/put-groups", "A persistent message is split only in a unit of work.")
def test_a_persistent_message_is_split_in_a_unit_of_work_only(group: TestGroup) -> None:
    """One for this put, unless another one is under way that does not contain the put (2255)."""
    group.define_shared("Q", max_msg_length=16)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"other", options=SYNCPOINT)
    with pytest.raises(MQIError) as caught:
        queue.put(bytes(40), MQMD(version=2, msg_flags=MAY_SEGMENT, persistence=1))
    assert caught.value.reason == MQRC.UOW_NOT_AVAILABLE
    queue.put(bytes(40), MQMD(version=2, msg_flags=MAY_SEGMENT, persistence=0))
    connection.backout()
    queue.put(bytes(40), MQMD(version=2, msg_flags=MAY_SEGMENT, persistence=1))
    assert depth(queue) == 6


@pytest.mark.rule("mqi/put-groups", "Either all segments of a message are put, or none.")
@pytest.mark.parametrize("options", [0, SYNCPOINT])
def test_all_segments_fit_or_none_is_put(group: TestGroup, options: int) -> None:
    group.define_shared("Q", max_msg_length=16, max_depth=3)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    with pytest.raises(MQIError) as caught:
        queue.put(bytes(64), MQMD(version=2, msg_flags=MAY_SEGMENT), options=options)
    assert caught.value.reason == MQRC.Q_FULL
    assert depth(queue) == 0
    queue.put(bytes(48), MQMD(version=2, msg_flags=MAY_SEGMENT), options=options)
    connection.commit()
    assert take(queue, GetOption.COMPLETE_MSG) == bytes(48)


@pytest.mark.rule("mqi/put-groups", "Either all segments of a message are put, or none.")
def test_many_segments_that_do_not_fit_leave_the_unit_of_work_unchanged(group: TestGroup) -> None:
    group.define_shared("Q", max_msg_length=16, max_depth=201)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"kept", options=SYNCPOINT)
    with pytest.raises(MQIError) as caught:
        queue.put(bytes(16 * 201), MQMD(version=2, msg_flags=MAY_SEGMENT), options=SYNCPOINT)
    assert caught.value.reason == MQRC.Q_FULL
    connection.commit()
    assert drain(queue) == [b"kept"]


def test_many_segments_are_put_in_their_own_unit_of_work(group: TestGroup) -> None:
    group.define_shared("Q", max_msg_length=16)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    body = bytes(range(256)) * 80
    queue.put(body, MQMD(version=2, msg_flags=MAY_SEGMENT, persistence=1))
    assert depth(queue) == 1280
    assert queue.get(GetOption.COMPLETE_MSG | GetOption.SYNCPOINT).body == body
    connection.backout()
    assert depth(queue) == 1280
    assert queue.get(GetOption.COMPLETE_MSG | GetOption.SYNCPOINT).body == body
    connection.commit()
    assert depth(queue) == 0


@pytest.mark.rule(
    "mqi/put-groups",
    "SEGMENTATION_ALLOWED splits a message that MAXMSGL does not hold into segments of multiples of 16 bytes.",
)
def test_a_segment_is_split_further_where_it_may_be(group: TestGroup) -> None:
    group.define_shared("Q", max_msg_length=32)
    queue = group.connect().open("Q", BOTH)
    put_logical(queue, b"a" * 50, SEG | MAY_SEGMENT)
    put_logical(queue, b"b" * 10, LSEG | MAY_SEGMENT)
    assert depth(queue) == 3
    assert take(queue, GetOption.COMPLETE_MSG) == b"a" * 50 + b"b" * 10
