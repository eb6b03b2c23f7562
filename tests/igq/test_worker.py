"""The manager's worker: what it must not go on with for ever."""

from __future__ import annotations

import time
from typing import Any

import pytest

from igq import worker as worker_module
from igq.worker import Worker
from sharedq.connection import Connection
from sharedq.kept_process import KeptProcess
from sharedq.mqi.constants import MQRC, Feedback, Report
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD
from tests.support.agents import drain
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.scenes import until

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

    def sweep(_: Connection, structure: str, *, found_only: bool) -> int:
        assert not found_only
        if structure == names[0]:
            raise error_for(MQRC.CF_STRUC_IN_USE, "", structure)
        return 1

    monkeypatch.setattr(worker_module, "discard_expired", sweep)
    worker.discard_expired(0)
    assert said == ["IGQ0012E", *["IGQ0011I"] * (len(names) - 1)]
    worker.disconnect()
    worker.end()


def test_what_was_found_expired_is_reported_though_nobody_looks_for_the_rest_yet(group: TestGroup) -> None:
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
    for _ in range(2):
        worker.report_expired(60_000)
    assert [report.md.correl_id for report in drain(group.connect(), "REPLIES")] == [found.msg_id]
    worker.discard_expired(60_000)
    assert [report.md.feedback for report in drain(group.connect(), "REPLIES")] == [Feedback.EXPIRATION]
    worker.disconnect()
    worker.end()


def fail_to_recover(monkeypatch: pytest.MonkeyPatch, worker: Worker, reason: MQRC) -> list[int]:
    """Grows by one for each try."""
    tries: list[int] = []

    def in_vain(*_: object, **_options: object) -> None:
        tries.append(1)
        raise error_for(reason, "", "APPL1")

    monkeypatch.setattr(worker, "recover", in_vain)
    return tries


def test_a_manager_that_stops_waits_for_no_redis_that_cannot_be_reached(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent has died, and what that did is nowhere to be recovered as long as Redis is away."""
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


def test_a_structure_that_delays_the_recovery_of_its_agent_delays_nothing_else(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch finds what is left, and tries again; until then the next agent is refused its tag."""
    said: list[str] = []
    worker = worker_of_qm1(group, said)
    tries = fail_to_recover(monkeypatch, worker, MQRC.CF_NOT_AVAILABLE)
    outcome: list[object] = []

    worker.submit(lambda: outcome.append(worker.recover_ended(group.process("QM1").token)))
    worker.submit(lambda: outcome.append("the next task"))

    until(lambda: len(outcome) == 2, "it goes on", PATIENCE_S)
    assert (outcome, len(tries), said) == ([False, "the next task"], 1, ["CSQE015I"])
    worker.end()
