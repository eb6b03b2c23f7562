"""The agent's state as `igq status` shows it: written when it changes, at most once a second."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, replace
from typing import Any

from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.scripts.members import agent_state_call

#: Shortest time between two reports, seconds.
PERIOD_S = 1.0


@dataclass(frozen=True, slots=True)
class MoverState:
    """``state``: STARTING, RUNNING, STANDBY (another member's mover serves a shared queue) or RETRY."""

    queue: str
    state: str
    short_retries: int = 0
    long_retries: int = 0
    next_retry_ms: int | None = None
    delivered: int = 0
    batches: int = 0
    last_error: str = ""

    def changed(self, **changes: Any) -> MoverState:
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class AgentState:
    """``state``: RUNNING, RETRY or STOPPED. ``next_retry_ms``: wall clock, null unless in RETRY.

    ``is_serving``: its queue is open, or one part of it is open while another part is in RETRY.
    """

    state: str
    pid: int
    restarts: int
    short_retries: int = 0
    long_retries: int = 0
    next_retry_ms: int | None = None
    delivered: int = 0
    last_error: str = ""
    movers: tuple[MoverState, ...] = ()
    is_serving: bool = False
    batches: int = 0


class Reporter:
    """Writes the latest state from its own thread, so the agent never waits. While idle it makes no calls."""

    def __init__(self, group: Group, process: str, state: AgentState) -> None:
        self._group, self._process = group, process
        self._state = state
        self._written: AgentState | None = None
        self._changed = threading.Condition()
        self._is_ending = False
        self._pause = threading.Event()
        self._thread = threading.Thread(target=self._write_changes, name="report", daemon=True)
        self._thread.start()

    def update(self, **changes: Any) -> None:
        with self._changed:
            self._state = replace(self._state, **changes)
            self._changed.notify()

    @property
    def state(self) -> AgentState:
        """The state as it is now, written or not."""
        return self._state

    def end(self, **changes: Any) -> None:
        """Change fields for the last time and write them."""
        with self._changed:
            self._state = replace(self._state, **changes)
            self._is_ending = True
            self._pause.set()
            self._changed.notify()
        self._thread.join()

    def _write_changes(self) -> None:
        while True:
            with self._changed:
                while self._state == self._written and not self._is_ending:
                    self._changed.wait()
                state, is_ending = self._state, self._is_ending
            try:
                write_agent_state(self._group, self._process, state)
                self._written = state
            except MQIError:
                # The next period tries again, and the agent itself notices what is wrong with Redis.
                pass
            if is_ending:
                return
            self._pause.wait(PERIOD_S)


def write_agent_state(group: Group, process: str, state: AgentState) -> None:
    """Publish *state* of the agent that is *process*, unless that has been recovered or has ended.

    Raises:
        MQIError: Redis cannot be reached.
    """
    group.call(*agent_state_call(group.keys, process, json.dumps(asdict(state))))
