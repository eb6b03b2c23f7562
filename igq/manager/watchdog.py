"""The watch on an agent that lives but makes no progress: stopped, deadlocked, or waiting for a lost answer.

Pure. The agent's lease cannot show this, because its manager renews it. Instead the manager tells the agent of each
renewal, the agent answers with the pulse of its working threads, and the manager checks the pulse at the next renewal.
"""

from __future__ import annotations

from collections.abc import Mapping

from sharedq.redis.answers import MOVE_LIMIT_S
from sharedq.settings.values import Settings

#: Leases without progress that count as a hang: a call waits at most one lease for Redis, and one for its own renewal.
LEASES = 3
#: Seconds that a starting agent may take until it answers.
STARTING_S = 60.0
#: The name for the agent's process itself, which is judged by whether it answers at all.
_PROCESS = ""


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
        """Take in the agent's answer, its `igq.agent.progress.pulse.Pulses`."""
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
