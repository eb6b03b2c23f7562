"""Processor time of processes, which a neighbour's load hardly changes."""

from __future__ import annotations

import os
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def processor_s() -> float:
    """Seconds that this process, its descendants, and those of them that have ended have run since they began."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text("ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            # It has just ended: its parent counts it.
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        # Its own in user and system mode, and that of its children that have ended.
        ticks[pid] = sum(map(int, fields[11:15]))
    return _TICK_S * sum(ticks[pid] for pid in ticks if _descends(pid, os.getpid(), parents))


def main_thread_us(pid: int) -> float:
    """Microseconds that the main thread of a process has run since it began."""
    return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) / 1_000


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid and pid != ancestor:
        pid = parents.get(pid, 0)
    return pid == ancestor
