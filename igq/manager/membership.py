"""A manager's place in the group: it takes its name, renews its lease, and leaves.

The heartbeat has the times at which a manager renews its lease, looks at the other leases, and asks about itself. An
idle manager asks Redis for little more than this, so each beat must be cheap: a beat that looks need not ask as well,
and looks are made on beats that come anyway. No death is missed: a lease that is in force at a look ends no earlier
than the look says, and the manager looks again at the moment when it does.
"""

from __future__ import annotations

import json
import math
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from igq.errors import CommandError
from recovery.target import next_look_ms
from sharedq.members import formats
from sharedq.members.agreed_settings import as_record
from sharedq.members.group import Group
from sharedq.members.lease import RENEWALS_PER_LEASE, Lease, Renewal, register
from sharedq.members.process import KeptProcess
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.scripts.members import end_process_call, join_call, leave_call, member_state_call
from sharedq.scripts.reads import lease_holders

#: How many of the leases that run out next a renewal returns when it looks at the group's leases.
LOOK = 5
_IS_REMOVED, _IS_FOREIGN = 2, 3
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


class Membership:
    """One incarnation of a queue manager, from `join` to `leave`."""

    def __init__(self, group: Group, qmgr: str, incarnation: int, sent_at_s: float) -> None:
        self.group, self.qmgr, self.incarnation = group, qmgr, incarnation
        self.token = f"{qmgr}.{incarnation}"
        self.lease = Lease(group, qmgr, self.token, sent_at_s)

    @classmethod
    def join(
        cls,
        group: Group,
        qmgr: str,
        info: Mapping[str, Any],
        wait: Callable[[float], None],
        *,
        own_incarnation: int | None = None,
    ) -> Self:
        """Take the name. Wait for the lease of a predecessor that no longer renews it.

        Args:
            wait: waits some seconds. It may raise an exception to give up.
            own_incarnation: an incarnation of this process that has ended. A renewal of it that Redis never answered
                may still arrive, so a renewed lease of that incarnation does not prove that another process runs.

        Raises:
            CommandError: the manager is already running, or is being removed from the group; or the group has a format
                of the key space that this version does not speak.
            MQIError: 2009, Redis cannot be reached.
        """
        text = json.dumps(dict(info) | formats.versions())
        ends_s: float | None = None
        while True:
            group.prepare_to_register()
            sent_at_s, lease_ms = time.monotonic(), group.settings.lease_ms
            settings = as_record(group.own_settings)
            reply = group.call(
                *join_call(group.keys, qmgr, lease_ms, text, own_incarnation or 0, settings, formats.spoken())
            )
            if reply[0] == _IS_FOREIGN:
                raise CommandError(formats.why_refused(group.name, int(reply[1])))
            if reply[0] != _IS_REMOVED:
                group.adopt(bytes(reply[-1]))
            if not reply[0]:
                return cls(group, qmgr, int(reply[1]), sent_at_s)
            if reply[0] == _IS_REMOVED:
                text = f"queue manager {qmgr} is being removed from the group: igq group remove {qmgr} completes that"
                raise CommandError(text)
            left_s = int(reply[1]) / 1000
            seen_s = sent_at_s + left_s
            # A renewal moves the end by a third of a lease; a slow answer never moves it so far.
            is_renewed = ends_s is not None and seen_s > ends_s + lease_ms / 1000 / RENEWALS_PER_LEASE / 2
            if is_renewed and int(reply[2]) != own_incarnation:
                raise CommandError(_runs_already(group, qmgr, int(reply[2])))
            ends_s = seen_s if ends_s is None else ends_s
            wait(min(left_s + 0.01, 1.2 * lease_ms / 1000 / RENEWALS_PER_LEASE))

    def renew(self, processes: Sequence[str], *, look: bool, ask: bool = True) -> Renewal:
        """Renew the lease and those of the manager's own *processes*.

        Args:
            look: return leases of the group, too.
            ask: return what the group knows of this manager, too.

        Raises:
            MQIError: 2009, Redis cannot be reached. The lease still runs.
        """
        renewal = self.lease.renew(processes, look=LOOK if look else 0, ask=ask)
        if renewal.is_held:
            self.lease.hold(renewal.sent_at_s)
        return renewal

    def tell(self, **changes: Any) -> None:
        """Change what the group knows of this manager.

        Raises:
            MQIError: 2009, another incarnation holds the name, a peer recovers this one, or Redis cannot be reached.
        """
        call = member_state_call(self.group.keys, self.qmgr, self.incarnation, json.dumps(changes))
        reply = self.group.call(*call)
        if reply[0]:
            why = "another incarnation holds the name, or a peer recovers this one"
            raise error_for(MQRC(reply[0]), "", self.qmgr, why)

    def new_process(self, appl: str) -> tuple[KeptProcess, float]:
        """Register a process of the manager itself. Returns it and the monotonic time of its registration.

        Raises:
            MQIError: 2059, the lease is lost; 2009, Redis cannot be reached.
        """
        made = register(self.group, self.qmgr, self.lease.lease_ms, appl, verb="", is_internal=True)
        process = KeptProcess(self.group, self.qmgr, made.incarnation, made.number, made.sent_at_s)
        return process, made.sent_at_s

    def end_process(self, process: KeptProcess) -> None:
        """Give back the registration of a process of the manager itself, after the recovery of this incarnation.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        self.group.call(*end_process_call(self.group.keys, process.token, ()))

    def programs(self, own: Sequence[str]) -> list[str]:
        """Return the tokens of the programs that still use this incarnation.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        found = [name.removeprefix("!") for name in lease_holders(self.group, self.group.keys)]
        return [name for name in found if name.startswith(f"{self.token}.") and name not in own]

    def close(self) -> None:
        """Close the links of an incarnation that has ended. It renews no more."""
        self.lease.close()

    def leave(self, own: Sequence[str]) -> bool:
        """Give up the name in good order. False if something is left that must be recovered first.

        Raises:
            MQIError: 2009, a peer recovers this incarnation, or Redis cannot be reached.
        """
        reply = self.group.call(*leave_call(self.group.keys, self.qmgr, self.incarnation, own))
        if reply[0] == 1:
            return False
        if reply[0]:
            raise error_for(MQRC(reply[0]), "", self.qmgr, "a peer recovers this incarnation")
        return True


def _runs_already(group: Group, qmgr: str, incarnation: int) -> str:
    member = group.member(qmgr)
    where = f", pid {member.pid} on {member.host}" if member is not None else ""
    return f"queue manager {qmgr} is already running (incarnation {incarnation}{where})"


def host_name() -> str:
    return socket.gethostname()


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
