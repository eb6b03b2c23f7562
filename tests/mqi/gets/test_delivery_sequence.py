"""The place of a message is decided when it arrives, by the queue's attributes at that moment."""

from __future__ import annotations

from itertools import product

import pytest

from sharedq.api import Queue
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import GetOption, IntSelector, MsgFlag, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.agents import transfer_call
from tests.support.groups import LMIG, LSEG, MIG, SEG, drain
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE
PRIORITY, FIFO = 0, 1


def put(queue: Queue, body: bytes, priority: int, *, options: int = 0) -> None:
    queue.put(body, MQMD(priority=priority), options=options)


def alter(group: TestGroup, **attributes: object) -> None:
    group.repository("QM1").alter("QLOCAL", "Q", attributes)


@pytest.mark.rule(
    "mqi/order",
    "MSGDLVSQ(FIFO) places every message as if its Priority were DEFPRTY; its descriptor keeps its Priority.",
)
@pytest.mark.parametrize("is_shared", [True, False])
def test_fifo_ignores_priorities_and_keeps_them(group: TestGroup, is_shared: bool) -> None:
    if is_shared:
        group.define_shared("Q", msg_delivery_sequence="FIFO", def_priority=4)
    else:
        group.define_private("QM1", "Q", msg_delivery_sequence="FIFO", def_priority=4)
    queue = group.connect().open("Q", BOTH)
    for body, priority in ((b"a", 0), (b"b", 9), (b"c", 4)):
        put(queue, body, priority)
    got = [queue.get() for _ in range(3)]
    assert [(message.body, message.md.priority) for message in got] == [(b"a", 0), (b"b", 9), (b"c", 4)]


@pytest.mark.rule("mqi/order", "An ALTER of MSGDLVSQ or DEFPRTY does not move messages that are on the queue.")
def test_changing_the_sequence_moves_nothing_that_is_there(group: TestGroup) -> None:
    group.define_shared("Q", def_priority=5)
    queue = group.connect().open("Q", BOTH)
    put(queue, b"low", 1)
    put(queue, b"high", 8)
    alter(group, msg_delivery_sequence="FIFO")
    put(queue, b"low, as though 5", 1)
    put(queue, b"high, as though 5", 9)
    alter(group, msg_delivery_sequence="PRIORITY")
    put(queue, b"6", 6)
    assert drain(queue) == [b"high", b"6", b"low, as though 5", b"high, as though 5", b"low"]


@pytest.mark.rule("mqi/order", "An ALTER of MSGDLVSQ or DEFPRTY does not move messages that are on the queue.")
def test_another_default_priority_ends_first_in_first_out_of_fifo(group: TestGroup) -> None:
    group.define_shared("Q", msg_delivery_sequence="FIFO", def_priority=2)
    queue = group.connect().open("Q", BOTH)
    put(queue, b"first", 9)
    alter(group, def_priority=7)
    put(queue, b"second", 0)
    alter(group, def_priority=2)
    put(queue, b"third", 9)
    assert drain(queue) == [b"second", b"first", b"third"]


@pytest.mark.rule("mqi/order", "MQBACK returns a message to the place that it had, whatever was altered since.")
def test_a_backout_returns_a_message_to_its_old_place_not_to_a_new_one(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    put(queue, b"low", 1)
    put(queue, b"high", 8)
    assert queue.get(GetOption.SYNCPOINT).body == b"high"
    alter(group, msg_delivery_sequence="FIFO", def_priority=0)
    connection.backout()
    assert drain(queue) == [b"high", b"low"]


@pytest.mark.rule("mqi/order", "A put in a unit of work is placed by the attributes at the time of the put.")
def test_a_put_in_a_unit_of_work_is_placed_by_the_attributes_at_the_put(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    put(queue, b"8", 8, options=PutOption.SYNCPOINT)
    alter(group, msg_delivery_sequence="FIFO", def_priority=9)
    put(queue, b"as though 9", 0)
    connection.commit()
    assert drain(queue) == [b"as though 9", b"8"]


@pytest.mark.rule("mqi/order", "MQINQ of MQIA_MSG_DELIVERY_SEQUENCE tells the order.")
def test_the_sequence_can_be_inquired(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    assert queue.inquire(IntSelector.MSG_DELIVERY_SEQUENCE) == {IntSelector.MSG_DELIVERY_SEQUENCE: PRIORITY}
    alter(group, msg_delivery_sequence="FIFO")
    assert queue.inquire(IntSelector.MSG_DELIVERY_SEQUENCE) == {IntSelector.MSG_DELIVERY_SEQUENCE: FIFO}


def group_member(group_id: bytes, seq: int, flags: int, priority: int) -> MQMD:
    return MQMD(
        version=2, group_id=group_id.ljust(24, b"\0"), msg_seq_number=seq, msg_flags=int(flags), priority=priority
    )


#: Priority of a message, and the priority that decides its place in a queue that is indexed by GroupId.
LIFTED = [(0, 2), (1, 2), (2, 2), (3, 3)]


@pytest.mark.rule(
    "mqi/order",
    "With INDXTYPE(GROUPID), what begins a group is placed as priority 2 at least; its Priority is unchanged.",
)
@pytest.mark.parametrize(("priority", "place"), LIFTED)
def test_the_first_of_a_group_never_has_the_lowest_priorities(group: TestGroup, priority: int, place: int) -> None:
    group.define_shared("Q", index_type="GROUPID")
    queue = group.connect().open("Q", BOTH)
    queue.put(b"plain 1", MQMD(priority=1))
    queue.put(b"begins", group_member(b"g", 1, MIG, priority))
    for number in (2, 3):
        queue.put(b"plain %d" % number, MQMD(priority=number))
    queue.put(b"ends", group_member(b"g", 2, LMIG, priority))
    got = [queue.get() for _ in range(5)]
    order = [message.body for message in got]
    assert order.index(b"begins") == {2: 1, 3: 0}[place]
    # Only the first of a group, and only its place: the Priority is the program's.
    assert order.index(b"ends") == {0: 4, 1: 4, 2: 3, 3: 2}[priority]
    assert {message.md.priority for message in got if message.body in (b"begins", b"ends")} == {priority}


@pytest.mark.rule("mqi/order", "With INDXTYPE(GROUPID), a later segment is placed by its own priority.")
def test_a_later_segment_of_a_groups_first_keeps_its_priority(group: TestGroup) -> None:
    group.define_shared("Q", index_type="GROUPID")
    queue = group.connect().open("Q", BOTH)
    later = group_member(b"g", 1, MIG | LSEG, 0)
    later.offset = 6
    queue.put(b"begins", group_member(b"g", 1, MIG | SEG, 0))
    queue.put(b"later", later)
    queue.put(b"plain", MQMD(priority=1))
    assert drain(queue) == [b"begins", b"plain", b"later"]


@pytest.mark.rule("mqi/order", "Without INDXTYPE(GROUPID), what begins a group is placed by its own priority.")
@pytest.mark.parametrize("attributes", [{}, {"index_type": "GROUPID", "msg_delivery_sequence": "FIFO"}])
def test_other_queues_take_the_priority_as_it_is(group: TestGroup, attributes: dict[str, str]) -> None:
    group.define_shared("Q", **attributes)
    queue = group.connect().open("Q", BOTH)
    queue.put(b"begins", group_member(b"g", 1, MIG, 0))
    queue.put(b"plain", MQMD(priority=1))
    is_fifo = "msg_delivery_sequence" in attributes
    assert drain(queue) == ([b"begins", b"plain"] if is_fifo else [b"plain", b"begins"])


@pytest.mark.rule(
    "mqi/order",
    "With INDXTYPE(GROUPID), what begins a group is placed as priority 2 at least; its Priority is unchanged.",
)
@pytest.mark.parametrize(("priority", "place"), LIFTED)
def test_the_agent_places_them_so_too(group: TestGroup, priority: int, place: int) -> None:
    group.define_private("QM1", "Q", index_type="GROUPID")
    sender = group.connect()
    transmit = sender.open("SYSTEM.QSG.TRANSMIT.QUEUE", BOTH)
    transmit.put(b"plain 1", MQMD(priority=1))
    transmit.put(b"begins", group_member(b"g", 1, MsgFlag.MSG_IN_GROUP, priority))
    for number in (2, 3):
        transmit.put(b"plain %d" % number, MQMD(priority=number))
    queue = sender.open("Q", BOTH)
    reply = sender.connection.checked_call(*transfer_call(sender.connection, transmit.handle, queue.handle, "G"))
    assert reply[1:3] == [4, 0]
    got = [queue.get() for _ in range(4)]
    # They leave the transmit queue by priority, so a message of priority 2 arrives first.
    expected = {(0, 2): 2, (1, 2): 2, (2, 2): 1, (3, 3): 0}[priority, place]
    assert [message.body for message in got].index(b"begins") == expected
    assert next(message for message in got if message.body == b"begins").md.priority == priority


@pytest.mark.parametrize("correl_id", [bytes(24), b"c" * 24])
@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT, PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE])
def test_messages_put_in_one_call_have_a_priority_each(group: TestGroup, options: int, correl_id: bytes) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    for priorities in product((0, 5, 9), repeat=4):
        queue.put_many(
            [(MQMD(priority=each, correl_id=correl_id), b"%d" % at) for at, each in enumerate(priorities)],
            options=options,
        )
        commit(queue.connection)
        expected = sorted(range(4), key=lambda at: (-priorities[at], at))
        assert [message.body for message in queue.get_many(4)] == [b"%d" % at for at in expected], priorities
