"""How the agent pauses: between retries, and its movers between two looks at the definitions."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from igq.agent.progress.wake import IN_PASSING
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.redis.link import Link

#: Seconds until a sleeper that has lost its connection listens again.
_LISTEN_AGAIN_S = 1.0


class Sleep(Protocol):
    """Waits until the time has passed, somebody wakes the sleeper, or it must stop.

    Attributes:
        woken_by: what the wake-up said that ended the last sleep; None: nobody did.
    """

    woken_by: bytes | None

    def __call__(self, seconds: float) -> None:
        """Wait, *seconds* at most."""

    def begin_attempt(self) -> None:
        """A wake-up from now on is about what this attempt could not know yet."""

    def begin_trouble(self) -> None:
        """The attempt at hand has failed where those before it did not."""

    def end(self) -> None:
        """No more waiting."""


class Nudge:
    """A `Sleep` that another thread of this process ends."""

    def __init__(self) -> None:
        self.woken_by: bytes | None = None
        self._event = threading.Event()
        self._why, self._is_ended = IN_PASSING, False

    def __call__(self, seconds: float) -> None:
        """Wait until somebody wakes it."""
        self.woken_by = self._why if self._event.wait(seconds) else None

    def begin_attempt(self) -> None:
        """Forget who woke it before, but not that it has ended."""
        self._event.clear()
        if self._is_ended:
            self._event.set()

    def begin_trouble(self) -> None:
        """Who woke it since the attempt began may have known: the next sleep ends at once."""

    def wake(self, why: bytes) -> None:
        """Something has changed: try again now."""
        self._why = why
        self._event.set()

    def end(self) -> None:
        """No more waiting."""
        self._is_ended = True
        self._event.set()


class WakeableSleep:
    """A `Sleep` that whoever pushes to *key* ends."""

    def __init__(self, group: Group, key: str) -> None:
        self._group, self._key = group, key
        #: What the wake-up said that ended the last sleep; None: nobody did.
        self.woken_by: bytes | None = None
        self._ended = threading.Event()
        self._link: Link | None = None
        self._was_woken = False

    def begin_attempt(self) -> None:
        """A wake-up from now on is about what this attempt could not know yet."""
        if self._link is not None:
            try:
                self._link.command(self._key, "DEL", self._key)
            except MQIError:
                # A wake-up that is left there ends the next sleep at once: one attempt more.
                self._link = None

    def begin_trouble(self) -> None:
        """The attempt at hand, maybe a long one, has failed where those before it did not.

        Who woke it before, up to a minute ago, cannot have known: the next sleep ends at once, by nobody's order.
        """
        try:
            if self._link is None:
                self._link = self._group.new_link()
            self._was_woken = self._link.command(self._key, "LPOP", self._key) is not None
        except MQIError:
            # Redis is gone, for now; the sleep looks again.
            self._link = None

    def __call__(self, seconds: float) -> None:
        self.woken_by = None
        if self._was_woken:
            self._was_woken, self.woken_by = False, IN_PASSING
            return
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            if self._link is None:
                # Opened at the first trouble, so that an agent without any pays nothing.
                self._link = self._group.new_link()
            # Looked at behind that: `end` interrupts the link that it finds.
            if self._ended.is_set():
                return
            try:
                # At least a hundredth: what is rounded down to 0 would wait for ever.
                reply = self._link.command(self._key, "BLPOP", self._key, max(0.01, left_s))
                self.woken_by = None if reply is None else bytes(reply[1])
                return
            except MQIError:
                # Redis is gone, for now, or `end` cut the wait short.
                self._link = None
                self._ended.wait(min(_LISTEN_AGAIN_S, left_s))

    def end(self) -> None:
        """No more waiting."""
        self._ended.set()
        if self._link is not None:
            self._link.interrupt()
