"""Expired messages are discarded, and reported once to those who asked for it (MQRO_EXPIRATION)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from random import Random
from typing import Any

import pytest

from igq.manager.expiry import Sweep
from recovery.resolution import recover
from sharedq.admin.backup import capture
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover as restore
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.unit.commit import backout
from sharedq.mqi.constants import Feedback, GetOption, MsgFlag, MsgType, OpenOption, Report
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueRemote
from sharedq.redis.link import Reply
from tests.recovery.scene import Died, die_after_call
from tests.support.agents import AgentOfQM2, Put, drain
from tests.support.backups import between_calls, lose
from tests.support.expiry import discard_expired
from tests.support.groups import BOTH, put_member
from tests.support.members import TestGroup
from tests.support.scenes import stored
from tests.support.waits import LONG_MS, until_waiting

#: Longer than the life of a message with Expiry 1.
DEAD_BY_MS = 150
#: A sweep that reports takes at least this many writes to Redis.
WRITES_MIN = 4
PLACES = ("shared", "elsewhere")


def dying(report: int = int(Report.EXPIRATION), **fields: Any) -> MQMD:
    """A descriptor of a message that expires after a tenth of a second."""
    return MQMD(version=2, report=int(report), reply_to_q=b"REPLIES", expiry=1, **fields)


@pytest.fixture(params=PLACES)
def defined(group: TestGroup, request: pytest.FixtureRequest) -> TestGroup:
    group.define_shared("Q")
    if request.param == "shared":
        group.define_shared("REPLIES")
    else:
        group.define_private("QM1", "REPLIES")
    return group


@pytest.fixture
def queue(defined: TestGroup) -> Queue:
    return defined.connect().open("Q", BOTH)


def sweep(group: TestGroup, structure: str = "APPL1") -> int:
    """The regular work of a manager."""
    return discard_expired(group.connect().connection, structure)


def told(group: TestGroup) -> list[tuple[int, bytes]]:
    """Feedback and CorrelId of the reports. Messages that expire in the same millisecond are reported in any order."""
    return sorted((report.md.feedback, report.md.correl_id) for report in drain(group.connect(), "REPLIES"))


@pytest.mark.parametrize(
    ("report", "length"),
    [(Report.EXPIRATION, 0), (Report.EXPIRATION_WITH_DATA, 100), (Report.EXPIRATION_WITH_FULL_DATA, 250)],
)
def test_the_fields_of_a_report(defined: TestGroup, queue: Queue, report: Report, length: int) -> None:
    body = bytes(range(250))
    passing = report | Report.PASS_DISCARD_AND_EXPIRY
    sent = queue.put(body, dying(passing, priority=7, persistence=1, format=b"MQSTR"))
    defined.wait_redis_ms(DEAD_BY_MS)

    assert sweep(defined) == 1

    (made,) = drain(defined.connect(), "REPLIES")
    assert (made.body, made.md.msg_type, made.md.feedback) == (body[:length], MsgType.REPORT, Feedback.EXPIRATION)
    assert (made.md.correl_id, made.md.priority, made.md.persistence) == (sent.msg_id, 7, 1)
    # A minute.
    assert 0 < made.md.expiry <= 600
    assert stored(defined) == 0
    assert sweep(defined) == 0


def look(queue: Queue, how: str) -> None:
    """Find expired messages in one of the possible ways."""
    options, more = 0, dict[str, Any]()
    match how:
        case "browse":
            options = int(GetOption.BROWSE_FIRST)
        case "logical":
            options = int(GetOption.LOGICAL_ORDER)
        case "selection":
            more = {"match": MQMD(version=2, correl_id=b"c" * 24)}
    with pytest.raises(NoMsgAvailable):
        queue.get_many(10) if how == "batch" else queue.get(options, **more)


@pytest.mark.rule(
    "mqi/reports", "A message that expires is reported once, even if several managers find it or one dies at it."
)
@pytest.mark.parametrize("how", ["get", "batch", "browse", "logical", "selection"])
def test_a_message_found_expired_by_many_is_reported_once(defined: TestGroup, queue: Queue, how: str) -> None:
    sent = [queue.put(b"%d" % n, dying(correl_id=b"c" * 24)) for n in range(3)]
    silent = queue.put(b"silent", MQMD(version=2, expiry=1))
    defined.wait_redis_ms(DEAD_BY_MS)

    look(queue, how)

    assert told(defined) == []
    assert sweep(defined) >= len(sent)
    reported = told(defined)
    assert reported == [(Feedback.EXPIRATION, md.msg_id) for md in sent]
    assert silent.msg_id not in {correl_id for _, correl_id in reported}
    assert stored(defined) == 0


def test_members_of_a_group_are_reported_each(defined: TestGroup, queue: Queue) -> None:
    for number in (1, 2):
        flags = int(MsgFlag.LAST_MSG_IN_GROUP if number == 2 else MsgFlag.MSG_IN_GROUP)
        queue.put(b"%d" % number, dying(group_id=b"g" * 24, msg_seq_number=number, msg_flags=flags))
    defined.wait_redis_ms(DEAD_BY_MS)
    with pytest.raises(NoMsgAvailable):
        queue.get(GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE)
    sweep(defined)
    reports = drain(defined.connect(), "REPLIES")
    assert [(each.md.group_id, each.md.msg_seq_number) for each in reports] == [(b"g" * 24, 1), (b"g" * 24, 2)]


def test_a_message_in_a_unit_of_work_is_reported_after_its_return(defined: TestGroup, queue: Queue) -> None:
    queue.put(b"x", dying())
    queue.get(GetOption.SYNCPOINT)
    defined.wait_redis_ms(DEAD_BY_MS)
    assert sweep(defined) == 0
    backout(queue.connection)
    assert sweep(defined) == 1
    assert len(told(defined)) == 1


def test_a_queue_that_is_deleted_takes_what_was_found_dead_with_it(defined: TestGroup, queue: Queue) -> None:
    queue.put(b"x", dying())
    defined.wait_redis_ms(DEAD_BY_MS)
    look(queue, "get")
    queue.close()
    defined.repository("QM1").delete("QLOCAL", "Q")
    assert sweep(defined) == 1
    assert (told(defined), stored(defined)) == ([], 0)


@pytest.mark.rule(
    "mqi/reports", "A message that expires is reported once, even if several managers find it or one dies at it."
)
@pytest.mark.invariant(8)
@pytest.mark.parametrize("found", [False, True])
def test_killed_after_any_write_one_report_is_made(defined: TestGroup, queue: Queue, found: bool) -> None:
    for number in count(1):
        sent = [queue.put(b"%d" % n, dying(persistence=1)) for n in range(3)]
        defined.wait_redis_ms(DEAD_BY_MS)
        if found:
            look(queue, "get")
        manager = defined.connect().connection
        die_after_call(manager, number)
        try:
            discard_expired(manager, "APPL1")
        except Died:
            assert recover(defined.group, queue.connection, manager.process.token, force=True).is_resolved
            sweep(defined)
        else:
            break
        assert told(defined) == [(Feedback.EXPIRATION, md.msg_id) for md in sent], f"killed after write {number}"
        assert stored(defined) == 0
    assert number > WRITES_MIN


def test_large_messages_are_read_once(defined: TestGroup, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one call there are no more than a mebibyte of them, and one."""
    sent = [queue.put(bytes(600_000), dying()) for _ in range(5)]
    defined.wait_redis_ms(DEAD_BY_MS)
    manager, looked = defined.connect().connection, list[int]()
    call = manager.checked_call

    def watched(name: str, *rest: Any) -> Reply:
        reply = call(name, *rest)
        if name == "structure/expire":
            looked.append(reply[2])
        return reply

    monkeypatch.setattr(manager, "checked_call", watched)
    assert discard_expired(manager, "APPL1") == len(sent)
    assert looked == [2, 2, 1]
    assert sorted(told(defined)) == sorted((Feedback.EXPIRATION, md.msg_id) for md in sent)


@pytest.mark.rule("mqi/reports", "An expired message is reported after a recovery of its structure from a backup too.")
@pytest.mark.parametrize("seed", range(12))
def test_a_structure_that_is_recovered_from_a_backup_reports_the_rest(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """During a backup messages are found expired, and sweeps are killed: unreported messages come back."""
    monkeypatch.setattr(capture, "_PAGE_MESSAGES", 3)
    monkeypatch.setattr(capture, "_ENTRIES", (1, 500)[seed % 2])
    group.define_shared("Q")
    group.define_private("QM1", "REPLIES")
    random = Random(seed)
    with group.connect().open("Q", BOTH) as queue:
        sent = [queue.put(b"%d" % n, dying(persistence=1, priority=n % 3)) for n in range(12)]
        group.wait_redis_ms(DEAD_BY_MS)

        def step() -> None:
            what = random.random()
            if what < 0.3:
                look(queue, random.choice(["get", "browse", "selection"]))
            elif what < 0.5:
                manager = group.connect().connection
                die_after_call(manager, random.randrange(1, 30))
                try:
                    discard_expired(manager, "APPL1")
                except Died:
                    assert recover(
                        group.group, group.connect().connection, manager.process.token, force=True
                    ).is_resolved

        if seed % 3:
            look(queue, "browse")
        between_calls(group, monkeypatch, step)
        backup(group.group, "APPL1")
    lose(group)
    restore(group.group, "APPL1")
    sweep(group)
    assert sorted(told(group)) == sorted((Feedback.EXPIRATION, md.msg_id) for md in sent)
    assert stored(group) == 0


@pytest.mark.rule(
    "mqi/reports", "A message that expires is reported once, even if several managers find it or one dies at it."
)
def test_managers_that_sweep_at_once_report_once(defined: TestGroup, queue: Queue) -> None:
    sent = [queue.put(b"%d" % n, dying()) for n in range(150)]
    defined.wait_redis_ms(DEAD_BY_MS)
    with ThreadPoolExecutor(4) as pool:
        swept = list(pool.map(lambda _: sweep(defined), range(4)))
    assert sum(swept) == len(sent)
    assert told(defined) == [(Feedback.EXPIRATION, md.msg_id) for md in sent]


@pytest.mark.parametrize("found", [False, True])
def test_a_sweep_ends_even_if_others_go_on_expiring(defined: TestGroup, queue: Queue, found: bool) -> None:
    """It handles the messages that were there when it began, and leaves the rest to the next one."""

    def expire(count: int) -> None:
        queue.put_many([(dying(), b"x") for _ in range(count)])
        defined.wait_redis_ms(DEAD_BY_MS)
        while found:
            try:
                queue.get_many(100)
            except NoMsgAvailable:
                break

    expire(250)
    manager, structure_sweep, steps = defined.connect().connection, Sweep("APPL1", found_only=found), 1
    while structure_sweep.go_on(manager) and steps < 10:
        steps += 1
        expire(100)
    assert (steps, structure_sweep.count) == (3, 250)
    assert discard_expired(manager, "APPL1") == 200


@pytest.mark.rule("mqi/reports", "A message that expires on a transmission queue is reported.")
def test_on_its_way_through_igq_it_is_reported_too(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("REPLIES")
    group.define_private("QM2", "ORDERS")
    for move_first in (False, True):
        sent = put("ORDERS", b"x", report=int(Report.EXPIRATION), reply_to_q=b"REPLIES", expiry=1)
        group.wait_redis_ms(DEAD_BY_MS)
        if move_first:
            assert agent.move().left == 0
        assert sweep(group, "@QM2") == 1
        (made,) = drain(group.connect(), "REPLIES")
        assert (made.md.feedback, made.md.correl_id) == (Feedback.EXPIRATION, sent.msg_id)
        assert stored(group, "@QM2") == 0


@pytest.mark.rule("mqi/reports", "A message that expires on a transmission queue is reported.")
def test_a_report_from_a_transmission_queue_lacks_the_header(group: TestGroup) -> None:
    group.define_private("QM1", "REPLIES")
    group.define_private("QM1", "OUT", usage="XMITQ")
    group.define("QM1", QueueRemote(name="FAR", remote_queue="Q", remote_qmgr="QM9", transmission_queue="OUT"))
    connection: QueueManagerConnection = group.connect()
    with connection.open("FAR", OpenOption.OUTPUT) as far:
        sent = far.put(b"data", dying(Report.EXPIRATION_WITH_FULL_DATA, format=b"MQSTR"))
    group.wait_redis_ms(DEAD_BY_MS)
    assert sweep(group, "@QM1") == 1
    (made,) = drain(connection, "REPLIES")
    assert (made.body, made.md.correl_id, made.md.format.rstrip()) == (b"data", sent.msg_id, b"MQSTR")


@pytest.mark.rule(
    "mqi/waiting", "A message that counts because its duplicate has gone ends a wait, as if it had just arrived."
)
@pytest.mark.parametrize("report", [Report.NONE, Report.EXPIRATION])
def test_a_message_that_counts_after_a_discarded_twin_ends_a_wait(group: TestGroup, report: Report) -> None:
    """Of segments at one place the first counts. The one after it has another length, which completes the whole."""
    group.define_shared("Q")
    group.define_shared("REPLIES")
    queue, waiting = (group.connect().open("Q", BOTH) for _ in range(2))
    dead = dying(report, group_id=b"s" * 24, msg_flags=MsgFlag.SEGMENT)
    queue.put(b"1234", dead)
    put_member(queue, b"s" * 24, 1, b"12345678", int(MsgFlag.SEGMENT))
    put_member(queue, b"s" * 24, 1, b"9", int(MsgFlag.LAST_SEGMENT), offset=8)
    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(waiting.get, GetOption.COMPLETE_MSG | GetOption.WAIT, wait_ms=LONG_MS)
        until_waiting(group, "Q", 1)
        group.wait_redis_ms(DEAD_BY_MS)
        assert sweep(group) == 1
        assert whole.result(20).body == b"123456789"
