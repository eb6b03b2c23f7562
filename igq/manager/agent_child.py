"""The manager's side of one run of its agent: starts the process, reads its messages and ends it.

`igq.manager.incarnation` starts the next run when this one has ended (CSQM067E).

The watchdog sees an agent that lives but makes no progress: stopped, deadlocked, or waiting for a lost answer.
The agent's lease cannot show this, because its manager renews it. Instead the manager tells the agent of each
renewal, the agent answers with the pulse of its working threads, and the manager checks the pulse at the next renewal.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from igq.agent.progress.pipe import EXIT_CONNECTION_LOST, Pipe
from igq.processes.child import start_agent_process
from sharedq.members.agreed_settings import in_environment
from sharedq.members.process import KeptProcess
from sharedq.redis.answers import MOVE_LIMIT_S
from sharedq.settings.values import Settings

#: Leases without progress that count as a hang: a call waits at most one lease for Redis, and one for its own renewal.
LEASES = 3
#: Seconds that a starting agent may take until it answers.
STARTING_S = 60.0
#: The name for the agent's process itself, which is judged by whether it answers at all.
_PROCESS = ""
#: Seconds that an agent has to end by itself after it is told to.
STOP_TIMEOUT_S = 5.0


def silence_limit_s(settings: Settings) -> float:
    """Return how many seconds a thread that does not rest may make no progress."""
    return LEASES * settings.lease_ms / 1000 + settings.longest_replication_s + MOVE_LIMIT_S


class Watchdog:
    """Watches one run of an agent. `hear` and `look` may be called from different threads.

    Args:
        limit_s: see `silence_limit_s`.
        period_s: the time between two looks. A longer time counts as one period: a manager that stood still itself
            cannot tell whether its agent made progress.
    """

    def __init__(self, limit_s: float, period_s: float, now_s: float) -> None:
        self._limit_s, self._period_s = limit_s, period_s
        self._heard: Mapping[str, tuple[int, float]] = {_PROCESS: (0, STARTING_S)}
        self._seen: Mapping[str, tuple[int, float]] = {}
        self._silent_s: dict[str, float] = {}
        self._looked_s = now_s

    def hear(self, pulses: Mapping[str, tuple[int, float]]) -> None:
        """Take in the agent's answer, its `igq.agent.progress.pipe.Pulses`."""
        answers, _ = self._heard[_PROCESS]
        self._heard = {_PROCESS: (answers + 1, 0.0), **pulses}

    def look(self, now_s: float) -> str:
        """Return why the agent must be ended, in a few words. Empty if it need not be."""
        passed_s, self._looked_s = min(now_s - self._looked_s, self._period_s), now_s
        heard = self._heard
        self._silent_s = {
            name: self._silent_s.get(name, 0.0) + passed_s if self._seen.get(name) == state else 0.0
            for name, state in heard.items()
        }
        self._seen = heard
        for name, (_, rest_s) in heard.items():
            silent_s = self._silent_s[name]
            if silent_s > rest_s + self._limit_s:
                who = f"{name} made no progress" if name else "no answer"
                return f"hangs: {who} for {silent_s:.0f} s"
        return ""


class AgentChild:
    """One run of the agent.

    Args:
        process: the agent's registration.
        period_s: seconds between two renewals, each of which the agent is told of, and between two checks of it.
        on_message: called with each line that the agent sends, from a separate thread.
        on_end: called once with this object, after the agent has ended, from that thread.
        start: starts the agent's process, for a queue manager, or gives one that waits.
    """

    def __init__(
        self,
        process: KeptProcess,
        sent_at_s: float,
        period_s: float,
        restarts: int,
        on_message: Callable[[dict[str, Any]], None],
        on_end: Callable[[AgentChild], None],
        start: Callable[[str], subprocess.Popen[str]] = start_agent_process,
    ) -> None:
        self.token = process.token
        self._on_message, self._on_end = on_message, on_end
        self._watchdog = Watchdog(silence_limit_s(process.group.settings), period_s, time.monotonic())
        self._hang = ""
        self._popen = start(process.qmgr)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._pipe = Pipe(self._popen.stdout, self._popen.stdin)
        self._pipe.send(
            "begin",
            qmgr=process.qmgr,
            incarnation=process.incarnation,
            number=int(process.token.rpartition(".")[2]),
            sent_at_s=sent_at_s,
            restarts=restarts,
            settings=in_environment(process.group.settings),
        )
        self.last_error = ""
        self._ended = threading.Event()
        threading.Thread(target=self._listen, name=f"agent {self.token}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def renewed(self, at_s: float) -> None:
        """Tell the agent that a call sent at *at_s* (monotonic) renewed its lease."""
        self._pipe.send("renewed", at_s=at_s)

    def adopt(self, record: bytes) -> None:
        """Make the agent use the group settings in *record*."""
        self._pipe.send("settings", record=record.decode())

    def hangs(self) -> bool:
        """Whether the agent has made no progress for too long. If so, kill it; it may take a moment to end."""
        self._hang = self._watchdog.look(time.monotonic())
        if self._hang:
            self._popen.kill()
        return bool(self._hang)

    def stop(self) -> bool:
        """Let the agent finish its batch and end. True if it did so in time; in any case it is gone afterwards."""
        self._pipe.send("stop")
        is_in_order = self._ended.wait(STOP_TIMEOUT_S) and self._popen.returncode == 0
        self.kill()
        return is_in_order

    def kill(self) -> None:
        """End the agent at once."""
        if self._popen.poll() is None:
            self._popen.kill()
        self._ended.wait()

    @property
    def how_it_ended(self) -> str:
        """Describe how the agent ended, for the log."""
        if self._hang:
            return self._hang
        status = self._popen.returncode
        if status is None:
            return "running"
        if status == EXIT_CONNECTION_LOST:
            return self.last_error or "connection to Redis lost"
        return f"signal {-status}" if status < 0 else f"exit status {status}"

    def _listen(self) -> None:
        for message in self._pipe.read():
            if message["kind"] == "ended":
                self.last_error = str(message["error"])
            elif message["kind"] == "pulses":
                self._watchdog.hear({name: (beats, rest_s) for name, (beats, rest_s) in message["pulses"].items()})
            else:
                self._on_message(message)
        self._popen.wait()
        self._ended.set()
        self._on_end(self)
