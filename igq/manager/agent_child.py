"""The manager's side of one run of its agent: starts the process, reads its messages and ends it.

`igq.manager.incarnation` starts the next run when this one has ended (CSQM067E).
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from igq.agent.progress.pipe import EXIT_CONNECTION_LOST, Pipe
from igq.manager.watchdog import Watchdog, silence_limit_s
from igq.processes.agent_process import start_agent_process
from sharedq.members.agreed_settings import in_environment
from sharedq.members.kept_process import KeptProcess

#: Seconds that an agent has to end by itself after it is told to.
STOP_TIMEOUT_S = 5.0


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
