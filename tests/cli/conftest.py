"""Real managers in real processes, on an embedded server that the test owns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from igq.processes.child import die_with_parent
from sharedq.api import connection as api
from sharedq.redis.embedded_guard import ServerFiles, has_open, read_pid
from tests.support.scenes import until

ROOT = Path(__file__).resolve().parents[2]


class Running:
    """A command in the background: its lines as they come, and its end."""

    def __init__(
        self,
        shell: Shell,
        arguments: tuple[str, ...],
        stdin: int = subprocess.DEVNULL,
        igq: Sequence[str] = (sys.executable, "-m", "igq"),
        cwd: Path = ROOT,
    ) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._has_ended = False
        self.process = subprocess.Popen(
            [*igq, *arguments],
            cwd=cwd,
            env=shell.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # If the run itself is killed, its processes end too.
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - it does one system call
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def type(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for(self, text: str, count: int = 1) -> str:
        """The line in which *text* comes for the *count*-th time."""
        with self._changed:

            def found() -> list[str]:
                return [line for line in self.lines if text in line]

            self._changed.wait_for(lambda: len(found()) >= count or self._has_ended, timeout=240)
            assert len(found()) >= count, "\n".join(self.lines)
            return found()[count - 1]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; returns the exit status."""
        status = self.process.wait(timeout=240)
        self._thread.join()
        return status


@dataclass
class Shell:
    """Runs ``igq`` in its own environment, as a user would in a terminal."""

    environment: dict[str, str]
    running: list[Running] = field(default_factory=list)
    #: The data directory is removed after the shell's end; else others use the server there.
    owns_directory: bool = False

    def run(self, *arguments: str, text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """One command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "igq", *arguments],
            cwd=ROOT,
            env=self.environment | environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def out(self, *arguments: str, text: str = "") -> str:
        """Standard output of a command that must succeed."""
        done = self.run(*arguments, text=text)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def start(self, *arguments: str) -> Running:
        """A command in the background."""
        running = Running(self, arguments)
        self.running.append(running)
        return running

    def typed(self, *arguments: str) -> Running:
        """A command in the background that reads what is typed."""
        running = Running(self, arguments, subprocess.PIPE)
        self.running.append(running)
        return running

    def start_manager(self, name: str) -> Running:
        """A manager that is ready."""
        running = self.start("qmgr", "start", name)
        running.wait_for("CSQ9022I")
        return running

    def status(self) -> dict[str, Any]:
        """``igq status --json``."""
        found: dict[str, Any] = json.loads(self.out("status", "--json"))
        return found

    def manager(self, name: str) -> dict[str, Any]:
        """One manager's status."""
        return next(each for each in self.status()["managers"] if each["name"] == name)

    def close(self) -> None:
        """End everything that still runs.

        The embedded server ends after its last user, and writes into its directory until then.
        """
        for running in self.running:
            running.end(signal.SIGKILL)
        if not self.owns_directory:
            return
        data_dir = Path(self.environment["IGQ_DATA_DIR"])
        for settings in [each for each in api._groups if each.data_dir == data_dir]:
            # A test that connects itself is a user of the server, too.
            api._groups.pop(settings).leave()
        files = ServerFiles(data_dir)
        for lock in (files.server_lock, files.guardian_lock):
            until(partial(_is_free, lock), "the embedded server has ended")


def _is_free(lock: Path) -> bool:
    return not has_open(read_pid(lock), lock)


def new_shell(data_dir: Path) -> Shell:
    """A shell whose commands use an embedded server in *data_dir*."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IGQ_")}
    return Shell(
        environment | {"IGQ_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"},
        owns_directory=True,
    )


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell for one test; nothing runs yet."""
    shell = new_shell(tmp_path)
    yield shell
    shell.close()


@pytest.fixture(scope="module")
def group() -> Iterator[Shell]:
    """A running group of two, QM1 and QM2, shared by the tests of a module."""
    with tempfile.TemporaryDirectory(prefix="igq") as path:
        shell = new_shell(Path(path))
        # These tests are not about leases, so a busy machine must not cost a manager its place.
        shell.environment["IGQ_LEASE_MS"] = "60000"
        try:
            shell.start("group", "start", "-m", "QM1", "-m", "QM2").wait_for("CSQ9022I", 2)
            yield shell
        finally:
            shell.close()
