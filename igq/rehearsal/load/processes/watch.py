"""The runner's watch on its children while it waits. A wait ends well, or with one line that says why not."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from igq.errors import CommandError
from igq.rehearsal.load.processes.children import Event, Events, Manager

#: How often the group is looked at while waiting for it, seconds.
LOOK_S = 0.2


class ProcessWatch:
    """Takes in the events of children.

    Attributes:
        events: where children put their events.
        ready: managers that have reported that they are ready.
        finished: programs that have done all their work.
        holding: programs that wait before a commit, with their numbers of uncommitted puts and gets.
        prepared: the units of work that each program has prepared.
        interruptions: reason codes of the calls that made programs connect again.

    Args:
        directory: of the logs, for error messages.
        look: called while waiting, a few times a second.
    """

    def __init__(self, directory: Path, look: Callable[[], None]) -> None:
        self.events: Events = queue.SimpleQueue()
        self.ready: set[str] = set()
        self.finished: set[str] = set()
        self.holding: dict[str, Mapping[str, int]] = {}
        self.prepared: dict[str, str] = {}
        self.interruptions: list[int] = []
        self._directory, self._look = directory, look
        self._looked_s = 0.0

    def wait(
        self,
        is_done: Callable[[], bool],
        what: str,
        timeout_s: float,
        *,
        asks_group: bool = False,
        moves: Callable[[], object] = lambda: None,
        why_never: Callable[[], str] = lambda: "",
    ) -> None:
        """Take in events until *is_done*, which is called after every event and a few times a second.

        Args:
            what: what the call waits for, for error messages.
            timeout_s: how long to wait without any movement.
            asks_group: *is_done* asks Redis, so a few calls a second are enough.
            moves: returns a value that shows progress: when it changes, the time starts again.
            why_never: returns why the condition cannot come true any more, or an empty text.

        Raises:
            CommandError: the wait took too long, the condition cannot come true any more, or a child ended by itself.
        """
        if self._wait(is_done, timeout_s, asks_group, moves, why_never):
            return
        reason = why_never()
        why = f"cannot wait any longer for {what}: {reason}" if reason else f"waited {timeout_s:g} s in vain for {what}"
        raise CommandError(f"{why}; the logs are in {self._directory}")

    def wait_a_while(self, is_done: Callable[[], bool], timeout_s: float) -> bool:
        """Wait as `wait` does. False if it is not done in time. Raises CommandError: a child ended by itself."""
        return self._wait(is_done, timeout_s, False, lambda: None, lambda: "")

    def take_events(self) -> None:
        """Take in the events so far. Raises CommandError: a child ended by itself."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._take(self.events.get_nowait())

    def _wait(
        self,
        is_done: Callable[[], bool],
        timeout_s: float,
        asks_group: bool,
        moves: Callable[[], object],
        why_never: Callable[[], str],
    ) -> bool:
        moved, end_s, asked_s = moves(), time.monotonic() + timeout_s, 0.0
        while True:
            self.take_events()
            now_s = time.monotonic()
            if now_s - self._looked_s >= LOOK_S:
                self._looked_s = now_s
                self._look()
            if not asks_group or now_s - asked_s >= LOOK_S:
                asked_s = now_s
                # The event that made it impossible may also have been the last step to it, so check again.
                if is_done() or (why_never() and is_done()):
                    return True
                if why_never():
                    return False
            if (now := moves()) != moved:
                moved, end_s = now, now_s + timeout_s
            if now_s > end_s:
                return False
            with contextlib.suppress(queue.Empty):
                self._take(self.events.get(timeout=LOOK_S))

    def _take(self, event: Event) -> None:
        child, name = event.child, event.child.name
        if event.kind == "ready" and isinstance(child, Manager):
            self.ready.add(name)
        elif event.kind == "finished":
            self.finished.add(name)
            child.is_expected_to_end = True
        elif event.kind == "holding":
            self.holding[name] = event.details
        elif event.kind == "prepared":
            self.prepared[name] = str(event.details["unit"])
        elif event.kind == "interrupted":
            self.interruptions.append(int(event.details["code"]))
        elif event.kind == "ended" and not child.is_expected_to_end:
            status = event.details["status"]
            raise CommandError(f"{name} ended by itself with status {status}: {child.last_error or 'it said nothing'}")
