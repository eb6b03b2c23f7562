"""An agent whose lease is renewed, but that gets nothing done: ended, recovered, started again.

Its manager is a real `Incarnation` in this process; the agent is a real process, whose way to Redis is a proxy that
holds a call back in the middle of a batch, or that is stopped.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from igq.manager.incarnation import Inbox, Incarnation, IncarnationEnd
from igq.manager.membership import Membership
from igq.manager.worker import Worker
from igq.rehearsal.load.view import working_agent
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup
from tests.support.proxy import Proxy
from tests.support.scenes import on_queue, send_by_own_parts, stored, until
from tests.support.server import Server
from tests.support.status import read_status

pytestmark = pytest.mark.faults
LIMIT_S = 3.0
PATIENCE_S = 120
#: Seconds between two looks of a test: the awaited states take seconds.
LOOK_S = 0.05
COUNT = 60


def wait(is_true: Callable[[], object], what: str) -> None:
    until(is_true, what, PATIENCE_S, pause_s=LOOK_S)


class ManagerOfQM2:
    """A running incarnation of QM2, and its log messages."""

    def __init__(self, group: TestGroup) -> None:
        self.group = group
        self.said: list[tuple[str, dict[str, object]]] = []
        self._inbox: Inbox = queue.SimpleQueue()
        info = {"pid": os.getpid(), "host": "here"}
        self._membership = Membership.join(group.group, "QM2", info, lambda _: None)
        self._incarnation = Incarnation(self._membership, self._inbox, self._say)
        self._endings: list[IncarnationEnd] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._endings.append(self._incarnation.run(lambda: None, self._open))

    def _open(self, _prepared: None) -> None:
        self._membership.tell(state="RUNNING")

    def _say(self, message_id: str, **fields: object) -> None:
        self.said.append((message_id, fields))

    @property
    def worker(self) -> Worker:
        """A connection that recovers."""
        return self._incarnation.worker

    def agent(self, *, besides: int = 0) -> int:
        """Process id of an agent at work."""
        wait(lambda: working_agent(self.group.group, "QM2") not in (0, besides), "the agent works")
        return working_agent(self.group.group, "QM2")

    def why_restarted(self) -> str:
        """The text of CSQM067E, when it is logged."""
        wait(lambda: any(message_id == "CSQM067E" for message_id, _ in self.said), "CSQM067E")
        return str(next(fields["why"] for message_id, fields in self.said if message_id == "CSQM067E"))

    def lose(self) -> None:
        """It loses its lease. Then come the calls that reach it afterwards, as its successor would get them."""
        self._inbox.put(lambda: self._incarnation._lose("a test"))
        self._thread.join(PATIENCE_S)
        assert self._endings == [IncarnationEnd.LEASE_LOST]
        self._inbox.get(timeout=PATIENCE_S)()

    def stop(self) -> None:
        self._inbox.put(lambda: self._incarnation.request_stop(is_immediate=True))
        self._thread.join(PATIENCE_S)
        assert self._endings == [IncarnationEnd.STOPPED]


@pytest.fixture
def proxy(redis_server: Server, tmp_path: Path) -> Iterator[Proxy]:
    proxy = Proxy(redis_server.socket, tmp_path)
    yield proxy
    proxy.close()


@pytest.fixture
def duo(redis_server: Server, tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestGroup]:
    """QM1, and the objects of QM2. Agents reach Redis through the proxy, and are checked twice a second."""
    group = TestGroup(redis_server.url, tmp_path, lease_ms=600_000)
    group.add_member("QM1")
    group.add_member("QM2")
    group.group.leave()
    settings = {"group": group.settings.group, "redis_url": proxy.url, "data_dir": str(tmp_path), "lease_ms": "600000"}
    for name, value in settings.items():
        monkeypatch.setenv(f"IGQ_{name.upper()}", value)
    monkeypatch.setattr("igq.manager.membership.RENEWALS_PER_LEASE", 1200)
    monkeypatch.setattr("igq.manager.agent_child.silence_limit_s", lambda _: LIMIT_S)
    keys = group.group.keys
    client = group.group.client()
    # QM2's registration was only made to define its objects: a manager of that name will start.
    client.zrem(keys.leases, "QM2.1")
    yield group
    group.close()


@pytest.fixture
def manager(duo: TestGroup) -> Iterator[ManagerOfQM2]:
    manager = ManagerOfQM2(duo)
    yield manager
    manager.stop()


def bodies(group: TestGroup, name: str, structure: str) -> list[bytes]:
    return [body for body, _ in on_queue(group, name, structure)]


def send(group: TestGroup, name: str, first: int = 0, at: str = "QM1", to: str = "QM2") -> list[bytes]:
    """Put persistent messages. Returns their bodies."""
    sent = [b"%d" % n for n in range(first, first + COUNT)]
    connection = group.connect(at)
    for body in sent:
        connection.put1(name, body, MQMD(persistence=1, priority=0), qmgr_name=to)
    return sent


def test_a_dead_agent_is_shown_as_stopped_until_the_next_one_works(
    duo: TestGroup, manager: ManagerOfQM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    def state() -> str:
        (shown,) = [each.agent for each in read_status(duo.settings).managers if each.name == "QM2"]
        return shown.state

    agent, worker, may_recover = manager.agent(), manager.worker, threading.Event()
    recover_ended = worker.recover_ended

    def recover_late(token: str) -> bool:
        return may_recover.wait(PATIENCE_S) and recover_ended(token)

    monkeypatch.setattr(worker, "recover_ended", recover_late)
    assert state() == "RUNNING"
    os.kill(agent, signal.SIGKILL)
    wait(lambda: state() == "STOPPED", "the agent is shown as stopped")
    may_recover.set()
    manager.agent(besides=agent)
    assert state() == "RUNNING"


@pytest.mark.rule(
    "igq/self-recovery",
    "An agent that lives but makes no progress is ended and restarted, even in the middle of a batch.",
)
@pytest.mark.parametrize(
    ("script", "queue_name", "is_reply"),
    [
        ("structure/transfer", "OWN", False),
        ("structure/transfer", "OWN", True),
        ("structure/put", "POOL", False),
        ("admin/decide", "POOL", False),
        ("admin/decide", "POOL", True),
    ],
)
def test_an_agent_that_hangs_in_a_batch_is_replaced_and_its_work_resolved(
    duo: TestGroup,
    manager: ManagerOfQM2,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    queue_name: str,
    is_reply: bool,
) -> None:
    send_by_own_parts(monkeypatch)
    duo.define_private("QM2", "OWN")
    duo.define_shared("POOL")
    hanging = manager.agent()
    proxy.hold(script, is_reply=is_reply)

    sent = send(duo, queue_name)

    assert "the delivery made no progress" in manager.why_restarted()
    manager.agent(besides=hanging)
    # A call that it had under way arrives after its recovery, and must not count any more.
    proxy.release()
    sent += send(duo, queue_name, COUNT)
    structure = "@QM2" if queue_name == "OWN" else "APPL1"
    wait(lambda: len(on_queue(duo, queue_name, structure)) >= len(sent), "all are delivered")
    assert bodies(duo, queue_name, structure) == sent
    assert stored(duo, "@QM2") + stored(duo, "APPL1") == len(sent)


@pytest.mark.rule("igq/self-recovery", "An agent is ended and restarted if one of its movers makes no progress.")
def test_a_mover_that_hangs_ends_the_process_that_it_is_in(duo: TestGroup, manager: ManagerOfQM2, proxy: Proxy) -> None:
    duo.repository("QM2").alter_qmgr("QM2", {"igq": "DISABLED"})
    duo.define_private("QM1", "IN")
    hanging = manager.agent()
    proxy.hold("admin/decide", is_reply=False)
    duo.define_private("QM2", "QM1", usage="XMITQ")

    sent = send(duo, "IN", at="QM2", to="QM1")

    assert "mover of QM1 in @QM2 made no progress" in manager.why_restarted()
    manager.agent(besides=hanging)
    proxy.release()
    wait(lambda: len(on_queue(duo, "IN", "@QM1")) >= COUNT, "all are delivered")
    assert bodies(duo, "IN", "@QM1") == sent
    assert stored(duo, "@QM2") == 0


@pytest.mark.rule("igq/self-recovery", "A paused agent is ended and restarted.")
def test_an_agent_that_is_stopped_for_good_is_replaced(duo: TestGroup, manager: ManagerOfQM2) -> None:
    duo.define_private("QM2", "OWN")
    stopped = manager.agent()
    os.kill(stopped, signal.SIGSTOP)

    sent = send(duo, "OWN")

    assert manager.why_restarted().startswith("hangs: no answer for ")
    manager.agent(besides=stopped)
    wait(lambda: len(on_queue(duo, "OWN", "@QM2")) >= COUNT, "all are delivered")
    assert bodies(duo, "OWN", "@QM2") == sent


def test_an_agent_that_ends_with_its_manager_is_not_replaced(duo: TestGroup) -> None:
    manager = ManagerOfQM2(duo)
    manager.agent()

    manager.lose()

    assert [message_id for message_id, _ in manager.said] == ["CSQM050I"]
