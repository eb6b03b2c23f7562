"""When a manager renews its lease, looks at the leases of the others, and asks what the group knows of it. Pure.

An idle manager asks little more of Redis than this, so each beat is as cheap as it can be: a beat that looks need not
ask as well, and the looks fall on beats that come anyway. They miss nothing by that: a lease that is in force at a
look ends no earlier than the look says, and is looked at again in the moment when it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from recovery.watch import next_look_ms
from sharedq.members.process import RENEWALS_PER_LEASE

#: Shortest time between two beats, seconds.
BEAT_MIN_S = 0.05
#: Beats between two looks where nothing ends earlier. What others renew as often as they must is then renewed anew.
_BEATS_PER_LOOK = 2
#: A look comes this much after the end of a lease, so that it surely has run out, milliseconds.
_MARGIN_MS = 2
#: A look that is due this soon is due now: times that were added up are not exact.
_ROUNDING_S = 1e-4
#: A beat may be later by this part of a period, rather than be made one more time.
_TOLERANCE = 0.01


class Heartbeat:
    """Of one manager. Times are monotonic, in seconds.

    Attributes:
        period_s: time between renewals, but for the tolerance; shorter where a look falls in between.
        next_s: when to renew again.
    """

    def __init__(self, lease_s: float) -> None:
        self.period_s = lease_s / RENEWALS_PER_LEASE
        self.next_s = 0.0
        self._look_at_s = 0.0
        self._has_asked = False

    def begin(self, now_s: float) -> tuple[bool, bool]:
        """What the renewal that is due does besides: look at the leases; ask what the group knows of the manager."""
        looks = now_s >= self._look_at_s - _ROUNDING_S
        self._has_asked = asks = not (looks and self._has_asked)
        return looks, asks

    def looked(self, at_s: float, now_ms: int, leases: Iterable[tuple[str, int]], *, is_recovering: bool) -> None:
        """A renewal sent at *at_s* has brought *leases*, as of Redis' time *now_ms*.

        Args:
            is_recovering: something is due. It hides later leases from the look, and may need another recoverer.
        """
        longest_ms = int(1000 * self.period_s * (1 if is_recovering else _BEATS_PER_LOOK))
        wait_ms = next_look_ms(leases, now_ms, longest_ms - _MARGIN_MS) + _MARGIN_MS
        self._look_at_s = at_s + wait_ms / 1000

    def renewed(self, at_s: float) -> None:
        """A renewal sent at *at_s* was answered: the next is due in a period, or so that one falls on the next look."""
        left_s = max(BEAT_MIN_S, self._look_at_s - at_s)
        self.next_s = at_s + left_s / max(1, math.ceil(left_s / self.period_s - _TOLERANCE))

    def retry(self, now_s: float, part: float, until_s: float) -> None:
        """A renewal was not answered: try again in that *part* of a period, but before *until_s*."""
        self.next_s = min(now_s + part * self.period_s, until_s)

    def hurry(self) -> None:
        """Something is new: renew now, and ask."""
        if self.next_s != math.inf:
            self.next_s, self._has_asked = 0.0, False

    def look_again(self) -> None:
        """What a look has shown is done with, and may have hidden more: look now."""
        if self.next_s != math.inf:
            self.next_s = self._look_at_s = 0.0

    def stop(self) -> None:
        """Renew no more."""
        self.next_s = math.inf
