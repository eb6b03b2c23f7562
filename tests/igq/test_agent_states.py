"""The agent's state of retry, cause by cause: entered, shown with the time of the next try, left at once when told.

IBM MQ for z/OS, "Specific properties of intra-group queuing". How often and how long it tries: test_agent_retry.py.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from igq.agent.channel import Channel
from igq.agent.reporting import AgentState
from igq.agent.retry import SHORT_RETRY_INTERVAL_S
from igq.agent.runner import Agent
from igq.agent.source import WAIT_S
from igq.mqsc_session import SessionRepository
from igq.status import AgentStatus, _agent
from sharedq.connecting import RESERVED_TAG, tag_argument
from sharedq.kept_process import KeptProcess
from sharedq.keys import private_structure
from sharedq.mqi.constants import MQRC, ConnectOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.system import define_system_objects
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until

PATIENCE_S = 120


class AgentAtWork:
    """QM1's agent in a thread of its own."""

    def __init__(self, group: TestGroup) -> None:
        self.group, self.sink = group, io.StringIO()
        registered = group.process("QM1")
        number = int(registered.token.rpartition(".")[2])
        self.process = KeptProcess(group.group, "QM1", registered.incarnation, number, time.monotonic() + 3600)
        self.agent = Agent(group.group, self.process, Channel(io.StringIO(), self.sink), AgentState("STARTING", 1, 0))
        self.failure: MQIError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self.agent.run()
        except MQIError as error:
            self.failure = error

    def stop(self) -> None:
        self.agent.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def status(self) -> AgentStatus:
        """As `igq status` shows it."""
        key = self.group.group.keys.agents
        text = self.group.group.client().hget(key, "QM1")
        return _agent(json.loads(str(text, "utf-8")) if text else {}, is_up=True)  # type: ignore[arg-type]

    def wait_for(self, state: str) -> AgentStatus:
        until(lambda: self.status().state == state, f"it is {state}", PATIENCE_S)
        return self.status()

    def said(self) -> list[str]:
        lines = map(json.loads, self.sink.getvalue().splitlines())
        return [line["id"] for line in lines if line["kind"] == "say"]


@pytest.fixture
def work(group: TestGroup) -> Iterator[AgentAtWork]:
    group.add_member("QM2")
    work = AgentAtWork(group)
    yield work
    work.stop()


def define_again(group: TestGroup) -> None:
    define_system_objects(group.repository("QM1"), group.settings.default_structure)


def spoil(group: TestGroup, usage: str) -> None:
    """Give QM1's part attributes that no command would."""
    keys = group.group.structure(private_structure("QM1"))
    queue = keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE)
    version, text = cast(list[bytes], group.group.client().hmget(queue.queue, "ver", "def"))
    definition = json.dumps(json.loads(text) | {"usage": usage})
    group.group.call("structure/set_partition", [queue.queue], [int(version) + 1, definition])
    group.repository("QM1").wake_waiters(keys.name, SYSTEM_QSG_TRANSMIT_QUEUE)


def send_astray(group: TestGroup) -> None:
    """A persistent message that QM1 can neither deliver nor dead-letter."""
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": ""})
    group.connect("QM2").put1("NOWHERE", b"astray", MQMD(persistence=1), qmgr_name="QM1")


Act = Callable[[TestGroup], None]

CAUSES: dict[str, tuple[Act, Act, str]] = {
    "queue missing": (
        lambda group: group.repository("QM1").delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE),
        define_again,
        SYSTEM_QSG_TRANSMIT_QUEUE,
    ),
    "wrong attributes": (lambda group: spoil(group, "NORMAL"), lambda group: spoil(group, "XMITQ"), "USAGE(NORMAL)"),
    "inhibited for gets": (
        lambda group: group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"}),
        lambda group: group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "ENABLED"}),
        "GET",
    ),
    "batch backed out": (send_astray, lambda group: group.define_private("QM1", "NOWHERE"), "NOWHERE"),
}

#: No command makes these, so no waiting agent is told of them.
SEEN_AT_OPEN = ("wrong attributes",)


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_leads_into_retry_and_its_repair_out_of_it(group: TestGroup, work: AgentAtWork, cause: str) -> None:
    happen, repair, words = CAUSES[cause]
    if cause in SEEN_AT_OPEN:
        happen(group)
        work.start()
    else:
        work.start()
        work.wait_for("RUNNING")
        happen(group)

    shown = work.wait_for("RETRY")
    assert (shown.short_retries, shown.long_retries) == (0, 0)
    assert shown.next_retry_s is not None
    assert 0 <= shown.next_retry_s <= SHORT_RETRY_INTERVAL_S
    assert words in shown.last_error
    assert work.said()[-1] == "CSQM065E"

    repair(group)
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})

    shown = work.wait_for("RUNNING")
    assert (shown.short_retries, shown.next_retry_s) == (0, None)
    assert "CSQM066I" in work.said()
    if cause == "batch backed out":
        assert [body for body, _ in on_queue(group, "NOWHERE", "@QM1")] == [b"astray"]


def test_a_try_in_vain_is_counted(group: TestGroup, work: AgentAtWork) -> None:
    work.start()
    work.wait_for("RUNNING")
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
    work.wait_for("RETRY")
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    until(lambda: work.status().short_retries == 1, "the retry is counted", PATIENCE_S)
    assert work.status().state == "RETRY"


def test_who_waits_says_for_how_long(group: TestGroup, work: AgentAtWork) -> None:
    """So that its manager takes neither for a hang."""
    group.define_private("QM1", "QM2", usage="XMITQ")
    work.start()
    until(lambda: rests(work, "the delivery") == WAIT_S, "it waits for messages", PATIENCE_S)
    until(lambda: rests(work, "mover of QM2 in @QM1") == WAIT_S, "its mover does", PATIENCE_S)

    for name in (SYSTEM_QSG_TRANSMIT_QUEUE, "QM2"):
        group.repository("QM1").alter("QLOCAL", name, {"get": "DISABLED"})

    until(lambda: rests(work, "the delivery") == SHORT_RETRY_INTERVAL_S, "it pauses", PATIENCE_S)
    until(lambda: rests(work, "mover of QM2 in @QM1") == SHORT_RETRY_INTERVAL_S, "its mover does", PATIENCE_S)


def rests(work: AgentAtWork, thread: str) -> float:
    """For how many seconds the thread may be silent, by its own account; 0 while it works."""
    return work.agent.pulses.read().get(thread, (0, 0.0))[1]


def test_a_refused_serialization_leads_into_retry(group: TestGroup, work: AgentAtWork) -> None:
    """As while peer recovery of its predecessor is still in progress."""
    tag = tag_argument("QM1", RESERVED_TAG + b"-IGQ-AGENT-QM1", ConnectOption.SERIALIZE_CONN_TAG_QSG)
    predecessor = group.connect("QM1", tag=tag)
    work.start()

    assert "CONN_TAG_IN_USE" in work.wait_for("RETRY").last_error
    predecessor.disconnect()
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})

    work.wait_for("RUNNING")


def test_trouble_with_redis_is_no_retry_but_the_end_of_this_run(work: AgentAtWork) -> None:
    """The manager recovers it and starts it again, which `restarts` counts."""
    work.start()
    work.wait_for("RUNNING")

    work.process.lose("as if Redis were gone")

    until(lambda: work.failure is not None, "it ends", PATIENCE_S)
    assert work.failure is not None
    assert work.failure.reason == MQRC.CONNECTION_BROKEN
    state = work.agent._reporter.state
    assert (state.state, state.short_retries, state.next_retry_ms) == ("RUNNING", 0, None)
