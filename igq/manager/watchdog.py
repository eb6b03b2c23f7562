"""The watch on an agent that lives but gets nothing done: stopped, deadlocked, or waiting for an answer that got lost.

Pure. An agent's lease says nothing of that: its manager renews it. So the agent answers each renewal that it is told
of with the pulse of its working threads, and is looked at when the next one is made.
"""

from __future__ import annotations

from collections.abc import Mapping

from sharedq.redis.link import MOVE_LIMIT_S
from sharedq.settings.values import Settings

#: A call waits at most one lease for Redis, and another one for the renewal of its own: longer than both is a hang.
LEASES = 3
#: How long a starting agent may take until it answers, seconds.
STARTING_S = 60.0
#: The agent's process itself, by whether it answers at all.
_PROCESS = ""


def silence_limit_s(settings: Settings) -> float:
    """For how long a thread that does not rest may get nothing done, seconds."""
    return LEASES * settings.lease_ms / 1000 + settings.longest_replication_s + MOVE_LIMIT_S


class Watchdog:
    """Over one run of an agent. `hear` may be called from another thread than `look`.

    Args:
        limit_s: see `silence_limit_s`.
        period_s: the time between two looks. A longer one counts as one period: a manager that stood still itself
            cannot tell whether its agent did.
    """

    def __init__(self, limit_s: float, period_s: float, now_s: float) -> None:
        self._limit_s, self._period_s = limit_s, period_s
        self._heard: Mapping[str, tuple[int, float]] = {_PROCESS: (0, STARTING_S)}
        self._seen: Mapping[str, tuple[int, float]] = {}
        self._silent_s: dict[str, float] = {}
        self._looked_s = now_s

    def hear(self, pulses: Mapping[str, tuple[int, float]]) -> None:
        """The agent has answered with its `igq.agent.progress.pulse.Pulses`."""
        answers, _ = self._heard[_PROCESS]
        self._heard = {_PROCESS: (answers + 1, 0.0), **pulses}

    def look(self, now_s: float) -> str:
        """Why the agent must be ended, in a few words; empty while it need not be."""
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
                who = f"{name} got nothing done" if name else "no answer"
                return f"hangs: {who} for {silent_s:.0f} s"
        return ""
