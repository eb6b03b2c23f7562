"""SYSTEM.QSG.TRANSMIT.QUEUE is one queue to programs, with the messages on their way to a member that is down."""

from __future__ import annotations

import threading

import pytest

from sharedq import Queue
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, GetOption, IntSelector, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias
from sharedq.objects.store.parts import own_part, part_in
from tests.support.accounts import assert_accounted
from tests.support.backups import lose
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored
from tests.support.waits import until_waiting

BOTH = OpenOption.INPUT_SHARED | OpenOption.BROWSE | OpenOption.INQUIRE | OpenOption.SAVE_ALL_CONTEXT
FIRST, NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
UNDER_CURSOR, WAIT = int(GetOption.MSG_UNDER_CURSOR), int(GetOption.WAIT)
NO_SYNCPOINT, SYNCPOINT = int(GetOption.NO_SYNCPOINT), int(GetOption.SYNCPOINT)


@pytest.fixture
def scene(group: TestGroup) -> TestGroup:
    """QM2 and QM3 are down. A message is on its way to each, and to a shared queue at QM2. QM4 has none."""
    for name in ("QM2", "QM3", "QM4"):
        group.add_member(name)
    group.define_structure()
    group.define_shared("POOL")
    assert group.repository("QM2").make_transmit_parts("QM2") == [part_in("APPL1", "QM2")]
    group.define_private("QM2", "IN")
    group.define_private("QM3", "IN")
    for number in range(3):
        send(group, b"2.%d" % number, "IN", "QM2")
        send(group, b"3.%d" % number, "IN", "QM3")
        send(group, b"P.%d" % number, "POOL", "QM2")
    return group


def send(group: TestGroup, body: bytes, queue: str, to: str) -> MQMD:
    return group.connect("QM1").put1(queue, body, MQMD(persistence=1), qmgr_name=to)


def opened(group: TestGroup, qmgr: str = "QM4", options: OpenOption = BOTH) -> Queue:
    return group.connect(qmgr).open(SYSTEM_QSG_TRANSMIT_QUEUE, options)


def browsed(queue: Queue, options: int = FIRST) -> list[bytes]:
    found: list[bytes] = []
    while True:
        try:
            found.append(text(queue.get(options).body))
        except NoMsgAvailable:
            return found
        options = NEXT


def text(body: bytes) -> bytes:
    """The data after the header."""
    return body[wire.XQH_LENGTH :]


def by_part(bodies: list[bytes]) -> dict[bytes, list[bytes]]:
    """The bodies of each part, in their order."""
    found: dict[bytes, list[bytes]] = {}
    for body in bodies:
        found.setdefault(body[:1], []).append(body)
    return found


ALL = {first: [first + b".%d" % number for number in range(3)] for first in (b"2", b"3", b"P")}


@pytest.mark.rule(
    "igq/parts", "At each member, programs browse and get all messages on the transmit queue, part by part."
)
@pytest.mark.parametrize("qmgr", ["QM1", "QM2", "QM4"])
def test_all_that_is_on_its_way_is_browsed_part_by_part(scene: TestGroup, qmgr: str) -> None:
    queue = opened(scene, qmgr)
    for _ in range(2):
        bodies = browsed(queue)
        assert by_part(bodies) == ALL
        # One part after the other.
        assert [body[:1] for body in bodies] == [
            first for first in dict.fromkeys(body[:1] for body in bodies) for _ in range(3)
        ]
    with pytest.raises(NoMsgAvailable):
        queue.get(NEXT)
    send(scene, b"2.3", "IN", "QM2")
    assert len(browsed(queue)) == 10


def test_each_header_names_its_manager(scene: TestGroup) -> None:
    queue, options, found = opened(scene), FIRST, set()
    for _ in range(9):
        message = queue.get(options)
        header = wire.unpack_xqh(message.body)
        found.add((header.remote_q_name, header.remote_q_mgr_name, text(message.body)[:1]))
        options = NEXT
    assert found == {(b"IN", b"QM2", b"2"), (b"IN", b"QM3", b"3"), (b"POOL", b"QM2", b"P")}


@pytest.mark.parametrize("options", [NO_SYNCPOINT, SYNCPOINT])
def test_all_of_it_can_be_got(scene: TestGroup, options: int) -> None:
    connection = scene.connect("QM4")
    queue = connection.open(SYSTEM_QSG_TRANSMIT_QUEUE, BOTH)
    for is_last in (options == NO_SYNCPOINT, True):
        assert by_part([text(queue.get(options).body) for _ in range(9)]) == ALL
        with pytest.raises(NoMsgAvailable):
            queue.get(options)
        if is_last:
            break
        connection.backout()
    connection.commit()
    assert [stored(scene, each) for each in ("@QM2", "@QM3", "APPL1")] == [0, 0, 0]
    assert_accounted(scene.group)


def test_batches_and_units_of_work_go_on_from_part_to_part(scene: TestGroup) -> None:
    connection = scene.connect("QM4")
    queue = connection.open(SYSTEM_QSG_TRANSMIT_QUEUE, BOTH)
    bodies = [text(message.body) for message in queue.get_many(50, SYNCPOINT)]
    for _ in range(2):
        bodies += [text(message.body) for message in queue.commit_and_get_many(50, SYNCPOINT)]
    with pytest.raises(NoMsgAvailable):
        queue.commit_and_get_many(50, SYNCPOINT)
    assert by_part(bodies) == ALL
    assert [stored(scene, each) for each in ("@QM2", "@QM3", "APPL1")] == [0, 0, 0]


def test_a_message_under_the_cursor_is_got_from_its_part(scene: TestGroup) -> None:
    queue = opened(scene)
    bodies = browsed(queue)
    last = bodies[-1]
    assert text(queue.get(UNDER_CURSOR | NO_SYNCPOINT).body) == last
    assert browsed(queue) == bodies[:-1]
    with pytest.raises(MQIError) as caught:
        opened(scene).get(UNDER_CURSOR | NO_SYNCPOINT)
    assert caught.value.reason == MQRC.NO_MSG_UNDER_CURSOR


def test_a_message_is_found_by_its_token(scene: TestGroup) -> None:
    queue, options, found = opened(scene), FIRST, {}
    for _ in range(9):
        message = queue.get(options)
        found[message.msg_token], options = text(message.body), NEXT
    assert len(found) == 9
    for token, body in reversed(found.items()):
        by_token = {"match_options": int(MatchOption.MATCH_MSG_TOKEN), "msg_token": token}
        assert text(queue.get(FIRST, **by_token).body) == body  # type: ignore[arg-type]
        assert text(queue.get(NO_SYNCPOINT, **by_token).body) == body  # type: ignore[arg-type]


def test_its_depth_is_that_of_all_parts(scene: TestGroup) -> None:
    depth = IntSelector.CURRENT_Q_DEPTH
    connection = scene.connect("QM1")
    connection.put1("IN", b"uncommitted", qmgr_name="QM3", options=PutOption.SYNCPOINT)
    assert opened(scene).inquire(depth)[depth] == 10
    assert scene.repository("QM4").queue_status(SYSTEM_QSG_TRANSMIT_QUEUE).depth == 10
    connection.backout()


@pytest.mark.parametrize("kind", ["QALIAS", "QLOCAL"])
def test_inhibited_gets_are_refused(scene: TestGroup, kind: str) -> None:
    """Open it by the alias, or by its own definition, which has been altered since."""
    repository = scene.repository("QM4")
    scene.define("QM4", QueueAlias(name="NICK", target=SYSTEM_QSG_TRANSMIT_QUEUE, get="DISABLED"))
    name = "NICK" if kind == "QALIAS" else SYSTEM_QSG_TRANSMIT_QUEUE
    queue = scene.connect("QM4").open(name, BOTH)
    if kind == "QLOCAL":
        queue.get(FIRST)
        repository.alter(kind, name, {"get": "DISABLED"})
    for options in (FIRST, NO_SYNCPOINT) if kind == "QALIAS" else (NEXT, FIRST, NO_SYNCPOINT):
        with pytest.raises(MQIError) as caught:
            queue.get(options)
        assert caught.value.reason == MQRC.GET_INHIBITED
    repository.alter(kind, name, {"get": "ENABLED"})
    assert by_part(browsed(queue)) == ALL


@pytest.mark.parametrize("options", [FIRST, NO_SYNCPOINT, WAIT | FIRST, WAIT | NO_SYNCPOINT])
def test_a_structure_that_has_failed_hides_no_other_part(scene: TestGroup, options: int) -> None:
    before = opened(scene)
    assert by_part(browsed(before)) == ALL
    lose(scene, "APPL1")
    for queue, steps in ((before, [FIRST, *[NEXT] * 6]), (opened(scene), [*[NO_SYNCPOINT] * 6, options])):
        found = [text(queue.get(step).body) for step in steps[:-1]]
        assert by_part(found) == {first: ALL[first] for first in (b"2", b"3")}
        with pytest.raises(MQIError) as caught:
            queue.get(steps[-1], wait_ms=1)
        # It is unknown whether it had a message.
        assert caught.value.reason == MQRC.CF_STRUC_FAILED


@pytest.mark.parametrize("options", [FIRST, NO_SYNCPOINT])
@pytest.mark.parametrize("to", ["QM4", "QM2"])
def test_a_get_that_waits_has_what_comes_to_any_part(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, options: int, to: str
) -> None:
    """It waits at the part of its own manager, and looks at the others repeatedly."""
    monkeypatch.setattr("sharedq.calls.get.parts.LOOK_MS", 60_000 if to == "QM4" else 50)
    for name in ("QM2", "QM4"):
        group.add_member(name)
        group.define_private(name, "IN")
    queue, found = opened(group), list[bytes]()
    waiter = threading.Thread(
        target=lambda: found.append(text(queue.get(options | WAIT, wait_ms=120_000).body)), daemon=True
    )
    waiter.start()
    until_waiting(group, SYSTEM_QSG_TRANSMIT_QUEUE, 1, structure="@QM4")
    send(group, b"there", "IN", to)
    waiter.join(60)
    assert found == [b"there"]


def test_nothing_is_locked_or_marked_there(scene: TestGroup) -> None:
    queue = opened(scene)
    for option in (GetOption.LOCK, GetOption.MARK_BROWSE_HANDLE):
        with pytest.raises(MQIError) as caught:
            queue.get(FIRST | int(option))
        assert caught.value.reason == MQRC.OPTIONS_ERROR


def test_a_message_that_is_too_long_stays_under_the_old_cursor(scene: TestGroup) -> None:
    queue = opened(scene)
    first = text(queue.get(FIRST).body)
    for _ in range(2):
        queue.get(NEXT)
    for _ in range(2):
        # It is the first message of the next part.
        assert queue.get(NEXT, max_length=1).reason == MQRC.TRUNCATED_MSG_FAILED
    following = text(queue.get(NEXT).body)
    assert (first[1:], following[1:]) == (b".0", b".0")
    assert first[:1] != following[:1]


def test_nothing_is_browsed_of_a_queue_that_is_empty(group: TestGroup) -> None:
    group.add_member("QM2")
    queue = opened(group, "QM2")
    for options in (FIRST, NEXT, NO_SYNCPOINT):
        with pytest.raises(NoMsgAvailable):
            queue.get(options)
    assert on_queue(group, *own_part("QM2")[::-1]) == []


@pytest.mark.rule("igq/parts", "A get by MsgId finds a message on its way, though igq generated the identifier.")
@pytest.mark.parametrize("options", [0, GetOption.COMPLETE_MSG])
def test_a_message_on_its_way_is_found_by_its_generated_msg_id(scene: TestGroup, options: int) -> None:
    to_a_manager, to_the_pool = send(scene, b"2.by id", "IN", "QM2"), send(scene, b"P.by id", "POOL", "QM2")
    urgent = scene.connect("QM1").put1("POOL", b"P.9", MQMD(priority=9), qmgr_name="QM2")
    queue = opened(scene)
    for sent, body in ((to_a_manager, b"2.by id"), (to_the_pool, b"P.by id"), (urgent, b"P.9")):
        by_msg_id = {"match": sent, "match_options": int(MatchOption.MATCH_MSG_ID)}
        for how in (FIRST | options, NO_SYNCPOINT | options):
            found = queue.get(how, **by_msg_id)  # type: ignore[arg-type]
            assert text(found.body) == body
            assert found.md.msg_id == sent.msg_id
        with pytest.raises(NoMsgAvailable):
            queue.get(NO_SYNCPOINT, **by_msg_id)  # type: ignore[arg-type]
