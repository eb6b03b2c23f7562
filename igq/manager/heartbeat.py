"""The times at which a manager renews its lease, looks at the other leases, and asks about itself. Pure.

An idle manager asks Redis for little more than this, so each beat must be cheap: a beat that looks need not ask as
well, and looks are made on beats that come anyway. No death is missed: a lease that is in force at a look ends no
earlier than the look says, and the manager looks again at the moment when it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from recovery.watch import next_look_ms
from sharedq.members.lease import RENEWALS_PER_LEASE

#: Shortest time between two beats, seconds.
BEAT_MIN_S = 0.05
#: Beats between two looks if no lease ends earlier. By then, other managers have renewed theirs.
_BEATS_PER_LOOK = 2
#: Milliseconds between the end of a lease and the look at it, so that the lease has certainly run out.
_MARGIN_MS = 2
#: A look that is due within this time is due now, because sums of times are not exact.
_ROUNDING_S = 1e-4
#: A beat may be late by this part of a period, if that saves a beat.
_TOLERANCE = 0.01


class Heartbeat:
    """The heartbeat of one manager. Times are monotonic, in seconds.

    Attributes:
        period_s: time between renewals, within the tolerance; shorter if a look falls in between.
        next_s: time of the next renewal.
    """

    def __init__(self, lease_s: float) -> None:
        self.period_s = lease_s / RENEWALS_PER_LEASE
        self.next_s = 0.0
        self._look_at_s = 0.0
        self._has_asked = False

    def begin(self, now_s: float) -> tuple[bool, bool]:
        """Return what else the due renewal does: look at the leases; ask what the group knows of the manager."""
        looks = now_s >= self._look_at_s - _ROUNDING_S
        self._has_asked = asks = not (looks and self._has_asked)
        return looks, asks

    def looked(self, at_s: float, now_ms: int, leases: Iterable[tuple[str, int]], *, is_recovering: bool) -> None:
        """Note that a renewal sent at *at_s* returned *leases*, as of the Redis time *now_ms*.

        Args:
            is_recovering: a recovery is due. It hides later leases from the look, and may need another recoverer.
        """
        longest_ms = int(1000 * self.period_s * (1 if is_recovering else _BEATS_PER_LOOK))
        wait_ms = next_look_ms(leases, now_ms, longest_ms - _MARGIN_MS) + _MARGIN_MS
        self._look_at_s = at_s + wait_ms / 1000

    def renewed(self, at_s: float) -> None:
        """Note the answer to a renewal sent at *at_s*, and plan the next one: in a period, or to meet the next look."""
        left_s = max(BEAT_MIN_S, self._look_at_s - at_s)
        self.next_s = at_s + left_s / max(1, math.ceil(left_s / self.period_s - _TOLERANCE))

    def retry(self, now_s: float, part: float, until_s: float) -> None:
        """Plan another try after *part* of a period, but before *until_s*, because a renewal was not answered."""
        self.next_s = min(now_s + part * self.period_s, until_s)

    def hurry(self) -> None:
        """Renew now and ask, because something is new."""
        if self.next_s != math.inf:
            self.next_s, self._has_asked = 0.0, False

    def look_again(self) -> None:
        """Look now: the recoveries that the last look showed are done, and may have hidden more."""
        if self.next_s != math.inf:
            self.next_s = self._look_at_s = 0.0

    def stop(self) -> None:
        self.next_s = math.inf
