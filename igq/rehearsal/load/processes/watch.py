"""What a runner learns from its children while it waits; its waits end well, or with one line that says why."""

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


class Watch:
    """Takes in what children say and do.

    Attributes:
        events: where children put their events.
        ready: managers that have said that they are ready.
        finished: programs that have done all they had to.
        holding: programs that wait before a commit, with the numbers of uncommitted puts and gets.
        prepared: units of work that programs have prepared, by their programs.
        interruptions: reason codes of the calls because of which programs had to connect again.

    Args:
        directory: of the logs, for messages.
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
        """Take events in until *is_done*, which is asked after every event and a few times a second.

        Args:
            what: is waited for, for messages.
            timeout_s: how long to wait without any movement.
            asks_group: *is_done* asks Redis: a few times a second are enough.
            moves: what shows that it goes on: the time starts anew when its value changes.
            why_never: says why the condition cannot come true any more; an empty text while it may.

        Raises:
            CommandError: it took too long, cannot happen any more, or a child ended by itself.
        """
        if self._wait(is_done, timeout_s, asks_group, moves, why_never):
            return
        reason = why_never()
        why = f"cannot wait any longer for {what}: {reason}" if reason else f"waited {timeout_s:g} s in vain for {what}"
        raise CommandError(f"{why}; the logs are in {self._directory}")

    def wait_a_while(self, is_done: Callable[[], bool], timeout_s: float) -> bool:
        """Wait as `wait` does; false when it is not done in time.

        Raises:
            CommandError: a child ended by itself.
        """
        return self._wait(is_done, timeout_s, False, lambda: None, lambda: "")

    def take_events(self) -> None:
        """Take in what has happened.

        Raises:
            CommandError: a child ended by itself.
        """
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
                # What makes it impossible may also have been the last step to it: ask again.
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
