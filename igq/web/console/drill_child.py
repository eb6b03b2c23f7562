"""A drill that the console has started: a child process, its lines and its verdict. One at a time."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from igq.errors import CommandError
from igq.processes.interpreter import python_command
from igq.web.access.gate import Refused
from sharedq.display.text import visible
from sharedq.settings.values import Settings

#: Lines to keep, the latest, and characters of each.
_LINES, _LONGEST = 2_000, 2_000
_VERDICTS: Mapping[int | None, str] = {None: "RUNNING", 0: "PASSED", 1: "FAILED", 2: "NOT POSSIBLE"}


class DrillChild:
    """Runs one drill at a time. It works on an embedded group of its own, below the data directory of the console."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._name = ""
        self._lines: list[str] = []
        #: Number of the drill: 0 before the first one.
        self._run = 0
        #: Number of lines that are no longer kept.
        self._dropped = 0
        self._status: int | None = 0
        self._is_stopped = False
        self._popen: subprocess.Popen[str] | None = None

    def start(self, settings: Settings, name: str, arguments: Sequence[str]) -> None:
        """Start a drill.

        Raises:
            Refused: 409, one runs.
        """
        with self._lock:
            if self._status is None:
                raise Refused(409, f"drill {self._name} runs: one at a time")
            self._run += 1
            self._name, self._lines, self._dropped = name, [], 0
            self._status, self._is_stopped, self._popen = None, False, None
        # The kernel ends a child with the thread that started it, so this one lives as long.
        threading.Thread(target=self._keep, args=(settings, [name, *arguments]), name="drill", daemon=True).start()

    def stop(self) -> str:
        """Ask the drill to end its processes and itself. Returns its name.

        Raises:
            Refused: 409, none runs.
        """
        with self._lock:
            if self._status is not None:
                raise Refused(409, "no drill runs")
            # A second signal would break into the end that the first one began.
            if self._popen is not None and not self._is_stopped:
                self._popen.terminate()
            self._is_stopped = True
            return self._name

    def told(self, run: int, since: int) -> dict[str, Any]:
        """The verdict and the lines so far, with ``run`` and ``next``, the numbers to ask with after these lines.

        Args:
            run: number of the drill that *since* belongs to.
            since: number of the first line that is not known.
        """
        with self._lock:
            first = max(0, since - self._dropped) if run == self._run else 0
            # A drill that had its verdict before the signal came keeps it.
            verdict = _VERDICTS.get(self._status) or ("STOPPED" if self._is_stopped else f"ENDED ({self._status})")
            if self._is_stopped and self._status is None:
                verdict = "STOPPING"
            return {
                "run": self._run,
                "name": self._name,
                "verdict": verdict if self._name else "",
                "is_running": self._status is None,
                "lines": self._lines[first:],
                "next": self._dropped + len(self._lines),
            }

    def _keep(self, settings: Settings, words: Sequence[str]) -> None:
        status = 2
        try:
            status = self._follow(settings, words)
        except OSError as error:
            self._add(f"the drill cannot be started: {error}")
        finally:
            with self._lock:
                self._status = status

    def _follow(self, settings: Settings, words: Sequence[str]) -> int:
        popen = subprocess.Popen(
            python_command("igq", "drill", *words, "--parent", str(os.getpid())),
            env=own_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C in the terminal must not reach it.
            start_new_session=True,
        )
        with self._lock:
            self._popen = popen
            if self._is_stopped:
                popen.terminate()
        assert popen.stdout is not None
        for line in popen.stdout:
            self._add(line.rstrip("\n"))
        return popen.wait()

    def _add(self, line: str) -> None:
        with self._lock:
            self._lines.append(visible(line[:_LONGEST]))
            if len(self._lines) > _LINES:
                del self._lines[0]
                self._dropped += 1


def own_environment(settings: Settings) -> dict[str, str]:
    """The environment of a drill: no setting of the live group reaches it, least of all the URL of its Redis."""
    # The file of settings is not passed on: it may name the live Redis. The program of the server is the same.
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "IGQ_REDIS_SERVER" or not (name.startswith("IGQ_") or name == "REDIS_URL")
    }
    own = {
        "IGQ_DATA_DIR": str(settings.data_dir / "drills"),
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    return kept | own


def list_drills(settings: Settings) -> list[dict[str, str]]:
    """List the drills: ``name`` and ``summary`` of each.

    Raises:
        CommandError: they cannot be listed.
    """
    command = python_command("igq", "drill", "--json")
    done = subprocess.run(command, env=own_environment(settings), capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"the drills cannot be listed: {done.stderr.strip()}")
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found
