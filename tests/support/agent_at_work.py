"""A whole agent in a thread of the test."""

from __future__ import annotations

import io
import json
import threading
import time

from igq.agent.process import Agent
from igq.agent.progress.pipe import Pipe
from igq.agent.progress.report import AgentState
from igq.operations.status import AgentStatus, _agent
from sharedq.members.process import KeptProcess
from sharedq.mqi.errors import MQIError
from tests.support.members import TestGroup
from tests.support.scenes import until

PATIENCE_S = 120


class AgentAtWork:
    """QM1's agent in its own thread."""

    def __init__(self, group: TestGroup) -> None:
        self.group, self.sink = group, io.StringIO()
        registered = group.process("QM1")
        number = int(registered.token.rpartition(".")[2])
        self.process = KeptProcess(group.group, "QM1", registered.incarnation, number, time.monotonic() + 3600)
        self.agent = Agent(group.group, self.process, Pipe(io.StringIO(), self.sink), AgentState("STARTING", 1, 0))
        # The call would end its process, which is the test's.
        self.agent._pool._end = lambda *_: None
        self.failure: MQIError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self.agent.run()
        except MQIError as error:
            self.failure = error
            # The state that would end with its process.
            self.agent._pool.stop()
            self.agent._reporter.end()

    def stop(self) -> None:
        self.agent.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def status(self) -> AgentStatus:
        """As `igq status` shows it."""
        key = self.group.group.keys.agents
        text = self.group.group.client().hget(key, "QM1")
        return _agent(json.loads(str(text, "utf-8")) if text else {}, 0, "RUNNING")  # type: ignore[arg-type]

    def wait_for(self, state: str) -> AgentStatus:
        until(lambda: self.status().state == state, f"it is {state}", PATIENCE_S)
        return self.status()

    def said(self) -> list[str]:
        lines = [json.loads(line) for line in self.sink.getvalue().splitlines()]
        return [line["id"] for line in lines if line["kind"] == "say"]
