"""The state of the group, read once for all browsers that look, and told to each as it changes."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import anyio

from igq.operations.status import GroupStatus, StatusReader
from igq.operations.troubles import troubles
from sharedq.settings.values import Settings

#: Seconds between two looks, while anybody looks.
PERIOD_S = 2.0
#: Queues of one event.
_ROWS = 250
#: A comment for each so many seconds of silence, so that a connection that is gone is noticed.
_SILENCE_S = 15.0


class StatusSource:
    """Reads the status of a group over connections that it keeps. All calls block."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._reader: StatusReader | None = None

    def read(self) -> GroupStatus:
        """Read the status. Raises DeploymentError, MQIError: Redis cannot be used."""
        with self._lock:
            if self._reader is None:
                self._reader = StatusReader(self._settings)
            try:
                return self._reader.read()
            except BaseException:
                self._drop()
                raise

    def close(self) -> None:
        """End the connections."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.__exit__(None, None, None)


class Feed:
    """Reads the status while at least one browser listens.

    A browser that takes its events slowly gets fewer: each event tells what has changed since its last one.

    Args:
        read: reads the status. It may raise any exception, which is told as trouble.
        close: called when nobody listens any more.
    """

    def __init__(self, read: Callable[[], Awaitable[GroupStatus]], close: Callable[[], Awaitable[None]]) -> None:
        self._read, self._close = read, close
        self._listeners = 0
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._version = 0
        self._group: dict[str, Any] | None = None
        self._trouble = ""
        #: Key of a queue -> its row, and the version at which it last changed. A queue that is gone has no row.
        self._queues: dict[str, tuple[dict[str, Any] | None, int]] = {}

    async def events(self, may_go_on: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
        """Yield server-sent events until *may_go_on* says no."""
        self._listeners += 1
        if self._task is None:
            self._task = asyncio.create_task(self._keep_reading())
        seen, was_troubled = 0, False
        try:
            yield "retry: 2000\n\n"
            while await may_go_on():
                if self._version > seen:
                    since, seen = seen, self._version
                    if self._trouble or was_troubled:
                        was_troubled = bool(self._trouble)
                        yield _event("trouble", {"text": self._trouble})
                    if self._group is not None and not self._trouble:
                        yield _event("group", self._group)
                        for piece in self._changes(since):
                            yield _event("queues", piece)
                try:
                    async with asyncio.timeout(_SILENCE_S), self._changed:
                        await self._changed.wait_for(partial(self._is_newer, seen))
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._listeners -= 1
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    def _is_newer(self, seen: int) -> bool:
        return self._version > seen

    def _changes(self, since: int) -> list[dict[str, Any]]:
        """The changes since a version, in pieces, so that a browser need not stop for long to read one."""
        rows, gone = [], []
        for key, (row, version) in self._queues.items():
            if row is not None and version > since:
                rows.append(row)
            elif row is None and version > since:
                gone.append(key)
        pieces = [rows[at : at + _ROWS] for at in range(0, len(rows), _ROWS)] or [[]]
        told = [{"rows": piece, "gone": [], "whole": False, "is_last": False} for piece in pieces]
        told[0] |= {"gone": gone, "whole": since == 0}
        told[-1]["is_last"] = True
        return told

    async def _keep_reading(self) -> None:
        try:
            await self._read_again_and_again()
        finally:
            with anyio.CancelScope(shield=True):
                await self._close()

    async def _read_again_and_again(self) -> None:
        while True:
            began_s = time.monotonic()
            try:
                status = await self._read()
                self._trouble = ""
            except Exception as error:  # noqa: BLE001 - shown to the browsers that look
                status, self._trouble = None, " ".join(str(error).split()) or type(error).__name__
            async with self._changed:
                self._version += 1
                if status is not None:
                    self._take(status)
                self._changed.notify_all()
            # A slow Redis is not asked more often than it can answer.
            await asyncio.sleep(max(PERIOD_S, 2 * (time.monotonic() - began_s)))

    def _take(self, status: GroupStatus) -> None:
        self._group = group_of(status)
        rows = queue_rows(status)
        for key in self._queues.keys() - rows.keys():
            if self._queues[key][0] is not None:
                self._queues[key] = (None, self._version)
        for key, row in rows.items():
            if key not in self._queues or self._queues[key][0] != row:
                self._queues[key] = (row, self._version)


def _event(topic: str, data: dict[str, Any]) -> str:
    # JSON has no line ends of its own, so one line is one event.
    return f"event: {topic}\ndata: {json.dumps(data)}\n\n"


def group_of(status: GroupStatus) -> dict[str, Any]:
    """Everything but the queues, and what an operator must look at, those of queues too."""
    return {**status.model_dump(mode="json", exclude={"queues"}), "troubles": troubles(status)}


def queue_rows(status: GroupStatus) -> dict[str, dict[str, Any]]:
    """The local queues by a key that no two have."""
    rows, now_s = {}, time.time()
    for queue in status.queues:
        key = f"{queue.name}/{queue.owner or ''}/{queue.structure or ''}"
        # Send the time, not the age: an age changes at every look, and the row would be sent again each time.
        age_s = queue.oldest_age_s
        oldest_at = None if age_s is None else round(now_s - age_s)
        rows[key] = {"key": key, **queue.model_dump(mode="json", exclude={"oldest_age_s"}), "oldest_at": oldest_at}
    return rows
