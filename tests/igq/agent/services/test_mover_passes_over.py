"""Messages for managers elsewhere, which a mover leaves on a transmission queue for other programs."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from recovery.resolution import recover
from sharedq.mqi import wire
from sharedq.mqi.constants import GetOption, MsgFlag, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.igq.agent.services.test_mover import Running, Steps, bodies, drain, send
from tests.mqi.groups.test_groups_cost import commands
from tests.support.accounts import assert_accounted
from tests.support.members import TestGroup
from tests.support.scenes import keys_of, on_queue, until

#: The transmission queue, and where it is.
OUT, AT = "OUT", "@QM1"
SYNCPOINT = int(GetOption.SYNCPOINT)


@pytest.fixture
def gate(group: TestGroup) -> TestGroup:
    """QM1 sends messages for others through OUT, its default transmission queue. IN is at QM2 and at QM3."""
    for name in ("QM2", "QM3"):
        group.add_member(name)
        group.define_private(name, "IN")
        group.repository(name).alter_qmgr(name, {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    group.define_private("QM1", OUT, usage="XMITQ")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED", "default_transmission_queue": OUT})
    return group


def left(group: TestGroup) -> list[bytes]:
    """Bodies that a program gets that serves the transmission queue. None was backed out."""
    messages = drain(group.connect("QM1"), OUT)
    assert {message.md.backout_count for message in messages} <= {0}
    return [message.body[wire.XQH_LENGTH :] for message in messages]


def deliver_all(steps: Steps) -> int:
    """The number of messages that the mover delivers before it finds no more."""
    total = 0
    while delivered := steps.deliver():
        total += delivered
    return total


@pytest.mark.rule(
    "igq/routes", "A mover leaves what is for other managers to other programs, and delivers the rest in order."
)
@pytest.mark.parametrize("persistence", [0, 1])
def test_messages_for_members_pass_messages_for_others(gate: TestGroup, persistence: int) -> None:
    wanted: dict[str, list[bytes]] = {"QM2": [], "QM3": [], "GONE": []}
    chosen = random.Random(1)
    for number in range(300):
        to = chosen.choice(list(wanted))
        send(gate, b"%d" % number, to=to, persistence=persistence)
        wanted[to].append(b"%d" % number)
    steps = Steps(gate, OUT)
    assert deliver_all(steps) == len(wanted["QM2"]) + len(wanted["QM3"])
    assert [bodies(gate, "IN", name) for name in ("QM2", "QM3")] == [wanted["QM2"], wanted["QM3"]]
    assert_accounted(gate.group)
    assert left(gate) == wanted["GONE"]
    assert steps.said == []
    assert keys_of(gate, "k:*") == []


def test_priorities_count_among_what_is_for_members(gate: TestGroup) -> None:
    for name in ("QM2", "QM3"):
        gate.repository(name).alter("QLOCAL", "IN", {"msg_delivery_sequence": "FIFO"})
    send(gate, b"other", to="GONE", priority=9)
    send(gate, b"low", priority=1)
    send(gate, b"high", priority=5)
    steps = Steps(gate, OUT)
    assert deliver_all(steps) == 2
    assert bodies(gate, "IN") == [b"high", b"low"]
    send(gate, b"lowest", priority=0)
    send(gate, b"highest", priority=9)
    assert deliver_all(steps) == 2
    assert bodies(gate, "IN") == [b"highest", b"lowest"]
    assert left(gate) == [b"other"]


def test_a_late_commit_is_delivered_past_messages_passed_over(gate: TestGroup) -> None:
    late = gate.connect("QM1")
    late.put1("IN", b"late", MQMD(persistence=1), qmgr_name="QM2", options=PutOption.SYNCPOINT)
    send(gate, b"other", to="GONE")
    steps = Steps(gate, OUT)
    assert deliver_all(steps) == 0
    late.commit()
    assert deliver_all(steps) == 1
    assert bodies(gate, "IN") == [b"late"]


def test_a_message_that_a_program_backs_out_is_in_its_place(gate: TestGroup) -> None:
    send(gate, b"other", to="GONE")
    send(gate, b"ours")
    program = gate.connect("QM1")
    queue = program.open(OUT, OpenOption.INPUT_SHARED)
    for _ in range(2):
        queue.get(SYNCPOINT)
    steps = Steps(gate, OUT)
    assert deliver_all(steps) == 0
    program.backout()
    assert deliver_all(steps) == 1
    queue.get(SYNCPOINT)
    program.backout()
    assert deliver_all(steps) == 0
    assert bodies(gate, "IN") == [b"ours"]
    assert len(on_queue(gate, OUT, AT)) == 1


@pytest.mark.parametrize("is_for_member", [True, False])
def test_a_program_may_put_what_is_a_member_of_a_group(gate: TestGroup, is_for_member: bool) -> None:
    """The message has its own header: the group is that of the outer descriptor."""
    send(gate, b"in its header", to="QM2" if is_for_member else "GONE")
    connection = gate.connect("QM1")
    with connection.open(OUT, OpenOption.INPUT_SHARED | OpenOption.OUTPUT) as queue:
        body = queue.get(GetOption.NO_SYNCPOINT).body
        for number in (1, 2):
            flags = int(MsgFlag.MSG_IN_GROUP if number == 1 else MsgFlag.LAST_MSG_IN_GROUP)
            md = MQMD(version=2, group_id=b"g" * 24, msg_seq_number=number, msg_flags=flags, format=b"MQXMIT")
            queue.put(body, md)
    send(gate, b"plain")
    steps = Steps(gate, OUT)
    assert deliver_all(steps) == (3 if is_for_member else 1)
    assert sorted(bodies(gate, "IN")) == [*([b"in its header"] * 2 if is_for_member else []), b"plain"]
    assert left(gate) == ([] if is_for_member else [b"in its header"] * 2)


def test_a_new_member_has_what_was_passed_over(gate: TestGroup) -> None:
    for number in range(700):
        send(gate, b"%d" % number, to="NEW" if number % 7 else "GONE")
    steps = Steps(gate, OUT)
    assert deliver_all(steps) == 0
    gate.add_member("NEW")
    gate.define_private("NEW", "IN")
    steps.members.append("NEW")
    assert deliver_all(steps) == 600
    assert bodies(gate, "IN", "NEW") == [b"%d" % number for number in range(700) if number % 7]
    assert left(gate) == [b"%d" % number for number in range(0, 700, 7)]


def test_a_look_costs_the_same_however_much_is_for_others(gate: TestGroup) -> None:
    costs = list[int]()
    steps, sent = Steps(gate, OUT), 0
    for depth in (100, 1600):
        for _ in range(depth - sent):
            send(gate, b"x", to="GONE")
        sent = depth
        assert deliver_all(steps) == 0

        def look() -> list[bytes]:
            assert deliver_all(steps) == 0
            return []

        costs.append(sum(commands(gate, look)[1].values()))
    # Halving finds the end of the marked messages. It takes one step more each time their number doubles.
    assert costs[1] <= costs[0] + 3 * 4


@pytest.mark.parametrize("mode", ["clear", "purge"])
def test_nothing_is_left_of_what_was_passed_over(gate: TestGroup, mode: str) -> None:
    send(gate, b"other", to="GONE")
    steps = Steps(gate, OUT)
    assert deliver_all(steps) == 0
    assert keys_of(gate, "k:*") != []
    repository = gate.repository("QM1")
    if mode == "clear":
        repository.clear(OUT)
    else:
        repository.delete("QLOCAL", OUT, purge=True)
    assert keys_of(gate, "k:*") == []


def test_a_mover_that_dies_leaves_its_successor_what_it_had_taken(gate: TestGroup) -> None:
    for number in range(20):
        send(gate, b"%d" % number, to="GONE" if number % 2 else "QM2")
    dying = Steps(gate, OUT)
    assert len(dying.open().take()) == 10
    dying.process.stop_renewing()
    gate.group.client().zadd(gate.group.keys.leases, {dying.process.token: 0})
    assert recover(gate.group, gate.connect("QM1").connection, dying.process.token).is_resolved
    assert_accounted(gate.group)
    assert deliver_all(Steps(gate, OUT)) == 10
    assert bodies(gate, "IN") == [b"%d" % number for number in range(0, 20, 2)]
    assert left(gate) == [b"%d" % number for number in range(1, 20, 2)]


@pytest.fixture
def running(gate: TestGroup) -> Iterator[Running]:
    running = Running(gate)
    yield running
    running.movers.stop()
    assert running.ends == []


def test_a_mover_that_waits_takes_what_is_for_members(gate: TestGroup, running: Running) -> None:
    def delivered() -> int:
        state = running.state(OUT)
        return state.delivered if state and state.state == "RUNNING" else -1

    until(lambda: delivered() == 0, "it runs", 120)
    for number in range(5):
        send(gate, b"other", to="GONE")
        send(gate, b"new", to="NEW")
        send(gate, b"%d" % number)
        until(lambda number=number: delivered() == number + 1, "it is delivered", 120)  # type: ignore[misc]
    gate.add_member("NEW")
    gate.define_private("NEW", "IN")
    running.wake(gate)
    until(lambda: delivered() == 10, "the new member has its own", 120)
    assert bodies(gate, "IN") == [b"%d" % number for number in range(5)]
    assert bodies(gate, "IN", "NEW") == [b"new"] * 5
    assert left(gate) == [b"other"] * 5
