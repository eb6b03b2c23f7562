"""A supervisor of several managers in the foreground: it starts them, shows their logs and stops them."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from types import FrameType

from rich.text import Text

from igq.errors import CommandError, check_qmgr_name
from igq.processes.child import python_command, start_child
from sharedq.display.terminal import Terminal
from sharedq.display.text import visible
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.loader import prepare_data_dir
from sharedq.settings.values import Settings

#: Seconds that managers have to end after they are told to stop at once. Then they are killed.
KILL_TIMEOUT_S = 15.0
#: Seconds that managers have to quiesce: the programs' time, and the time to recover the rest.
QUIESCE_TIMEOUT_S = 60.0
#: The message of a manager that is ready.
_READY = "CSQ9022I"
#: Findings of the doctor to tell after the start.
_FINDINGS = 3
_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")


class Supervisor:
    """Starts managers as child processes and waits until they end. It restarts none.

    The first Ctrl-C (or SIGTERM) makes them quiesce, the second stops them at once, the third kills them. SIGHUP is
    passed on, so that they reopen their logs. If the supervisor itself is killed, the kernel ends its children.
    """

    def __init__(self, settings: Settings, names: list[str]) -> None:
        for name in names:
            check_qmgr_name(name, settings.group)
        if len(set(names)) != len(names):
            raise CommandError("a queue manager is named twice", 2)
        self._settings, self._names = settings, names
        self._console = Terminal(highlight=False, soft_wrap=True)
        self._children: dict[str, subprocess.Popen[str]] = {}
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._signals = 0
        self._hangups = 0
        self._starting = set(names)

    def run(self) -> int:
        """Run until every manager has ended. Returns 0 if all have stopped in good order, else 1."""
        prepare_data_dir(self._settings)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        # Children inherit this, and ignore the signal until they have installed a handler.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            for name in self._names:
                self._start(name)
            signal.signal(signal.SIGHUP, self._on_hangup)
            return self._wait()
        finally:
            self._kill()

    def _start(self, name: str) -> None:
        # Ctrl-C in the terminal reaches only the supervisor, which passes it on once.
        words = python_command("igq", "qmgr", "start", name, "--parent", str(os.getpid()))
        child = start_child(words, stderr=subprocess.STDOUT)
        self._children[name] = child
        threading.Thread(target=self._show, args=(name, child), name=f"output {name}", daemon=True).start()

    def _show(self, name: str, child: subprocess.Popen[str]) -> None:
        colour = _COLOURS[self._names.index(name) % len(_COLOURS)]
        width = max(map(len, self._names))
        assert child.stdout is not None
        for line in child.stdout:
            self._print(Text.assemble((f"{name:<{width}} | ", colour), visible(line.rstrip("\n"))))
            if _READY in line:
                self._note_ready(name)
        child.wait()
        self._events.put(name)

    def _note_ready(self, name: str) -> None:
        """After the last of them is ready for the first time, tell what an operator should do first."""
        if name in self._starting:
            self._starting.discard(name)
            if not self._starting:
                threading.Thread(target=self._tell_findings, name="doctor", daemon=True).start()

    def _tell_findings(self) -> None:
        # Imported now, after the managers: it is no part of their start.
        from igq.operations.doctor.visit import find, worst

        with contextlib.suppress(MQIError, DeploymentError):
            found = find(self._settings, is_quick=True)
            for each in worst(found, _FINDINGS):
                self._say(f"{each.finding.severity.word}: {each.finding.what}; {each.finding.todo}")
            left = len(worst(found, len(found))) - _FINDINGS
            if left > 0:
                self._say(f"igq doctor tells {left} more")

    def _wait(self) -> int:
        left, told, hangups, until_s = set(self._names), 0, 0, None
        exit_status = 0
        while left:
            if self._hangups > hangups:
                hangups = self._hangups
                self._send(signal.SIGHUP)
            if self._signals > told:
                told = self._signals
                until_s = time.monotonic() + (QUIESCE_TIMEOUT_S if told == 1 else KILL_TIMEOUT_S)
                self._tell(told)
            try:
                left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
                name = self._events.get(timeout=left_s)
            except queue.Empty:
                self._say("not all managers have stopped in time; killing them")
                return 1
            if not name:
                continue
            left.discard(name)
            status = self._children[name].returncode
            if told and status == -signal.SIGTERM:
                # A manager installs its handler before it joins the group, so this one had not begun.
                self._say(f"{name} was stopped before it began to start")
            elif status:
                exit_status = 1
                how = f"by signal {-status}" if status < 0 else f"with exit status {status}"
                self._say(f"{name} has ended {how}")
        return exit_status

    def _tell(self, times: int) -> None:
        # A manager counts its signals as the supervisor does.
        self._send(signal.SIGTERM if times <= 2 else signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        for child in self._children.values():
            if child.poll() is None:
                child.send_signal(number)

    def _kill(self) -> None:
        for child in self._children.values():
            if child.poll() is None:
                child.kill()
            child.wait()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self._events.put("")

    def _on_hangup(self, _number: int, _frame: FrameType | None) -> None:
        self._hangups += 1
        self._events.put("")

    def _say(self, text: str) -> None:
        self._print(Text(text, style="bold"))

    def _print(self, text: Text) -> None:
        # The reader may be gone (`| head`), for which rich asks for an exit. Go on reading the managers' output,
        # because a manager whose pipe is full stands still, and stop them in good order.
        with contextlib.suppress(OSError, SystemExit):
            self._console.print(text)
