"""A put of many in logical order, outside a unit of work, is refused halfway: the stored messages count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sharedq import MQIError, Queue
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from tests.support.groups import BOTH, LMIG, LSEG, MIG, SEG, put_logical
from tests.support.members import TestGroup

LOGICAL_ORDER = int(PutOption.LOGICAL_ORDER)
#: One call stores a hundred.
ROOM, COUNT = 150, 250
#: The queue, how to make room on it, and the number of messages there.
Scene = tuple[Queue, Callable[[], object], Callable[[], int]]


@pytest.fixture(params=["here", "another manager's, by the conventional way"])
def scene(group: TestGroup, request: pytest.FixtureRequest) -> Scene:
    repository = group.repository("QM1")
    if request.param == "here":
        group.define_private("QM1", "Q", max_depth=ROOM)
        queue, name = group.connect().open("Q", BOTH), "Q"
    else:
        group.add_member("QM2")
        group.define_private("QM2", "IN")
        repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_msg_length": 1})
        group.define_private("QM1", "QM2", usage="XMITQ", max_depth=ROOM)
        queue, name = group.connect().open("IN", OpenOption.OUTPUT, qmgr_name="QM2"), "QM2"
    return (
        queue,
        lambda: repository.alter("QLOCAL", name, {"max_depth": COUNT + 1}),
        lambda: repository.queue_status(name).depth,
    )


def refused(queue: Queue, messages: list[tuple[MQMD, bytes]]) -> MQRC:
    with pytest.raises(MQIError) as caught:
        queue.put_many(messages, options=LOGICAL_ORDER)
    return caught.value.reason


@pytest.mark.rule(
    "mqi/put-groups",
    "If a put of many messages outside a unit of work is refused in the middle, the group continues after it.",
)
def test_the_group_goes_on_after_the_messages_that_were_put(scene: Scene) -> None:
    queue, make_room, depth = scene
    messages = [(MQMD(version=2, msg_flags=MIG), b"%03d" % n) for n in range(COUNT)]
    assert refused(queue, messages) == MQRC.Q_FULL
    assert depth() == 100
    put = [md for md, _ in messages[:100]]
    assert len({md.msg_id for md in put} - {NULL_ID}) == 100
    assert [md.msg_seq_number for md in put] == list(range(1, 101))
    assert all(md.put_date and md.put_time for md in put)
    assert [md for md, _ in messages[100:]] == [MQMD(version=2, msg_flags=MIG)] * 150

    make_room()
    rest = queue.put_many(messages[100:], options=LOGICAL_ORDER)
    last = put_logical(queue, b"end", LMIG)
    assert {md.group_id for md in (*put, *rest, last)} == {put[0].group_id}
    assert [md.msg_seq_number for md in (*rest, last)] == list(range(101, COUNT + 2))
    assert depth() == COUNT + 1


@pytest.mark.rule(
    "mqi/put-groups",
    "If a put of many messages outside a unit of work is refused in the middle, the group continues after it.",
)
def test_where_a_group_ended_in_what_was_put_the_next_one_goes_on(scene: Scene) -> None:
    """Groups of eighty. The second one is being put when the put is refused."""
    queue, make_room, _ = scene
    messages = [(MQMD(version=2, msg_flags=MIG if (n + 1) % 80 else LMIG), b"%03d" % n) for n in range(COUNT)]
    assert refused(queue, messages) == MQRC.Q_FULL
    make_room()
    on = put_logical(queue, b"on", MIG)
    assert (on.group_id, on.msg_seq_number) == (messages[99][0].group_id, 21)
    assert messages[79][0].group_id != on.group_id


@pytest.mark.rule(
    "mqi/put-groups",
    "If a put of many messages outside a unit of work is refused in the middle, the group continues after it.",
)
def test_the_logical_message_goes_on_after_the_segments_that_were_put(scene: Scene) -> None:
    queue, make_room, _ = scene
    assert refused(queue, [(MQMD(version=2, msg_flags=SEG), b"123") for _ in range(COUNT)]) == MQRC.Q_FULL
    make_room()
    last = put_logical(queue, b"end", LSEG)
    assert (last.msg_seq_number, last.offset) == (1, 300)
    assert queue.close() == MQRC.NONE
