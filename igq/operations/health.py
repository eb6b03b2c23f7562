"""The health of the managers on this machine, for probes: told by each manager in a file, read without Redis.

A manager holds a lock on its file for as long as its process lives, so the file of a dead process is no sign of life.
This module imports little, because a probe runs every few seconds.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SUFFIX = ".health"
#: Bytes of a file. Each change writes all of them in one call, so a reader never sees half of one.
_SIZE = 256
#: A manager whose main thread gave no sign for this many leases, and this many seconds at least, hangs. Each step of
#: that thread ends earlier, also while Redis does not answer.
_SILENT_LEASES, _SILENT_MIN_S = 10, 60.0


@dataclass(frozen=True, slots=True)
class Health:
    """The latest word of a manager about itself. Times are monotonic, in seconds.

    Attributes:
        is_held: the process lives that told it.
        state: STARTING, RUNNING or QUIESCING.
        beat_s: the latest sign of its main thread.
        safe_until_s: its lease is surely held until then.
    """

    name: str
    is_held: bool
    state: str = ""
    beat_s: float = 0.0
    safe_until_s: float = 0.0
    lease_s: float = 0.0

    def why_not_live(self, now_s: float) -> str:
        """Why the manager should be started again. Empty: it lives, also if Redis is away."""
        if not self.is_held:
            return f"queue manager {self.name}: no process"
        silent_s = now_s - self.beat_s
        if silent_s > max(_SILENT_MIN_S, _SILENT_LEASES * self.lease_s):
            return f"queue manager {self.name}: hangs, no sign for {int(silent_s)} s"
        return ""

    def why_not_ready(self, now_s: float) -> str:
        """Why programs cannot use the manager now. Empty: they can."""
        why = self.why_not_live(now_s)
        if why:
            return why
        if self.state != "RUNNING":
            return f"queue manager {self.name}: {self.state}"
        if now_s >= self.safe_until_s:
            return f"queue manager {self.name}: its lease was not renewed, Redis may be away"
        return ""


class HealthFile:
    """The file of the manager *name*, which this process is. Does nothing while another process holds it."""

    def __init__(self, data_dir: Path, name: str) -> None:
        self._path = data_dir / f"{name}{_SUFFIX}"
        self._file: int | None = None
        self._state, self._safe_until_s, self._lease_s = "STARTING", 0.0, 0.0

    def tell(self, state: str, *, safe_until_s: float = 0.0, lease_s: float = 0.0) -> None:
        """Tell the state, and that the main thread is at work. A full disk is no reason for a manager to end."""
        self._state, self._safe_until_s, self._lease_s = state, safe_until_s, lease_s
        self.beat()

    def beat(self) -> None:
        """Tell that the main thread is at work."""
        values = {
            "state": self._state,
            "beat_s": time.monotonic(),
            "safe_until_s": self._safe_until_s,
            "lease_s": self._lease_s,
        }
        with contextlib.suppress(OSError):
            if self._file is None:
                self._file = self._locked()
            if self._file is not None:
                os.pwrite(self._file, json.dumps(values).encode().ljust(_SIZE), 0)

    def close(self) -> None:
        """Remove the file: the manager ends in good order."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._file)
            self._file = None

    def _locked(self) -> int | None:
        # Children must not inherit it: the agent may outlive its manager by a moment.
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_ino == self._path.stat().st_ino:
                return file
        except OSError:
            # Another process holds it, or has just removed it.
            pass
        os.close(file)
        return None


def read_health(data_dir: Path, name: str) -> Health:
    """Return what the manager *name* tells of itself."""
    try:
        with (data_dir / f"{name}{_SUFFIX}").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return Health(name, is_held=True, **json.loads(file.read(_SIZE)))
    except (OSError, ValueError, TypeError):
        # It is not there, or is of another program.
        pass
    return Health(name, is_held=False)


def managers_here(data_dir: Path) -> list[str]:
    """Return the managers that have a file in *data_dir*, by name."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in data_dir.glob(f"*{_SUFFIX}"))


def quick(arguments: Sequence[str]) -> int | None:
    """Answer the arguments of a probe at once. None: they need the whole command line."""
    if len(arguments) not in (2, 3) or arguments[0] != "health" or arguments[1] not in ("live", "ready"):
        return None
    name = arguments[2] if len(arguments) == 3 else ""
    return answer(arguments[1], name) if name.isidentifier() or not name else None


def answer(kind: str, name: str) -> int:
    """Return the exit status of a probe, and say on standard error why it is not 0."""
    from sharedq.display.lines import tell

    why = probe(kind, name, os.environ)
    if why:
        tell(f"igq: {why}")
    return int(bool(why))


def probe(kind: str, name: str, env: Mapping[str, str]) -> str:
    """Return why a manager is not live or not ready. Empty: it is.

    Args:
        kind: ``live`` or ``ready``.
        name: empty for every manager of this machine's data directory, of which there must be one.
    """
    from sharedq.settings.directories import data_dir_of

    data_dir, now_s = data_dir_of(env), time.monotonic()
    found = [read_health(data_dir, each) for each in ([name] if name else managers_here(data_dir))]
    if not name:
        # A manager that was killed leaves its file.
        found = [each for each in found if each.is_held]
    if not found:
        return f"no queue manager runs in {data_dir}"
    told = [each.why_not_live(now_s) if kind == "live" else each.why_not_ready(now_s) for each in found]
    return "; ".join(why for why in told if why)
