"""The console of a manager: a child process, so that whatever becomes of it, the manager goes on."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable

from igq.processes.child import hangups_held, start_child
from igq.processes.interpreter import python_command
from sharedq.settings.values import Settings

#: Seconds until the next start of a console that has ended: more after each, up to the most.
_DELAY_S, _DELAY_MOST_S = 5.0, 60.0
#: Seconds that it has to end by itself after it is told to.
_STOP_S = 5.0
#: The longest text of an error to log.
_LONGEST = 500


class ConsoleChild:
    """Keeps a console running until `stop`. Of the managers of a machine one has the port, until it ends.

    Args:
        say: called with a message id of `igq.output.messages` and its fields, from a separate thread.
    """

    def __init__(self, say: Callable[..., None]) -> None:
        self._say = say
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._popen: subprocess.Popen[str] | None = None
        self._why = ""
        # The kernel ends a child with the thread that started it, so this one lives as long.
        self._thread = threading.Thread(target=self._keep, name="console", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the console. It is gone afterwards."""
        with self._lock:
            self._is_over.set()
            popen = self._popen
        if popen is not None:
            popen.terminate()
            try:
                popen.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                popen.kill()
        self._thread.join()

    def _keep(self) -> None:
        delay_s = 0.0
        while not self._is_over.wait(delay_s):
            delay_s = min(_DELAY_MOST_S, 2 * delay_s or _DELAY_S)
            try:
                why = self._run()
            except OSError as error:
                why = f"it cannot be started: {error}"
            if not self._is_over.is_set() and why != self._why:
                # A port that another manager has stays so for days: one line is enough.
                self._say("IGQ0102E", why=why)
            self._why = why

    def _run(self) -> str:
        """Run one console to its end. Returns why it ended."""
        with self._lock:
            if self._is_over.is_set():
                return ""
            with hangups_held():
                words = python_command("igq", "console", "--parent", str(os.getpid()))
                popen = self._popen = start_child(words, stderr=subprocess.PIPE)
        last = [""]
        errors = threading.Thread(target=self._read_errors, args=(popen, last), name="console errors", daemon=True)
        errors.start()
        assert popen.stdout is not None
        for line in popen.stdout:
            told = json.loads(line)
            self._why = ""
            self._say(told["id"], **told["fields"])
        status = popen.wait()
        errors.join()
        return last[0] or (f"signal {-status}" if status < 0 else f"exit status {status}")

    @staticmethod
    def _read_errors(popen: subprocess.Popen[str], last: list[str]) -> None:
        """Keep the last line: an error's own, in a traceback too."""
        assert popen.stderr is not None
        for line in popen.stderr:
            if text := line.strip():
                last[0] = text.removeprefix("igq: ")[:_LONGEST]


def start_console(settings: Settings, say: Callable[..., None]) -> ConsoleChild | None:
    """Start the console of a manager, if the settings ask for one."""
    return ConsoleChild(say) if settings.console_port else None
