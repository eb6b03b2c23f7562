"""Topics and subscriptions that a connection has open, and how many publications it has put for each."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sharedq.mqi.structures import MQOD, MQSD
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.session.handle import Handle
from sharedq.session.route import _Path

#: Seconds between two reports to the group. A publication makes the report that is due.
INTERVAL_S: Final = 1.0
#: Subscriptions that one call tells of.
_AT_ONCE: Final = 250


@dataclass(slots=True)
class TopicHandle:
    """A topic that is open for publications, by MQOPEN of MQOT_TOPIC or of an alias with TARGTYPE(TOPIC).

    It exists in this process only.

    Attributes:
        object_name, object_q_mgr_name: what the program named.
        topic_string: the whole topic string.
        is_counted: the group counts it among the publishers.
        asked: what its MQOPEN asked for, by which it can be opened again.
        path: the definitions that the name led through, the alias last; empty where the program named the topic.
        opened_at: the manager whose definitions the name was followed through.
    """

    number: int
    options: int
    object_name: str
    topic_string: str
    asked: MQOD
    is_closed: bool = False
    is_counted: bool = False
    path: _Path = ()
    object_q_mgr_name: str = ""
    opened_at: str = ""


@dataclass(slots=True)
class SubscriptionHandle:
    """An open subscription (Hsub).

    Attributes:
        queue: the handle of its destination that MQSUB opened; None where the program gave one.
        asked: what its MQSUB asked for, by which it can be made or opened again.
        given: the handle of its destination that its MQSUB was given.
        has_failed: its MQSUB did, after it was registered: it ends with the connection at the latest.
    """

    number: int
    subscription: Subscription
    asked: MQSD
    queue: Handle | None = None
    given: Handle | None = None
    is_closed: bool = False
    has_failed: bool = False

    @property
    def object_name(self) -> str:
        """A name for error messages: its own, or else its topic string."""
        return self.subscription.name or self.subscription.topic_string


class Delivered:
    """Counts that the group does not know yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, tuple[int, int]] = {}
        self._told_s = float("-inf")

    def add(self, numbers: Iterable[str]) -> None:
        """Count one publication for each of these subscriptions."""
        now_ms = int(time.time() * 1000)
        with self._lock:
            for number in numbers:
                self._found[number] = self._found.get(number, (0, 0))[0] + 1, now_ms

    @property
    def is_waiting(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self._found)

    @property
    def is_due(self) -> bool:
        """Whether the group is to be told now."""
        return bool(self._found) and time.monotonic() - self._told_s >= INTERVAL_S

    def take(self) -> list[list[tuple[str, int, int]]]:
        """Return the counts to tell, call by call: number, messages, the time of the last one (ms since 1970)."""
        with self._lock:
            found, self._found = self._found, {}
        self._told_s = time.monotonic()
        counts = [(number, *each) for number, each in found.items()]
        return [counts[first : first + _AT_ONCE] for first in range(0, len(counts), _AT_ONCE)]
