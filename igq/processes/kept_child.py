"""A child process that a manager keeps running: whatever becomes of it, the manager goes on."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from igq.errors import PORT_TAKEN
from igq.processes.child import hangups_held, start_child

#: Seconds that it has to end by itself after it is told to.
_STOP_S = 5.0
#: The longest text of an error to log.
_LONGEST = 500


class KeptChild:
    """Keeps a child running until `stop`. The delay before its next start grows up to the most.

    Args:
        name: of its threads.
        words: the command.
        say: called with a message id of `igq.output.messages` and its fields, from a separate thread.
        failed: id of the message that says ``why`` it has ended.
        delays_s: the first delay, and the most.
        stands_by: id of the message that another process has its port.
        listening: it is first started when somebody connects here, and takes connections there: its standard input.
    """

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        say: Callable[..., None],
        failed: str,
        delays_s: tuple[float, float],
        stands_by: str = "",
        listening: socket.socket | None = None,
    ) -> None:
        self._name, self._words, self._say, self._failed, self._stands_by = name, words, say, failed, stands_by
        self._delays_s, self._listening = delays_s, listening
        self._is_over, self._over_fd = threading.Event(), os.eventfd(0, os.EFD_CLOEXEC)
        self._lock = threading.Lock()
        self._popen: subprocess.Popen[str] | None = None
        self._why = ""
        # The kernel ends a child with the thread that started it, so this one lives as long.
        self._thread = threading.Thread(target=self._keep, name=name, daemon=True)
        self._thread.start()

    def ask_to_end(self) -> None:
        """Tell the child to end, and do not wait."""
        with self._lock:
            self._is_over.set()
            os.eventfd_write(self._over_fd, 1)
            if self._popen is not None:
                self._popen.terminate()

    def stop(self) -> None:
        """End the child. It is gone afterwards."""
        self.ask_to_end()
        popen = self._popen
        if popen is not None:
            try:
                popen.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                popen.kill()
        self._thread.join()
        os.close(self._over_fd)

    def _keep(self) -> None:
        delay_s, (first_s, most_s) = 0.0, self._delays_s
        self._wait_for_connection()
        while not self._is_over.wait(delay_s):
            began_s = time.monotonic()
            failed = self._failed
            try:
                why, status = self._run()
                failed = self._stands_by if status == PORT_TAKEN and self._stands_by else failed
            except OSError as error:
                why = f"it cannot be started: {error}"
            has_run_long = time.monotonic() - began_s > most_s
            delay_s = first_s if has_run_long else min(most_s, 2 * delay_s or first_s)
            if not self._is_over.is_set() and why != self._why:
                # A port that another manager has stays so for days: one line is enough.
                self._say(failed, why=why)
            self._why = why

    def _wait_for_connection(self) -> None:
        if self._listening is not None:
            poll = select.poll()
            poll.register(self._listening, select.POLLIN)
            poll.register(self._over_fd, select.POLLIN)
            poll.poll()

    def _run(self) -> tuple[str, int]:
        """Run one child to its end. Returns why it ended, and its exit status."""
        with self._lock:
            if self._is_over.is_set():
                return "", 0
            with hangups_held():
                stdin = subprocess.DEVNULL if self._listening is None else self._listening.fileno()
                popen = self._popen = start_child(self._words, stdin=stdin, stderr=subprocess.PIPE)
        last = [""]
        errors = threading.Thread(
            target=self._read_errors, args=(popen, last), name=f"{self._name} errors", daemon=True
        )
        errors.start()
        assert popen.stdout is not None
        for line in popen.stdout:
            told = json.loads(line)
            self._why = ""
            self._say(told["id"], **told["fields"])
        status = popen.wait()
        errors.join()
        return last[0] or (f"signal {-status}" if status < 0 else f"exit status {status}"), status

    @staticmethod
    def _read_errors(popen: subprocess.Popen[str], last: list[str]) -> None:
        """Keep the last line: an error's own, in a traceback too."""
        assert popen.stderr is not None
        for line in popen.stderr:
            if text := line.strip():
                last[0] = text.removeprefix("igq: ")[:_LONGEST]
