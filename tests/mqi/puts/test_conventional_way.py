"""A conventional transmission queue: intra-group queuing is disabled, or the message is too long for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from sharedq.mqi.constants import MQRC, OpenOption, PutOption, Report, SubOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import XQH_LENGTH, unpack_xqh
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from tests.support.groups import LMIG, MIG
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.routes import BOTH, transmitted
from tests.support.scenes import on_queue

LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


@pytest.mark.rule(
    "igq/routes", "With IGQ(DISABLED) the transmission queue is XMITQ, one named like the manager, or DEFXMITQ."
)
def test_with_igq_disabled_a_conventional_transmission_queue_is_used(pair: TestGroup) -> None:
    pair.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"})
    pair.define_private("QM1", "QM2", usage="XMITQ")
    connection = pair.connect("QM1")
    connection.put1("IN", b"slow road", qmgr_name="QM2")
    body = connection.open("QM2", BOTH).get().body
    header = unpack_xqh(body)
    assert (header.remote_q_name, header.remote_q_mgr_name, body[XQH_LENGTH:]) == (b"IN", b"QM2", b"slow road")
    assert transmitted(pair, "QM2") == []


@pytest.fixture
def narrow(pair: TestGroup) -> TestGroup:
    """The transmit queue accepts ten bytes. QM1 has a conventional one to QM2, too."""
    pair.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_msg_length": 10})
    pair.define_private("QM1", "QM2", usage="XMITQ")
    return pair


@pytest.mark.rule(
    "igq/routes", "A message that is too long for the shared transmit queue takes a conventional transmission queue."
)
@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT, PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE])
def test_a_message_too_long_for_the_transmit_queue_goes_conventionally(narrow: TestGroup, options: int) -> None:
    connection = narrow.connect("QM1")
    queue = connection.open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    for body in (b"x" * 10, b"y" * 11, b"z" * 10):
        queue.put(body, options=options)
    queue.put_many([(MQMD(), b"1"), (MQMD(), b"2" * 11)], options=options)
    connection.commit()
    assert [data for _, data in transmitted(narrow, "QM2")] == [b"x" * 10, b"z" * 10]
    other_way = [body[XQH_LENGTH:] for body, _ in on_queue(narrow, "QM2", "@QM1")]
    assert other_way == [b"y" * 11, b"1", b"2" * 11]
    queue.close()
    assert narrow.repository("QM1").queue_status("QM2").open_output == 0


@pytest.mark.parametrize("options", [0, LATER])
def test_messages_that_share_a_descriptor_have_their_own_msg_ids(pair: TestGroup, options: int) -> None:
    pair.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"})
    pair.define_private("QM1", "QM2", usage="XMITQ")
    connection, md, other = pair.connect("QM1"), MQMD(), MQMD(msg_id=b"M".ljust(24, b"\0"))
    queue = connection.open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    queue.put_many([(md, b"1"), (md, b"2"), (other, b"3"), (md, b"4"), (other, b"5")], options=options)
    connection.commit()
    found = [message.md.msg_id for message in connection.open("QM2", BOTH).get_many(10)]
    assert found[2] == found[4] == other.msg_id
    assert len({*found}) == 4


@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT])
@pytest.mark.parametrize("kind", ["publication", "distribution list", "reports"])
def test_a_way_that_no_handle_of_the_program_has_is_not_registered(narrow: TestGroup, kind: str, options: int) -> None:
    """A publication, a distribution list beside a unit of work, and reports put by handles of their own."""
    narrow.define_shared("A")
    connection, long = narrow.connect("QM1"), b"y" * 11
    if kind == "publication":
        subscriber = narrow.connect("QM2")
        there = subscriber.open("IN", OpenOption.INPUT_SHARED)
        subscriber.subscribe("a", queue=there, options=SubOption.CREATE)
        connection.open_topic("a").publish(long, options=options)
    elif kind == "distribution list":
        queues = connection.open_list(["A", ("IN", "QM2")])
        connection.open("A", OpenOption.OUTPUT).put(b"a unit of work", options=PutOption.SYNCPOINT)
        queues.put(long, options=options)
        queues.close()
    else:
        asking = MQMD(report=int(Report.COA_WITH_FULL_DATA), reply_to_q=b"IN", reply_to_q_mgr=b"QM2")
        connection.put1("A", long, asking, options=options)
    connection.commit()
    assert narrow.repository("QM1").queue_status("QM2").open_output == 0
    connection.disconnect()
    assert len(on_queue(narrow, "QM2", "@QM1")) == 1
    assert narrow.repository("QM1").queue_status("QM2").open_output == 0


@pytest.mark.rule(
    "igq/invalidation", "A queue that is no transmission queue any more takes no message for another manager (2041)."
)
@pytest.mark.parametrize("options", [PutOption.NO_SYNCPOINT, PutOption.SYNCPOINT, LATER])
@pytest.mark.parametrize("how", ["alter", "define"])
@pytest.mark.parametrize("kind", ["publication", "distribution list", "handle"])
def test_a_way_ends_with_the_usage_of_its_queue(narrow: TestGroup, kind: str, how: str, options: int) -> None:
    narrow.define_shared("A")
    connection, long = narrow.connect("QM1"), b"y" * 11
    put: Callable[[], object]
    if kind == "publication":
        subscriber = narrow.connect("QM2")
        there = subscriber.open("IN", OpenOption.INPUT_SHARED)
        subscriber.subscribe("a", queue=there, options=SubOption.CREATE)
        put = partial(connection.open_topic("a").publish, long, options=options)
    elif kind == "distribution list":
        put = partial(connection.open_list(["A", ("IN", "QM2")]).put, long, options=options)
        connection.open("A", OpenOption.OUTPUT).put(b"a unit of work", options=PutOption.SYNCPOINT)
    else:
        put = partial(connection.open("IN", OpenOption.OUTPUT, qmgr_name="QM2").put, long, options=options)
    put()
    connection.commit()
    with narrow.connect("QM1") as reader, reader.open("QM2", OpenOption.INPUT_SHARED) as queue:
        queue.get()
    # A queue that a handle or a list has open cannot be deleted, nor its definition be put in its place.
    if how == "alter" or narrow.repository("QM1").queue_status("QM2").open_output:
        narrow.repository("QM1").alter("QLOCAL", "QM2", {"usage": "NORMAL"})
    else:
        narrow.repository("QM1").delete("QLOCAL", "QM2")
        narrow.define_private("QM1", "QM2")
    with suppress(MQIError):
        put()
    with suppress(MQIError):
        connection.commit()
    assert on_queue(narrow, "QM2", "@QM1") == []


@pytest.mark.rule(
    "mqi/put-groups", "A group for another manager stays a group, even if some of its messages take another way."
)
@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT, PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE])
def test_a_group_goes_on_whichever_way_its_messages_take(narrow: TestGroup, options: int) -> None:
    connection = narrow.connect("QM1")
    queue = connection.open("IN", OpenOption.OUTPUT, qmgr_name="QM2")

    def put(body: bytes, flags: int) -> MQMD:
        return queue.put(body, MQMD(version=2, msg_flags=flags), options=options | PutOption.LOGICAL_ORDER)

    members = [put(b"1", MIG), put(b"2" * 11, MIG)]
    connection.commit()
    # A backout restores the state before the unit of work, whichever way its messages had taken.
    if options:
        put(b"3" * 11, MIG)
        put(b"4", LMIG)
        connection.backout()
    members += [put(b"3" * 11, MIG), put(b"4", LMIG)]
    connection.commit()
    assert {md.group_id for md in members} == {members[0].group_id}
    assert [md.msg_seq_number for md in members] == [1, 2, 3, 4]
    assert len(on_queue(narrow, "QM2", "@QM1")) == 2
    begun = put(b"5" * 11, MIG)
    assert begun.group_id != members[0].group_id
    connection.commit()
    assert queue.close() == MQRC.INCOMPLETE_GROUP


@pytest.mark.rule(
    "igq/routes", "A message that is too long for the shared transmit queue is 2030 if there is no conventional way."
)
def test_without_a_conventional_way_it_is_too_long(narrow: TestGroup) -> None:
    narrow.repository("QM1").delete("QLOCAL", "QM2")
    queue = narrow.connect("QM1").open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    assert reason_of(partial(queue.put, b"y" * 11)) == MQRC.MSG_TOO_BIG_FOR_Q


@pytest.mark.rule(
    "igq/invalidation", "The conventional way that a handle has taken for long messages ends with its route."
)
@pytest.mark.parametrize("igq", ["ENABLED", "DISABLED"])
def test_the_conventional_way_of_a_handle_ends_with_its_route(narrow: TestGroup, igq: str) -> None:
    queue = narrow.connect("QM1").open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    queue.put(b"y" * 11)
    narrow.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"})
    narrow.repository("QM1").alter_qmgr("QM1", {"igq": igq})
    assert reason_of(partial(queue.put, b"y" * 11)) == MQRC.OBJECT_CHANGED
    assert len(on_queue(narrow, "QM2", "@QM1")) == 1


@pytest.mark.rule(
    "igq/invalidation",
    "A changed transmit queue invalidates (2041) also a put that is too long for it and goes another way.",
)
@pytest.mark.parametrize("before", [[], [b"x"], [b"y" * 11], [b"y" * 11, b"x"]])
@pytest.mark.parametrize("how", ["alter", "replace"])
def test_a_changed_transmit_queue_invalidates_the_conventional_way_too(
    narrow: TestGroup, before: list[bytes], how: str
) -> None:
    queue = narrow.connect("QM1").open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    for body in before:
        queue.put(body)
    repository = narrow.repository("QM1")
    if how == "alter":
        repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"description": "altered"})
    else:
        located = repository.lookup(SYSTEM_QSG_TRANSMIT_QUEUE)
        assert located is not None
        repository.define(located.definition, replace=True)
    assert reason_of(partial(queue.put, b"y" * 11)) == MQRC.OBJECT_CHANGED
    assert reason_of(partial(queue.put_many, [(MQMD(), b"y" * 11)])) == MQRC.OBJECT_CHANGED
    assert len(on_queue(narrow, "QM2", "@QM1")) == before.count(b"y" * 11)
