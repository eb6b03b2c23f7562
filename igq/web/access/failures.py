"""Counts failed sign-ins, and says how long to wait after too many. Pure, but for the clock."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable

from igq.web.http.addresses import network_of

#: Failures that are allowed within the window: from one host, and for one user from anywhere.
PER_HOST, PER_USER = 10, 30
WINDOW_S = 300.0
#: Hosts and users that are remembered, with so much of a name. The ones that failed longest ago are forgotten first.
_REMEMBERED, _LONGEST_NAME = 10_000, 64


class Failures:
    """Failures of the last minutes by host and by user. A try counts from its beginning, until it ends well.

    Args:
        per_host, per_user: failures that are allowed within the window.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, per_host: int = PER_HOST, per_user: int = PER_USER
    ) -> None:
        self._clock, self._per_host, self._per_user = clock, per_host, per_user
        self._times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        #: Tries that have not ended.
        self._tries: Counter[tuple[str, str]] = Counter()

    def wait_s(self, host: str, user: str) -> int:
        """Return the seconds until another try is allowed; 0 for now."""
        waits = (self._wait_s(key, limit) for key, limit in self._keys(host, user))
        return math.ceil(max(waits))

    def begin(self, host: str, user: str) -> bool:
        """Begin a try. False if others must end first: if they all fail, this one is one too many."""
        keys = self._keys(host, user)
        if any(self._failed(key) + self._tries[key] >= limit for key, limit in keys):
            return False
        self._tries.update(key for key, _ in keys)
        return True

    def end(self, host: str, user: str, *, is_failure: bool) -> None:
        """End a try."""
        now_s = self._clock()
        for key, limit in self._keys(host, user):
            self._tries[key] -= 1
            if not self._tries[key]:
                del self._tries[key]
            if is_failure:
                times = self._times.setdefault(key, deque(maxlen=limit))
                times.append(now_s)
                self._times.move_to_end(key)
        while len(self._times) > _REMEMBERED:
            self._times.popitem(last=False)

    def _failed(self, key: tuple[str, str]) -> int:
        since_s = self._clock() - WINDOW_S
        return sum(at_s > since_s for at_s in self._times.get(key, ()))

    def _wait_s(self, key: tuple[str, str], limit: int) -> float:
        times = self._times.get(key)
        if times is None or len(times) < limit:
            return 0.0
        return max(0.0, times[0] + WINDOW_S - self._clock())

    def _keys(self, host: str, user: str) -> tuple[tuple[tuple[str, str], int], ...]:
        return ((("host", network_of(host)), self._per_host), (("user", user[:_LONGEST_NAME]), self._per_user))
