"""Child processes of a run: queue managers and load programs, each in a session of its own.

The kernel ends them when the runner ends (`igq.processes.child`), and Ctrl-C in the terminal does not reach them. Their
output arrives as events in one queue. Start them from the runner's main thread: the kernel reports a parent's death
when the thread that started the child dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from igq.errors import CommandError
from igq.processes.child import python_command, start_child
from igq.rehearsal.load.processes.forked import ForkedProcess, ProgramStarter
from igq.rehearsal.load.programs.program import Options

PUTTER, CONSUMER = "putter", "consumer"
#: The line with which a manager says that it is ready.
_READY_ID = "CSQ9022I"
#: In the command line of a channel server.
_CHANNELS_MODULE = b"igq.channels"
#: How often the group is looked at while waiting for it, seconds.
LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a child printed or did. The ``kind`` ``ended`` is its end."""

    child: Child
    kind: str
    details: Mapping[str, Any] = field(default_factory=dict)


Events = queue.SimpleQueue[Event]


Process = subprocess.Popen[str] | ForkedProcess


class Child:
    """One child process.

    Attributes:
        is_expected_to_end: the runner has ended it, or asked it to end. If not, its end is a failure.
    """

    def __init__(self, name: str, start: Callable[[int], Process], directory: Path, events: Events) -> None:
        self.name = name
        self.is_expected_to_end = False
        self._events = events
        self._errors = directory / f"{name}.err"
        with self._errors.open("ab") as errors:
            self._process = start(errors.fileno())
        self._thread = threading.Thread(target=self._listen, name=f"output {name}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the child has not ended."""
        return self._process.poll() is None

    @property
    def last_error(self) -> str:
        """The last line that the child wrote to its standard error."""
        lines = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def signal(self, number: int) -> None:
        """Send a signal to the child alone."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def kill(self) -> None:
        """Send SIGKILL. Returns without waiting."""
        self.is_expected_to_end = True
        self.signal(signal.SIGKILL)

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the child's end. Returns the exit status.

        Raises:
            subprocess.TimeoutExpired: the child is still running.
        """
        status = self._process.wait(timeout_s)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        return status

    def send(self, line: str) -> None:
        """Write a line to the child's standard input. If the child has ended, do nothing."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._hear(line.rstrip("\n"))
        self._events.put(Event(self, "ended", {"status": self._process.wait()}))

    def _hear(self, line: str) -> None:
        raise NotImplementedError


class Manager(Child):
    """A queue manager, started by its command line."""

    def __init__(
        self, name: str, env: Mapping[str, str], directory: Path, events: Events, enter: Sequence[str] = ()
    ) -> None:
        """Start a manager. *enter*: words that, put before the command, run it on the manager's machine."""

        def start(stderr: int) -> Process:
            words = [*enter, *python_command("igq", "qmgr", "start", name, "--parent", str(os.getpid()))]
            return start_child(words, stdin=subprocess.PIPE, stderr=stderr, env=env)

        super().__init__(name, start, directory, events)

    def channel_servers(self) -> list[int]:
        """Return the process ids of its channel servers, which are its children. On Linux only."""
        found = []
        for path in Path(f"/proc/{self.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(pid) for pid in path.read_text("ascii").split()]
        return [pid for pid in found if _is_channel_server(pid)]

    def signal_channel_servers(self, number: int) -> list[int]:
        """Send a signal to its channel servers. Returns their process ids."""
        pids = self.channel_servers()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return pids

    def _hear(self, line: str) -> None:
        if _READY_ID in line:
            self._events.put(Event(self, "ready", {"line": line}))


def _is_channel_server(pid: int) -> bool:
    try:
        return _CHANNELS_MODULE in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


class LoadProgram(Child):
    """A load program.

    Attributes:
        kind: putter or consumer.
        owner: token of its connection, once there is one; empty for one that connects through a channel.
        attached: how many times it has connected.
        progress: its last report.
    """

    def __init__(self, kind: str, options: Options, starter: ProgramStarter, events: Events) -> None:
        self.kind, self.options = kind, options
        self.owner = ""
        self.attached = 0
        self.progress: Mapping[str, int] = {}
        start = partial(starter.start, kind, options.arguments())
        super().__init__(options.name, start, options.directory, events)

    @property
    def is_client(self) -> bool:
        """Whether the program connects through its manager's channel."""
        return bool(self.options.channel)

    @property
    def qmgr(self) -> str:
        """The manager that the program is attached to."""
        return self.options.qmgr

    def _hear(self, line: str) -> None:
        try:
            details = json.loads(line)
            kind = details.pop("event")
        except (ValueError, KeyError, TypeError, AttributeError):
            # Output of a library, not an event. It must not end the thread that listens.
            return
        if kind == "attached":
            self.owner = details["owner"]
            self.attached += 1
        elif kind == "progress":
            self.progress = details
        self._events.put(Event(self, kind, details))


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
