"""The agent's pauses: between retries, and the movers' pauses between two looks at the definitions.

A movers' pause ends early after ``ALTER QMGR IGQ(ENABLED)`` or the end of a recovery.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.redis.keys import private_structure
from sharedq.redis.link import Link
from sharedq.scripts.connections import wake_call
from sharedq.scripts.reads import forget_wake_ups, take_wake_up

#: Seconds after which an unused wake-up is forgotten.
_KEPT_S = 60
#: The text of an operator's wake-up: the try that follows counts as a retry.
BY_OPERATOR = b"retry"
#: The text of any other wake-up: something may be better now. The try that follows does not count as a retry.
IN_PASSING = b"look"
#: Seconds after which a sleeper that lost its connection listens again.
_LISTEN_AGAIN_S = 1.0


def wake_key(group: Group, qmgr: str) -> str:
    """The key on which the agent of *qmgr* blocks in its state of retry."""
    return f"{group.structure(private_structure(qmgr)).wake}IGQ.AGENT"


def movers_wake_key(group: Group, qmgr: str) -> str:
    """The key on which the movers of *qmgr* block between two looks at the definitions."""
    return f"{group.structure(private_structure(qmgr)).wake}IGQ.MOVERS"


def wake_agent(group: Group, qmgr: str, *, by_operator: bool = False) -> None:
    """Make the agent of *qmgr* and its movers try again now, if they are in the state of retry.

    Raises:
        MQIError: Redis cannot be reached.
    """
    why = BY_OPERATOR if by_operator else IN_PASSING
    group.call(*wake_call(wake_key(group, qmgr), why, _KEPT_S))
    wake_movers(group, qmgr, why)


def wake_movers(group: Group, qmgr: str, why: bytes = IN_PASSING) -> None:
    """Make the movers of *qmgr* look at its transmission queues now. Raises MQIError: Redis cannot be reached."""
    group.call(*wake_call(movers_wake_key(group, qmgr), why, _KEPT_S))


class Sleep(Protocol):
    """Waits until the time is over, another thread or process wakes the sleeper, or the sleeper must stop.

    Attributes:
        woken_by: the text of the wake-up that ended the last sleep. None: no wake-up did.
    """

    woken_by: bytes | None

    def __call__(self, seconds: float) -> None:
        """Wait at most *seconds*."""

    def begin_attempt(self) -> None:
        """Begin an attempt: only later wake-ups tell something that it could not know."""

    def begin_trouble(self) -> None:
        """Begin a trouble: this attempt failed, and the one before it did not."""

    def end(self) -> None:
        """Stop waiting for good."""


class Nudge:
    """A `Sleep` that another thread of this process can end."""

    def __init__(self) -> None:
        self.woken_by: bytes | None = None
        self._event = threading.Event()
        self._why, self._is_ended = IN_PASSING, False

    def __call__(self, seconds: float) -> None:
        """Wait until another thread wakes the sleeper."""
        self.woken_by = self._why if self._event.wait(seconds) else None

    def begin_attempt(self) -> None:
        """Forget earlier wake-ups, but not `end`."""
        self._event.clear()
        if self._is_ended:
            self._event.set()

    def begin_trouble(self) -> None:
        """Make the next sleep end at once if a wake-up has come since the attempt began."""

    def wake(self, why: bytes) -> None:
        """End the sleep: something has changed, so try again now."""
        self._why = why
        self._event.set()

    def end(self) -> None:
        """Stop waiting for good."""
        self._is_ended = True
        self._event.set()


class WakeableSleep:
    """A `Sleep` that a push to *key* ends."""

    def __init__(self, group: Group, key: str) -> None:
        self._group, self._key = group, key
        #: The text of the wake-up that ended the last sleep. None: no wake-up did.
        self.woken_by: bytes | None = None
        self._ended = threading.Event()
        self._link: Link | None = None
        self._was_woken = False

    def begin_attempt(self) -> None:
        """Begin an attempt: only later wake-ups tell something that it could not know."""
        if self._link is not None:
            try:
                forget_wake_ups(self._link, self._key)
            except MQIError:
                # A wake-up that stays in the list ends the next sleep at once, which costs one more attempt.
                self._link = None

    def begin_trouble(self) -> None:
        """Begin a trouble: this attempt, maybe a long one, failed, and the one before it did not.

        Wake-ups from before, up to a minute ago, could not know of it: the next sleep ends at once, without a wake-up.
        """
        try:
            if self._link is None:
                self._link = self._group.new_link()
            self._was_woken = take_wake_up(self._link, self._key)
        except MQIError:
            # Redis is away for now; the sleep tries again.
            self._link = None

    def __call__(self, seconds: float) -> None:
        self.woken_by = None
        if self._was_woken:
            self._was_woken, self.woken_by = False, IN_PASSING
            return
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            if self._link is None:
                # Opened at the first trouble, so that an agent without trouble needs no extra connection.
                self._link = self._group.new_link()
            # Check after that: `end` interrupts the link that it finds.
            if self._ended.is_set():
                return
            try:
                # At least a hundredth, because a time rounded down to 0 would wait for ever.
                self.woken_by = self._link.block(self._key, max(0.01, left_s))
                return
            except MQIError:
                # Redis is away for now, or `end` cut the wait short.
                self._link = None
                self._ended.wait(min(_LISTEN_AGAIN_S, left_s))

    def end(self) -> None:
        """Stop waiting for good."""
        self._ended.set()
        if self._link is not None:
            self._link.interrupt()
