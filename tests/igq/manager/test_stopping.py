"""A manager that is told to stop: nothing of it is left, whatever is connected, was lost, or is queued for it."""

from __future__ import annotations

import os
import queue
import threading
from functools import partial
from typing import Any

import pytest

from igq.manager.incarnation import Inbox, Incarnation, IncarnationEnd
from igq.manager.membership import Membership
from sharedq import connect
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from tests.support.members import TestGroup
from tests.support.scenes import until

PATIENCE_S = 60


def _wait(event: threading.Event) -> None:
    event.wait(PATIENCE_S)


class Manager:
    """QM2 in a thread, without an agent. Its log puts a task into the worker's queue, as the events of a manager do."""

    def __init__(self, group: TestGroup) -> None:
        self.group = group
        self.membership = Membership.join(group.group, "QM2", {"pid": os.getpid(), "host": "here"}, lambda _: None)
        self.inbox: Inbox = queue.SimpleQueue()
        self.incarnation = Incarnation(self.membership, self.inbox, self._say)
        self.endings: list[IncarnationEnd] = []
        self.opened = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.opened.wait(PATIENCE_S)

    def _run(self) -> None:
        self.endings.append(self.incarnation.run(lambda: None, self._open))

    def _open(self, _prepared: None) -> None:
        self.membership.tell(state="RUNNING")
        self.opened.set()

    def _say(self, _message_id: str, **_fields: Any) -> None:
        self.incarnation.worker.submit(self._use_connection)

    def _use_connection(self) -> None:
        self.incarnation.worker.connection()

    def stop(self) -> None:
        """Stop at once, and wait until the worker has ended, too."""
        self.inbox.put(lambda: self.incarnation.request_stop(is_immediate=True))
        self.thread.join(PATIENCE_S)
        assert self.endings == [IncarnationEnd.STOPPED]
        self.incarnation.worker._thread.join(PATIENCE_S)
        assert not self.incarnation.worker._thread.is_alive()

    def left(self) -> list[str]:
        """Return the entries that the group still has under its incarnation."""
        keys, client = self.group.group.keys, self.group.group.client()
        found = [*client.hkeys(keys.owners), *client.hkeys(keys.processes), *client.zrange(keys.leases, 0, -1)]
        return [name.decode() for name in found if self.membership.token in name.decode()]


@pytest.fixture
def manager(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> Manager:
    group.define_structure()
    group.define_shared("Q")
    group.repository("QM2").prepare_manager("QM2")
    monkeypatch.setattr(Incarnation, "_start_agent", lambda _self: None)
    return Manager(group)


@pytest.mark.invariant(2)
def test_a_manager_that_stops_at_once_leaves_nothing_of_itself(group: TestGroup, manager: Manager) -> None:
    program = connect("QM2", settings=group.settings)
    program.put1("Q", b"kept")
    manager.stop()
    assert manager.left() == []
    with pytest.raises(MQIError) as caught:
        program.put1("Q", b"late")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN


@pytest.mark.parametrize("is_told", [True, False])
def test_a_manager_that_has_lost_a_connection_leaves_nothing(manager: Manager, *, is_told: bool) -> None:
    lost = threading.Event()

    def lose() -> None:
        manager.incarnation.worker.connection().break_off()
        if is_told:
            manager.incarnation.worker.connection()
        lost.set()

    manager.incarnation.worker.submit(lose)
    assert lost.wait(PATIENCE_S)
    manager.stop()
    assert manager.left() == []


def test_no_task_runs_after_the_one_that_shuts_down(manager: Manager) -> None:
    worker, ran = manager.incarnation.worker, list[str]()
    goes_on = threading.Event()
    worker.submit(partial(_wait, goes_on))
    worker.submit(lambda: ran.append("before"))
    manager.inbox.put(lambda: manager.incarnation.request_stop(is_immediate=True))
    until(lambda: manager.incarnation._stop and manager.incarnation._stop.is_shutting_down, "it shuts down", PATIENCE_S)
    worker.submit(lambda: ran.append("after"))
    goes_on.set()
    manager.stop()
    assert ran == ["before"]


def test_no_queued_task_runs_after_the_lease_is_lost(manager: Manager) -> None:
    worker, ran = manager.incarnation.worker, list[str]()
    begun, goes_on = threading.Event(), threading.Event()
    worker.submit(begun.set)
    worker.submit(partial(_wait, goes_on))
    worker.submit(lambda: ran.append("late"))
    assert begun.wait(PATIENCE_S)
    manager.inbox.put(lambda: manager.incarnation._lose("a test"))
    manager.thread.join(PATIENCE_S)
    goes_on.set()
    worker._thread.join(PATIENCE_S)
    assert (manager.endings, ran) == ([IncarnationEnd.LEASE_LOST], [])
