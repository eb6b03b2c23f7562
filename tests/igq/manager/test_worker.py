"""The manager's worker: tasks that it must not repeat for ever."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs

from igq.manager import worker as worker_module
from igq.manager.expiry import Sweep
from igq.manager.worker import Worker
from recovery.resolution import RecoveryReport
from recovery.target import Target
from sharedq.members.group import Group
from sharedq.members.news import ORPHANS, News
from sharedq.members.process import KeptProcess
from sharedq.mqi.constants import MQRC, Feedback, GetOption, PutOption, Report, SubOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD, MQSD
from sharedq.objects.store.orphans import Orphan, add_orphan, forget_orphan, orphans_of
from sharedq.redis.keys import private_structure
from sharedq.session.connection import Connection
from tests.support.agents import drain
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.scenes import until

pytestmark = pytest.mark.share

PATIENCE_S = 120


def worker_of_qm1(group: TestGroup, said: list[str]) -> Worker:
    registered = group.process("QM1")
    number = int(registered.token.rpartition(".")[2])
    process = KeptProcess(group.group, "QM1", registered.incarnation, number, time.monotonic() + 3600)
    return Worker(group.group, process, lambda message_id, **_: said.append(message_id))


def test_a_structure_that_cannot_be_used_keeps_no_other_from_being_swept(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    worker, names = worker_of_qm1(group, said), group.group.structure_names()
    assert len(names) > 1

    def go_on(sweep: Sweep, _: Connection) -> bool:
        assert not sweep.found_only
        if sweep.structure == names[0]:
            raise error_for(MQRC.CF_STRUC_IN_USE, "", sweep.structure)
        sweep.count = 1
        return False

    monkeypatch.setattr(Sweep, "go_on", go_on)
    sweep_with(worker)
    assert said == ["IGQ0012E", *["IGQ0011I"] * (len(names) - 1)]
    end(worker)


def test_a_task_that_redis_interrupts_is_one_line_of_the_log(group: TestGroup) -> None:
    said: list[str] = []
    worker = worker_of_qm1(group, said)

    def task() -> None:
        raise error_for(MQRC.CONNECTION_BROKEN, "", "QM1", "Redis fails over")

    with capture_logs() as lines:
        worker.submit(task)
        end(worker)
    (line,) = [line for line in lines if line["event"] == "task_failed"]
    assert "Redis fails over" in line["error"]
    assert "exc_info" not in line


def sweep_with(worker: Worker, *, found_only: bool = False) -> None:
    """Run it in its thread, to the end."""
    job = worker.report_expired if found_only else worker.discard_expired
    begun = threading.Event()
    worker.submit(partial(job, 0))
    worker.submit(begun.set)
    assert begun.wait(PATIENCE_S)
    until(lambda: not worker._sweeps, "it is over", PATIENCE_S)


def end(worker: Worker) -> None:
    worker.submit_last(worker.disconnect)
    worker._thread.join(PATIENCE_S)


@pytest.mark.rule(
    "mqi/topics", "A subscription whose expiry has run out ends with a manager's next sweep, if nobody has it open."
)
def test_a_sweep_ends_expired_subscriptions(group: TestGroup) -> None:
    group.define_structure()
    connection, options = group.connect(), SubOption.CREATE | SubOption.MANAGED | SubOption.DURABLE
    for name, expiry in (("SHORT", 1), ("OPEN", 1), ("LONG", 36_000), ("EVER", -1)):
        subscription = connection.subscribe("a", name=name, options=options, descriptor=MQSD(sub_expiry=expiry))
        if name != "OPEN":
            subscription.close()
    group.wait_redis_ms(150)
    said: list[str] = []
    worker = worker_of_qm1(group, said)
    sweep_with(worker)
    end(worker)
    topics = group.repository("QM1").topics
    assert [each.subscription.name for each in topics.subscriptions()] == ["EVER", "LONG", "OPEN"]
    assert len(group.repository("QM1").display_queues("SYSTEM.MANAGED.*")) == 3
    assert said == []


def test_orphans_are_looked_for_until_there_is_none_and_when_news_tell_of_one(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, looks = worker_of_qm1(group, []), list[int]()

    def counted(where: Group) -> Iterator[Orphan]:
        looks.append(1)
        return orphans_of(where)

    monkeypatch.setattr(worker_module, "orphans_of", counted)
    for expected in (1, 1):
        worker.delete_orphans(1000)
        assert len(looks) == expected
    # A hint is enough: there is none, so the next look is the last again.
    worker.expect_orphans()
    for expected in (2, 2):
        worker.delete_orphans(1000)
        assert len(looks) == expected
    end(worker)


def test_every_manager_hears_of_a_queue_that_becomes_an_orphan(group: TestGroup) -> None:
    manager = f"QM1.{group.process('QM1').incarnation}"
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    news = News(group.group, manager, heard.put)
    add_orphan(group.group, "APPL1", "REPLIES", "QM1.1.1.1")
    assert heard.get(timeout=PATIENCE_S) == ORPHANS
    forget_orphan(group.group, Orphan("REPLIES", "QM1.1.1.1", "APPL1"))
    news.close()


def put_dead(group: TestGroup, count: int = 250) -> None:
    """Messages that expire unseen, more than a sweep examines in one step."""
    with group.connect().open("Q", BOTH) as queue:
        queue.put_many([(MQMD(expiry=1), b"dead") for _ in range(count)])
    group.wait_redis_ms(150)


def in_steps(monkeypatch: pytest.MonkeyPatch, after_step: Callable[[int], None]) -> list[int]:
    """The number of messages gone after each step of a sweep. *after_step* is called then with the number of steps."""
    steps, go_on = list[int](), Sweep.go_on

    def watched(sweep: Sweep, connection: Connection) -> bool:
        is_more = go_on(sweep, connection)
        if sweep.structure == "APPL1":
            steps.append(sweep.count)
            after_step(len(steps))
        return is_more

    monkeypatch.setattr(Sweep, "go_on", watched)
    return steps


def test_a_recovery_waits_for_at_most_one_step_of_a_sweep(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    group.define_shared("Q")
    put_dead(group)
    said: list[str] = []
    worker, program = worker_of_qm1(group, said), group.process("QM1")
    group.connect("QM1", program).open("Q", BOTH).put(b"never", options=PutOption.SYNCPOINT)

    def after_step(step: int) -> None:
        if step == 1:
            worker.recover_dead(program.token, os.getpid())

    steps = in_steps(monkeypatch, after_step)
    sweep_with(worker)

    assert said == ["CSQ3201E", "CSQE008I", "CSQE011I", "CSQE013I", "CSQE012I", "CSQE014I", "IGQ0011I"]
    assert steps == [100, 200, 250]
    end(worker)


def test_a_sweep_is_not_begun_again_while_it_is_under_way(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    group.define_shared("Q")
    put_dead(group)
    worker = worker_of_qm1(group, [])

    def after_step(step: int) -> None:
        if step == 1:
            worker.submit(partial(worker.discard_expired, 0))

    steps = in_steps(monkeypatch, after_step)
    sweep_with(worker)
    assert steps == [100, 200, 250]
    end(worker)


def test_a_manager_that_stops_sweeps_no_more(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call after its end has no connection any more."""
    group.define_shared("Q")
    put_dead(group)
    said: list[str] = []
    worker = worker_of_qm1(group, said)
    steps = in_steps(monkeypatch, lambda _: worker.hurry())
    sweep_with(worker)
    assert (steps, said) == ([100], ["IGQ0011I"])
    end(worker)


@pytest.mark.rule(
    "mqi/reports", "Expired messages are reported within a minute after they are found, however long EXPRYINT is."
)
def test_messages_found_expired_are_reported_before_the_next_sweep(group: TestGroup) -> None:
    group.define_shared("Q")
    group.define_shared("REPLIES")
    worker = worker_of_qm1(group, [])
    asking: dict[str, Any] = {"expiry": 1, "report": int(Report.EXPIRATION), "reply_to_q": b"REPLIES"}
    with group.connect().open("Q", BOTH) as queue:
        found = queue.put(b"found", MQMD(priority=9, **asking))
        queue.put(b"alive", MQMD(priority=5))
        queue.put(b"unseen", MQMD(priority=1, **asking))
        group.wait_redis_ms(150)
        assert queue.get().body == b"alive"
    sweep_with(worker, found_only=True)
    assert [report.md.correl_id for report in drain(group.connect(), "REPLIES")] == [found.msg_id]
    sweep_with(worker)
    assert [report.md.feedback for report in drain(group.connect(), "REPLIES")] == [Feedback.EXPIRATION]
    end(worker)


def fail_to_recover(monkeypatch: pytest.MonkeyPatch, worker: Worker, reason: MQRC) -> list[int]:
    """Counts each try."""
    tries: list[int] = []

    def in_vain(*_: object, **_options: object) -> None:
        tries.append(1)
        raise error_for(reason, "", "APPL1")

    monkeypatch.setattr(worker, "recover", in_vain)
    return tries


def test_a_manager_that_stops_waits_for_no_redis_that_cannot_be_reached(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent has died, and its work cannot be recovered as long as Redis is away."""
    said: list[str] = []
    worker = worker_of_qm1(group, said)
    tries = fail_to_recover(monkeypatch, worker, MQRC.CONNECTION_BROKEN)
    outcome: list[bool] = []
    worker.submit(lambda: outcome.append(worker.recover_ended(group.process("QM1").token)))
    until(lambda: len(tries) > 1, "it tries again", PATIENCE_S)

    worker.hurry()

    until(lambda: outcome == [False], "it gives up", PATIENCE_S)
    assert said == ["CSQE015I"]
    worker.end()


def test_a_structure_that_delays_the_agents_recovery_delays_nothing_else(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch finds the rest, and tries again. Until then the next agent is refused its tag."""
    said: list[str] = []
    worker = worker_of_qm1(group, said)
    tries = fail_to_recover(monkeypatch, worker, MQRC.CF_NOT_AVAILABLE)
    outcome: list[object] = []

    worker.submit(lambda: outcome.append(worker.recover_ended(group.process("QM1").token)))
    worker.submit(lambda: outcome.append("the next task"))

    until(lambda: len(outcome) == 2, "it goes on", PATIENCE_S)
    assert (outcome, len(tries), said) == ([False, "the next task"], 1, ["CSQE015I"])
    worker.end()


def test_all_targets_of_a_look_are_recovered_together_before_the_next_look(group: TestGroup) -> None:
    group.define_shared("Q")
    said: list[str] = []
    worker, program = worker_of_qm1(group, said), group.process("QM1")
    with group.connect().open("Q", BOTH) as queue:
        queue.put_many([(MQMD(), b"%d" % number) for number in range(20)])
    lost = [group.connect("QM1", program) for _ in range(20)]
    for connection in lost:
        connection.open("Q", BOTH).get(GetOption.SYNCPOINT)
        program.abandon(connection.connection.token)
    program._tell_abandoned()
    looked_again = threading.Event()

    worker.recover_soon([Target.parse(each.connection.token) for each in lost], looked_again.set)

    assert looked_again.wait(PATIENCE_S)
    assert said == ["CSQE008I", "CSQE011I", "CSQE013I", "CSQE012I", "CSQE014I"]
    assert len(drain(group.connect(), "Q")) == 20
    end(worker)


def test_programs_that_were_seen_to_end_are_recovered_in_one_go(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, together = worker_of_qm1(group, []), list[list[str]]()

    def record(_group: Group, _connection: Connection, targets: Sequence[Target], **_: object) -> list[RecoveryReport]:
        together.append([target.token for target in targets])
        return []

    monkeypatch.setattr("igq.manager.worker.recover_all", record)
    tokens = [group.process("QM1").token for _ in range(5)]
    told = threading.Event()
    worker.submit(partial(until, told.is_set, "all are told of", PATIENCE_S))
    for token in tokens:
        worker.recover_dead(token, os.getpid())
    # Redis does not know these, or they belong to another process.
    worker.recover_dead("QM1.1.77", os.getpid())
    worker.recover_dead(group.process("QM1").token, os.getpid() + 1)
    told.set()
    until(lambda: bool(together), "they are recovered", PATIENCE_S)
    worker.end()
    worker._thread.join(PATIENCE_S)
    assert together == [tokens]


def test_an_impossible_recovery_is_reported_and_not_repeated(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its claims or the leases run out, and a look finds it then."""
    said: list[str] = []
    worker, over = worker_of_qm1(group, said), threading.Event()

    def in_vain(*_: object, **_options: object) -> list[RecoveryReport]:
        raise error_for(MQRC.CF_STRUC_IN_USE, "", "APPL1")

    monkeypatch.setattr("igq.manager.worker.recover_all", in_vain)
    worker.recover_soon([Target.parse("QM1.1.7"), Target.parse("QM1.1.8")], lambda: said.append("looked"))
    worker.submit(over.set)
    assert over.wait(PATIENCE_S)
    worker.end()
    worker._thread.join(PATIENCE_S)
    assert said == ["CSQE015I"]


@pytest.fixture
def journals(group: TestGroup) -> list[str]:
    """The keys of two journals, of a shared structure and of the manager's own, with 10,000 puts each."""
    group.define_shared("Q")
    group.define_private("QM1", "P")
    for name in ("Q", "P"):
        with group.connect().open(name, BOTH) as queue:
            for _ in range(20):
                queue.put_many([(MQMD(), b"x" * 10) for _ in range(500)])
    return [group.group.structure(name).journal for name in ("APPL1", private_structure("QM1"))]


def trim(group: TestGroup, journals: list[str], limit: int) -> tuple[list[int], list[int]]:
    """Trim as a manager does. Returns the bytes and the entries of each journal afterwards."""
    group.group.settings = group.group.settings.model_copy(update={"journal_max_bytes": limit})
    client = group.group.client(journals[0])
    last = [client.xrevrange(key, count=1) for key in journals]
    worker = worker_of_qm1(group, [])
    worker.submit(partial(worker.discard_expired, 0))

    def in_bytes() -> list[int]:
        return [client.memory_usage(key) or 0 for key in journals]

    until(lambda: not limit or max(in_bytes()) <= limit, "the journals are within the limit", PATIENCE_S)
    end(worker)
    assert [client.xrevrange(key, count=1) for key in journals] == last
    return in_bytes(), [client.xlen(key) for key in journals]


def test_the_oldest_entries_of_a_journal_go_when_it_takes_too_many_bytes(group: TestGroup, journals: list[str]) -> None:
    in_bytes, _ = trim(group, journals, 0)
    limit = min(in_bytes) // 2

    _, entries = trim(group, journals, limit)

    assert min(entries) > 5


def test_a_journal_without_a_limit_of_bytes_is_left_alone(group: TestGroup, journals: list[str]) -> None:
    client = group.group.client(journals[0])
    before = [client.xlen(key) for key in journals]

    _, entries = trim(group, journals, 0)

    assert entries == before
