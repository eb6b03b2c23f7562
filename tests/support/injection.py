"""Faults in the middle of a call: a refusal by Redis, a lost reply, an exception of a signal handler, a kill."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import redis

from sharedq.redis.link import Link
from sharedq.redis.script_source import load_script
from sharedq.redis.wire import Wire

Exchange = tuple[Wire, bytes, int]

#: The answer of Redis to a refused call, and IBM's reason for it.
REFUSALS: dict[int, Callable[[], redis.ResponseError]] = {
    2035: lambda: redis.exceptions.NoPermissionError("this user has no permissions to run the 'evalsha' command"),
    2192: lambda: redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
    2195: lambda: redis.ResponseError("BUSY Redis is busy running a script. You can only call SCRIPT KILL."),
    2346: lambda: redis.exceptions.TryAgainError("Multiple keys request during rehashing of slot"),
}
#: Faults that happen before the call is made, and those that happen after it.
BEFORE = (*map(str, REFUSALS), "call lost", "raised before", "killed before")
AFTER = ("reply lost", "raised in the middle", "raised after", "killed after")
FAULTS = (*BEFORE, *AFTER)


class AlarmError(Exception):
    """The exception of a signal handler of the program."""


class Injection:
    """The next call of one script, or the next wait (``BLPOP``), meets a fault; that in every link of this process.

    Attributes:
        has_met: whether the call was made.
        then: called before that call.
    """

    def __init__(self, script: str, fault: str, *, then: Callable[[], object] = lambda: None, times: int = 1) -> None:
        self._call = script.encode() if "/" not in script else load_script(script).sha.encode()
        self._fault, self._then = fault, then
        # Redis asks a client to try again as long as a slot moves.
        self._times = 100 if fault == "2346" else times
        self.has_met = False

    def arm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Arm the fault."""
        exchange_all = Link._exchange_all

        def exchange(link: Link, exchanges: Sequence[Exchange], **how: Any) -> list[list[Any]]:
            calls = b"".join(packed for _, packed, _ in exchanges)
            is_asked_for = b"SCRIPT" in calls
            # Each process waits for news, too.
            is_of_news = b":news:" in calls
            if not self._times or is_asked_for or is_of_news or self._call not in calls:
                return exchange_all(link, exchanges, **how)
            self.has_met, self._times = True, self._times - 1
            self._then()
            return self._do(link, exchanges, lambda: exchange_all(link, exchanges, **how))

        monkeypatch.setattr(Link, "_exchange_all", exchange)
        monkeypatch.setattr("sharedq.redis.answers.MOVE_LIMIT_S", 0.0)

    def end(self) -> None:
        """Disarm the fault."""
        self._times = 0

    def _do(self, link: Link, exchanges: Sequence[Exchange], call: Callable[[], list[list[Any]]]) -> list[list[Any]]:
        fault = self._fault
        if fault == "none":
            return call()
        if fault.endswith("for the first of the write"):
            replies = call()
            replies[0][0] = REFUSALS[int(fault[:4])]()
            return replies
        if fault.isdigit():
            return [[REFUSALS[int(fault)]() for _ in range(count)] for _, _, count in exchanges]
        if fault in AFTER:
            call()
        if fault.startswith("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if fault in ("call lost", "reply lost"):
            link._break(redis.ConnectionError(fault))
        if fault != "raised after":
            # Interrupted between a call and its reply.
            link.close()
        raise AlarmError
