"""The manager's worker: what it must not go on with for ever."""

from __future__ import annotations

import time

import pytest

from igq import worker as worker_module
from igq.worker import Worker
from sharedq.connection import Connection
from sharedq.kept_process import KeptProcess
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
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

    def sweep(_: Connection, structure: str) -> int:
        if structure == names[0]:
            raise error_for(MQRC.CF_STRUC_IN_USE, "", structure)
        return 1

    monkeypatch.setattr(worker_module, "discard_expired", sweep)
    worker.discard_expired(0)
    assert said == ["IGQ0012E", *["IGQ0011I"] * (len(names) - 1)]
    worker.disconnect()
    worker.end()


def test_a_manager_that_stops_waits_for_no_structure_that_cannot_be_reached(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent has died, and what that did is nowhere to be recovered as long as a node of the Cluster is away."""
    said: list[str] = []
    worker = worker_of_qm1(group, said)
    tries: list[int] = []

    def in_vain(*_: object, **_options: object) -> None:
        tries.append(1)
        raise error_for(MQRC.CF_STRUC_IN_USE, "", "APPL1")

    monkeypatch.setattr(worker, "recover", in_vain)
    outcome: list[bool] = []
    worker.submit(lambda: outcome.append(worker.recover_ended(group.process("QM1").token)))
    until(lambda: len(tries) > 1, "it tries again", PATIENCE_S)

    worker.hurry()

    until(lambda: outcome == [False], "it gives up", PATIENCE_S)
    assert said == ["CSQE015I"]
    worker.end()
