"""The agent's two ways of delivering, on a real server: moving entries, and get and put."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from igq.agent.progress.retry import Trouble
from igq.agent.queues.transmit_part import TransmitPart
from sharedq.calls.put import put as putting
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, Feedback, Format, MsgFlag, MsgType, OpenOption, Report
from sharedq.mqi.headers import MQXQH
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from sharedq.objects.store.parts import own_part
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.properties.handle import MessageHandle
from tests.support.agents import AgentOfQM2, Put, bodies, drain
from tests.support.members import TestGroup

pytestmark = pytest.mark.share


@pytest.mark.rule("igq/agent", "The agent keeps the order of each source, priority and path.")
def test_messages_for_private_queues_move_in_the_order_they_were_put(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.define_private("QM2", "ORDERS")
    group.define_private("QM2", "BILLS")
    sent = [put(queue, b"%s %d" % (queue.encode(), n)) for n in range(60) for queue in ("ORDERS", "BILLS")]

    moved = agent.move()

    assert (moved.left, moved.is_stuck) == (0, False)
    orders = drain(group.connect("QM2"), "ORDERS")
    assert [message.body for message in orders] == [b"ORDERS %d" % n for n in range(60)]
    assert [message.md.msg_id for message in orders] == [md.msg_id for md in sent[::2]]
    assert bodies(group, "BILLS") == [b"BILLS %d" % n for n in range(60)]


def test_more_destinations_than_a_call_names_are_all_served(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    names = [f"Q{n}" for n in range(40)]
    for name in names:
        group.define_private("QM2", name)
        put(name, name.encode())

    assert agent.move().left == 0
    assert [bodies(group, name) for name in names] == [[name.encode()] for name in names]


@pytest.mark.parametrize("kind", ["shared", "alias", "remote"])
def test_a_message_that_cannot_be_moved_is_got_and_put(
    group: TestGroup, agent: AgentOfQM2, put: Put, kind: str
) -> None:
    group.define_shared("FLIGHTS")
    if kind == "alias":
        group.define("QM2", QueueAlias(name="TO", target="FLIGHTS"))
    elif kind == "remote":
        group.define("QM2", QueueRemote(name="TO", remote_queue="FLIGHTS", remote_qmgr="QM2"))
    sent = [put("FLIGHTS" if kind == "shared" else "TO", b"%d" % n, correl_id=b"c" * 24) for n in range(5)]

    assert agent.deliver() == 5

    got = drain(group.connect("QM1"), "FLIGHTS")
    assert [message.body for message in got] == [b"0", b"1", b"2", b"3", b"4"]
    assert [message.md.msg_id for message in got] == [md.msg_id for md in sent]
    assert {(message.md.correl_id, message.md.user_identifier) for message in got} == {
        (b"c" * 24, sent[0].user_identifier)
    }


@pytest.mark.rule(
    "igq/undelivered",
    "A message that cannot be delivered goes to the dead-letter queue of its destination, with header and reason.",
)
@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        (None, MQRC.UNKNOWN_OBJECT_NAME),
        ({"put": "DISABLED"}, MQRC.PUT_INHIBITED),
        ({"max_depth": 0}, MQRC.Q_FULL),
        ({"max_msg_length": 3}, MQRC.MSG_TOO_BIG_FOR_Q),
    ],
)
def test_undeliverable_messages_go_to_their_destinations_dead_letter_queue(
    group: TestGroup, agent: AgentOfQM2, put: Put, attributes: dict[str, object] | None, reason: MQRC
) -> None:
    if attributes is not None:
        group.define_private("QM2", "ORDERS", **attributes)
    sent = put("ORDERS", b"four")

    assert agent.deliver() == 0

    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    header = wire.DLH.unpack(letter.body)
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (reason, b"ORDERS", b"QM2")
    assert (letter.md.msg_id, letter.md.persistence) == (sent.msg_id, 1)
    assert letter.body.endswith(b"four")
    assert agent.said == ["CSQM064I"]


@pytest.mark.rule("igq/agent", "MAXMSGL of a destination limits the data of a message without its properties.")
def test_properties_do_not_count_at_the_destination(group: TestGroup, agent: AgentOfQM2) -> None:
    group.define_private("QM2", "ORDERS", max_msg_length=4)
    properties = MessageHandle()
    properties.set("colour", "red")
    with group.connect("QM1").open("ORDERS", OpenOption.OUTPUT, qmgr_name="QM2") as queue:
        queue.put(b"four", properties=properties)
    assert agent.deliver() == 1
    got = MessageHandle()
    with group.connect("QM2").open("ORDERS", OpenOption.INPUT_SHARED) as queue:
        assert (queue.get(properties=got).body, got.get("colour")) == (b"four", "red")


@pytest.mark.rule("igq/agent", "A message that was backed out before it moved arrives with BackoutCount 0.")
@pytest.mark.parametrize("correl_id", [b"", b"c" * 24])
def test_a_message_backed_out_before_its_move_is_new_at_its_destination(
    group: TestGroup, agent: AgentOfQM2, put: Put, correl_id: bytes
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    for n in range(3):
        put("LATE", b"%d" % n, correl_id=correl_id if n == 1 else b"")
    with pytest.raises(Trouble):
        agent.deliver()
    group.define_private("QM2", "LATE")
    put("LATE", b"3")

    assert agent.move().left == 0

    got = drain(group.connect("QM2"), "LATE")
    assert [(message.body, message.md.backout_count) for message in got] == [(b"%d" % n, 0) for n in range(4)]
    # The agent does not look again for messages that are all gone.
    queue = group.group.structure("@QM2").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue
    assert group.group.client().hget(queue, "bo") is None


def test_one_undeliverable_message_does_not_delay_later_ones(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_private("QM2", "ORDERS", max_depth=2)
    for n in range(4):
        put("ORDERS", b"%d" % n)

    agent.deliver()

    assert bodies(group, "ORDERS") == [b"0", b"1"]
    letters = bodies(group, SYSTEM_DEAD_LETTER_QUEUE)
    assert [letter[-1:] for letter in letters] == [b"2", b"3"]


def test_a_long_refused_run_is_put_until_the_queue_is_full(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("SMALL", max_depth=1)
    sent = [bytes([65 + n]) * (512 * 1024) for n in range(2)]
    for body in sent:
        put("SMALL", body)

    # A batch ends at the limit of bytes for a call, so the second message comes in its own batch.
    assert [agent.deliver(), agent.deliver()] == [1, 0]

    assert bodies(group, "SMALL") == sent[:1]
    (letter,) = bodies(group, SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter).reason == MQRC.Q_FULL
    assert letter.endswith(sent[1])


@pytest.mark.rule("igq/agent", "The agent's batch is not limited by MAXHANDS and MAXUMSGS.")
def test_maxumsgs_of_programs_does_not_limit_a_batch(group: TestGroup, put: Put) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"max_uncommitted_msgs": 1})
    group.define_shared("FLIGHTS")
    put("FLIGHTS", b"1")
    put("FLIGHTS", b"2")
    put("NOWHERE", b"3")

    assert AgentOfQM2(group).deliver() == 2
    assert bodies(group, "FLIGHTS") == [b"1", b"2"]
    assert len(bodies(group, SYSTEM_DEAD_LETTER_QUEUE)) == 1


def test_a_queue_that_was_delivered_to_is_not_in_use(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("FLIGHTS")
    put("FLIGHTS", b"x")
    put("NOWHERE", b"x")
    assert agent.deliver() == 1

    group.repository("QM2").clear(SYSTEM_DEAD_LETTER_QUEUE)
    group.repository("QM1").delete("QLOCAL", "FLIGHTS", purge=True)


def test_trouble_leaves_no_queue_open(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.define_shared("FLIGHTS")
    put("FLIGHTS", b"x")
    put("NOWHERE", b"x")

    with pytest.raises(Trouble):
        agent.deliver()

    group.repository("QM1").delete("QLOCAL", "FLIGHTS", purge=True)


def put_by_a_program(group: TestGroup, body: bytes, persistence: int = 1) -> None:
    """Put it on the transmission queue of QM2 itself."""
    group.connect("QM2").put1(SYSTEM_QSG_TRANSMIT_QUEUE, body, MQMD(persistence=persistence))


def header_with(**fields: object) -> bytes:
    """A transmission-queue header whose descriptor was not completed by a queue manager."""
    md = MQMD(**fields)  # type: ignore[arg-type]
    return wire.pack_xqh(MQXQH(remote_q_name=b"FLIGHTS", remote_q_mgr_name=b"QM2", msg_desc=md))


@pytest.mark.rule(
    "igq/undelivered", "A message on the transmit queue without a valid header is dead-lettered and holds nothing up."
)
@pytest.mark.parametrize(
    "data",
    [
        b"no header at all",
        header_with(persistence=9, report=int(Report.EXCEPTION), reply_to_q=b"FLIGHTS"),
        header_with(persistence=1, priority=-3),
        header_with(persistence=1, priority=0, msg_type=int(MsgType.REQUEST)),
        header_with(persistence=1, priority=0, format=Format.MD_EXTENSION),
    ],
)
def test_a_message_without_a_header_is_dead_lettered_and_delays_nothing(
    group: TestGroup, agent: AgentOfQM2, put: Put, data: bytes
) -> None:
    group.define_shared("FLIGHTS")
    put_by_a_program(group, data)
    put("FLIGHTS", b"good")

    assert agent.deliver() == 1

    assert bodies(group, "FLIGHTS") == [b"good"]
    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    header = wire.DLH.unpack(letter.body)
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (
        Feedback.XMIT_Q_MSG_ERROR,
        SYSTEM_QSG_TRANSMIT_QUEUE.encode(),
        b"QM2",
    )
    assert letter.body.endswith(data)
    assert agent.said == ["CSQM064I"]


def test_a_program_may_bring_the_header_itself(group: TestGroup, agent: AgentOfQM2) -> None:
    group.define_shared("FLIGHTS")
    put_by_a_program(group, header_with(persistence=1, priority=3) + b"mine")

    assert agent.deliver() == 1

    (got,) = drain(group.connect("QM1"), "FLIGHTS")
    assert (got.body, got.md.priority) == (b"mine", 3)


@pytest.mark.rule("igq/undelivered", "A header that a program wrote may have its numbers in either byte order.")
@pytest.mark.parametrize("encoding", [785, 273])
def test_the_header_that_a_program_brings_may_be_of_another_machine(
    group: TestGroup, agent: AgentOfQM2, encoding: int
) -> None:
    """High byte first, as the Encoding of the outer descriptor says; also with an MQMDE after it."""
    group.define_shared("FLIGHTS")
    names = b"FLIGHTS".ljust(48) + b"QM2".ljust(48)
    described = [0, 8, -1, 0, encoding, 500, b"MQHMDE", 3, 1, b"m" * 24, bytes(24), 0, b"", b"", b"", bytes(32), b""]
    descriptor = struct.pack(
        ">4s7i8s2i24s24si48s48s12s32s32si28s8s8s4s", b"MD  ", 1, *described, 6, b"theirs", b"", b"", b""
    )
    extension = struct.pack(">4s4i8si24s4i", b"MDE ", 2, 72, encoding, 500, b"MQSTR", 0, b"g" * 24, 2, 0, 8, -1)
    data = b"XQH \0\0\0\1" + names + descriptor + extension + b"mine"
    with group.connect("QM2").open(SYSTEM_QSG_TRANSMIT_QUEUE, OpenOption.OUTPUT) as queue:
        queue.put(data, MQMD(persistence=1, format=Format.XMIT_Q_HEADER, encoding=encoding))

    assert agent.deliver() == 1

    (got,) = drain(group.connect("QM1"), "FLIGHTS")
    md = got.md
    assert (got.body, md.priority, md.persistence, md.put_appl_name) == (b"mine", 3, 1, b"theirs")
    assert (md.group_id, md.msg_seq_number, md.msg_flags) == (b"g" * 24, 2, MsgFlag.MSG_IN_GROUP)
    assert (md.encoding, md.coded_char_set_id, md.format) == (encoding, 500, b"MQSTR")


def test_a_destination_longer_than_any_name_is_dead_lettered(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("FLIGHTS")
    with group.connect("QM1").open("NOWHERE", OpenOption.OUTPUT, qmgr_name="QM2") as queue:
        # No open accepts such a name.
        queue.handle.destination = b"X" * 60
        queue.put(b"lost", MQMD(persistence=1))
    put("FLIGHTS", b"good")

    assert agent.queue.wait()
    assert agent.deliver() == 1

    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter.body).dest_q_name == b"X" * 48


def test_without_a_dead_letter_queue_persistence_decides_on_bad_messages(group: TestGroup, agent: AgentOfQM2) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    put_by_a_program(group, b"dropped", persistence=0)
    agent.deliver()
    assert agent.said == ["IGQ0022I"]

    put_by_a_program(group, b"kept")
    with pytest.raises(Trouble, match="XMIT_Q_MSG_ERROR"):
        agent.deliver()
    assert agent.queue.move().left == 1


@pytest.mark.rule("igq/undelivered", "A message with MQRO_DISCARD_MSG that cannot be delivered is discarded.")
def test_the_discard_option_discards(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    put("NOWHERE", b"x", report=int(Report.DISCARD_MSG))

    agent.deliver()

    assert bodies(group, SYSTEM_DEAD_LETTER_QUEUE) == []
    assert agent.said == ["IGQ0022I"]


@pytest.mark.rule(
    "igq/undelivered", "Without a dead-letter queue, a persistent message that cannot be delivered backs out its batch."
)
def test_without_a_dead_letter_queue_the_batch_is_backed_out_without_loss(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.define_shared("FLIGHTS")
    put("FLIGHTS", b"first")
    put("NOWHERE", b"second")

    for _ in range(2):
        with pytest.raises(Trouble, match="NOWHERE"):
            agent.deliver()

    assert bodies(group, "FLIGHTS") == []
    # The queue is defined, and the next retry delivers both.
    group.define_private("QM2", "NOWHERE")
    assert agent.deliver() == 2
    (second,) = drain(group.connect("QM2"), "NOWHERE")
    assert second.body == b"second"
    assert bodies(group, "FLIGHTS") == [b"first"]


@pytest.mark.rule(
    "igq/undelivered", "Without a dead-letter queue, a nonpersistent message that cannot be delivered is dropped."
)
def test_without_a_dead_letter_queue_the_nonpersistent_is_dropped(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    put("NOWHERE", b"x", persistence=0)

    agent.deliver()

    assert agent.said == ["IGQ0022I"]
    assert agent.move().left == 0


@pytest.mark.rule("igq/undelivered", "An exception report travels back to the sender.")
def test_an_exception_report_travels_back(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("REPLIES")
    options = int(Report.EXCEPTION_WITH_FULL_DATA | Report.DISCARD_MSG)
    sent = put("NOWHERE", b"request", report=options, reply_to_q=b"REPLIES", reply_to_q_mgr=b"QM2")

    agent.deliver()

    (report,) = drain(group.connect("QM1"), "REPLIES")
    assert (report.body, report.md.feedback) == (b"request", MQRC.UNKNOWN_OBJECT_NAME)
    assert report.md.correl_id == sent.msg_id


@pytest.mark.rule(
    "mqi/reports", "A message that goes through intra-group queuing is confirmed by the manager that it is for."
)
def test_arrival_and_delivery_are_confirmed_where_the_message_was_going(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.define_shared("REPLIES")
    group.define_private("QM2", "ORDERS")
    wanted = int(Report.COA | Report.COD)
    asked = {"report": wanted, "reply_to_q": b"REPLIES", "reply_to_q_mgr": b"QM2"}
    sent = [put("ORDERS", b"%d" % n, persistence=n % 2, **asked) for n in range(4)]
    assert drain(group.connect("QM1"), "REPLIES") == []

    assert agent.deliver() == len(sent)

    arrived = drain(group.connect("QM1"), "REPLIES")
    assert [message.body for message in drain(group.connect("QM2"), "ORDERS")] == [b"0", b"1", b"2", b"3"]
    delivered = drain(group.connect("QM1"), "REPLIES")
    for reports, feedback in ((arrived, Feedback.COA), (delivered, Feedback.COD)):
        assert [each.md.correl_id for each in reports] == [md.msg_id for md in sent]
        assert {(each.md.feedback, each.md.put_appl_name.rstrip()) for each in reports} == {(feedback, b"QM2")}


@pytest.mark.rule("mqi/reports", "A batch of the agent that is backed out makes no report.")
def test_a_batch_that_is_backed_out_confirms_nothing(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("REPLIES")
    group.define_private("QM2", "ORDERS")
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    for name in ("ORDERS", "NOWHERE"):
        put(name, b"x", report=int(Report.COA), reply_to_q=b"REPLIES", reply_to_q_mgr=b"QM2")
    with pytest.raises(Trouble):
        agent.deliver()
    assert drain(group.connect("QM1"), "REPLIES") == []


def test_an_inhibited_transmission_queue_is_trouble_until_it_is_enabled(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.define_private("QM2", "ORDERS")
    put("ORDERS", b"x")
    repository = group.repository("QM1")

    repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
    with pytest.raises(Trouble, match="DISABLED"):
        agent.move()

    repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "ENABLED"})
    assert agent.move().left == 0
    assert bodies(group, "ORDERS") == [b"x"]


def test_a_missing_transmission_queue_is_trouble(group: TestGroup, agent: AgentOfQM2) -> None:
    group.repository("QM1").delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)

    with pytest.raises(Trouble, match=r"not defined|UNKNOWN_OBJECT_NAME"):
        agent.move()
    with pytest.raises(Trouble, match="not defined"):
        TransmitPart(agent.connection, own_part("QM2"))


def test_an_altered_destination_is_noticed_before_the_next_message(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.define_private("QM2", "ORDERS")
    put("ORDERS", b"before")
    agent.move()

    group.repository("QM2").alter("QLOCAL", "ORDERS", {"put": "DISABLED"})
    put("ORDERS", b"after")
    agent.deliver()

    assert bodies(group, "ORDERS") == [b"before"]
    assert len(bodies(group, SYSTEM_DEAD_LETTER_QUEUE)) == 1


def test_waiting_ends_when_a_message_arrives(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_private("QM2", "ORDERS")
    put("ORDERS", b"x")

    assert agent.queue.wait()
    assert agent.move().left == 0


@pytest.mark.rule("igq/self-recovery", "A slow agent does not count as hanging while it makes progress.")
def test_a_slow_batch_is_no_hang(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch may take long as a whole: each put of it is progress."""
    for name in ("POOL", "STREAM"):
        group.define_shared(name)
    for n in range(10):
        put(("POOL", "STREAM")[n % 2], b"%d" % n)
    put_many, beats = putting.put_many, []

    def slow_put_many(*arguments: Any, **options: Any) -> object:
        beats.append(agent.pulse.state[0])
        return put_many(*arguments, **options)

    monkeypatch.setattr(putting, "put_many", slow_put_many)
    assert agent.deliver() == 10
    assert beats == list(range(10))
