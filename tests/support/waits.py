"""Gets that wait, each in its own program, the number of waiters on a queue, and pauses in which a test acts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sharedq import Message, Queue
from sharedq.mqi.constants import GetOption
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.scenes import until

#: Longer than any wait of a good test.
LONG_MS = 60_000


def until_waiting(group: TestGroup, name: str, count: int, structure: str = "APPL1") -> None:
    """Return when *count* gets wait on the queue."""
    key, client = group.group.structure(structure).queue(name).waiters, group.group.client()
    until(lambda: client.zcard(key) == count, f"{count} wait on {name}", 20)


def waits(
    pool: ThreadPoolExecutor, group: TestGroup, options: int, *, queue: Queue | None = None, **asked: Any
) -> Future[Message]:
    """A get on the queue Q that waits when this returns; in its own program if none is given."""
    before = group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters)
    queue = queue or group.connect().open("Q", BOTH)
    future = pool.submit(queue.get, options | GetOption.WAIT, wait_ms=LONG_MS, **asked)
    until_waiting(group, "Q", before + 1)
    return future


def replace_pauses(monkeypatch: pytest.MonkeyPatch, act: Callable[[float], None]) -> None:
    """Let *act* run in the place of each pause of this thread. Other threads, some of earlier tests, pause as ever."""
    mine, sleep = threading.current_thread(), time.sleep

    def pause(seconds: float) -> None:
        (act if threading.current_thread() is mine else sleep)(seconds)

    monkeypatch.setattr(time, "sleep", pause)
