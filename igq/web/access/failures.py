"""Counts failed sign-ins, and says how long to wait after too many. Pure, but for the clock."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

#: Failures that are allowed within the window: from one host, and for one user from anywhere.
PER_HOST, PER_USER = 10, 30
WINDOW_S = 300.0
#: Hosts and users that are remembered. The ones that failed longest ago are forgotten first.
_REMEMBERED = 10_000


class Failures:
    """Failures of the last minutes by host and by user."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def wait_s(self, host: str, user: str) -> int:
        """Return the seconds until another try is allowed; 0 for now."""
        waits = (self._wait_s(key, limit) for key, limit in _keys(host, user))
        return math.ceil(max(waits))

    def count(self, host: str, user: str) -> None:
        """Count a failure."""
        now_s = self._clock()
        for key, limit in _keys(host, user):
            times = self._times.setdefault(key, deque(maxlen=limit))
            times.append(now_s)
            self._times.move_to_end(key)
        while len(self._times) > _REMEMBERED:
            self._times.popitem(last=False)

    def forget(self, host: str, user: str) -> None:
        """Forget the failures from *host*, for the right password has come from there."""
        for key, _ in _keys(host, user)[:1]:
            self._times.pop(key, None)

    def _wait_s(self, key: tuple[str, str], limit: int) -> float:
        times = self._times.get(key)
        if times is None or len(times) < limit:
            return 0.0
        return max(0.0, times[0] + WINDOW_S - self._clock())


def _keys(host: str, user: str) -> tuple[tuple[tuple[str, str], int], ...]:
    return ((("host", _network(host)), PER_HOST), (("user", user), PER_USER))


def _network(host: str) -> str:
    """An IPv6 host has as many addresses as it likes in its network of 64 bits."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
