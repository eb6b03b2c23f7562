"""Processor time of processes, which a neighbour's load hardly changes; and their memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
#: Fields of /proc/PID/stat after the name.
_PARENT, _TICKS = 1, slice(11, 15)


def processor_s(pid: int = 0) -> float:
    """Seconds that a process, its descendants, and those of them that have ended have run since they began.

    Args:
        pid: 0 for this process.
    """
    # Their own in user and system mode, and that of their children that have ended.
    return _TICK_S * sum(sum(map(int, fields[_TICKS])) for fields in _family(pid or os.getpid()).values())


def main_thread_us(pid: int) -> float:
    """Microseconds that the main thread of a process has run since it began."""
    return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) / 1_000


def peaks(process: subprocess.Popen[Any]) -> Counter[str]:
    """The most memory, in bytes, of the driver, of Java, and of all workers together, until *process* ends."""
    page, most = os.sysconf("SC_PAGE_SIZE"), Counter[str]()
    while process.poll() is None:
        now = Counter[str]()
        for pid in _family(process.pid):
            try:
                resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
                command = Path(f"/proc/{pid}/comm").read_text().strip()
            except (OSError, IndexError):
                continue
            now["driver" if pid == process.pid else "Java" if command == "java" else "workers"] += resident
        most |= now
        time.sleep(0.5)
    return most


def _family(root: int) -> dict[int, list[str]]:
    """A process and its descendants, with the fields of each."""
    fields: dict[int, list[str]] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, told = int(path.parent.name), path.read_text("ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            # It has just ended: its parent counts it.
            continue
        fields[pid] = told
        children.setdefault(int(told[_PARENT]), []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return {pid: fields[pid] for pid in found if pid in fields}
