"""The runner's side of `igq.rehearsal.load.processes.nursery`: starts the nursery and lets it fork programs."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from igq.errors import CommandError
from igq.processes.child import python_command

_SIGKILLED = -signal.SIGKILL


class ForkedProcess:
    """One program, with the part of `subprocess.Popen` that a runner needs.

    Attributes:
        stdin, stdout: the other ends of its standard streams.
    """

    def __init__(self, pid: int, stdin: IO[str], stdout: IO[str]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._status: int | None = None
        self._ended = threading.Event()

    def poll(self) -> int | None:
        """Return the program's exit status, negative for a signal. None while it runs."""
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the program's end. Returns the exit status.

        Raises:
            subprocess.TimeoutExpired: the program is still running.
        """
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("a load program", timeout or 0.0)
        assert self._status is not None
        return self._status

    def send_signal(self, number: int) -> None:
        """Send the program a signal, unless it has ended."""
        if self._status is None:
            os.kill(self.pid, number)

    def has_ended(self, status: int) -> None:
        """Note the program's end, which the nursery reported."""
        self._status = status
        self._ended.set()


class ProgramStarter:
    """Starts programs. Make it in the runner's main thread: the nursery ends with this thread.

    Args:
        environment: of the programs.
        errors: file for the nursery's own error output.
        enter: words that, put before the command, run it on the machine of the programs.
    """

    def __init__(self, environment: Mapping[str, str], errors: Path, enter: Sequence[str] = ()) -> None:
        self._errors = errors
        self._socket, other = socket.socketpair()
        with other, errors.open("ab") as stderr:
            self._nursery = subprocess.Popen(
                [
                    *enter,
                    *python_command("igq.rehearsal.load.processes.nursery", str(other.fileno()), str(os.getpid())),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=dict(environment),
                pass_fds=[other.fileno()],
                start_new_session=True,
            )
        #: Process ids of started programs, and None when the nursery has ended.
        self._started: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._running: dict[int, ForkedProcess] = {}
        #: Ends of programs that were reported before `start` knew these programs.
        self._early: dict[int, int] = {}
        self._lock = threading.Lock()
        self._is_ended = False
        self._thread = threading.Thread(target=self._listen, name="nursery", daemon=True)
        self._thread.start()

    def start(self, kind: str, arguments: Sequence[str], stderr: int) -> ForkedProcess:
        """Fork a program.

        Args:
            kind: putter or consumer.
            stderr: descriptor of its standard error.

        Raises:
            CommandError: the nursery has ended.
        """
        child_in, stdin = os.pipe()
        stdout, child_out = os.pipe()
        request = json.dumps({"kind": kind, "arguments": list(arguments)}).encode()
        try:
            with contextlib.suppress(OSError):
                socket.send_fds(self._socket, [request], [child_in, child_out, stderr])
        finally:
            os.close(child_in)
            os.close(child_out)
        streams = (
            os.fdopen(stdin, "w", encoding="utf-8"),
            os.fdopen(stdout, encoding="utf-8", errors="replace"),
        )
        pid = self._started.get()
        if pid is None:
            # For the next caller.
            self._started.put(None)
            raise CommandError(f"load programs cannot be started; see {self._errors}")
        process = ForkedProcess(pid, *streams)
        with self._lock:
            status = _SIGKILLED if self._is_ended else self._early.pop(pid, None)
            if status is None:
                self._running[pid] = process
        if status is not None:
            process.has_ended(status)
        return process

    def close(self) -> None:
        """End the nursery and the programs that still run."""
        self._nursery.kill()
        self._nursery.wait()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        with self._socket.makefile("rb") as answers, contextlib.suppress(OSError):
            for line in answers:
                answer = json.loads(line)
                if "started" in answer:
                    self._started.put(answer["started"])
                else:
                    self._end(answer["ended"], answer["status"])
        with self._lock:
            self._is_ended = True
            left, self._running = self._running, {}
        for process in left.values():
            # The kernel ends the programs with the nursery.
            process.has_ended(_SIGKILLED)
        self._started.put(None)

    def _end(self, pid: int, status: int) -> None:
        with self._lock:
            process = self._running.pop(pid, None)
            if process is None:
                self._early[pid] = status
        if process is not None:
            process.has_ended(status)
