"""The records of a run as JSON lines: what must arrive, what was sent and received, what happened.

The files are the audit's input. A line is written as a whole. A program that is killed leaves at most a torn last line,
which the next writer ends and readers skip.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from igq.rehearsal.load.rows.departures import Departure
from igq.rehearsal.load.rows.plan import Copy, groups

EXPECTED = "expected.jsonl"
TIMELINE = "timeline.jsonl"
LOSSES = "losses.jsonl"
#: Bytes at the end of a file that are sure to contain its last whole line.
_TAIL_BYTES = 1 << 16


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class LineFile:
    """A file for JSON lines. Several lines leave in one write. Several threads may use it."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append *rows*. When this returns, the operating system has them."""
        text = "".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows).encode()
        with self._lock:
            while text:
                text = text[os.write(self._fd, text) :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def __enter__(self) -> LineFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file without torn lines. No file, no rows."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        yield from _parsed(lines)


def last_row(path: Path) -> dict[str, Any] | None:
    """Return the last whole row of a file, without reading all of it."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        # The first line may be cut, and the last one torn.
        rows = list(_parsed(file.read().decode(errors="replace").splitlines()))
    return rows[-1] if rows else None


def write_expected(days: Iterable[Iterable[Departure]], path: Path) -> int:
    """Write the messages that the input rows demand, one a line. Returns their number."""
    count = 0
    with LineFile(path) as file:
        for day in days:
            rows = [expected_row(copy) for group in groups(day) for planned in group for copy in planned.copies()]
            file.write(rows)
            count += len(rows)
    return count


def expected_row(copy: Copy) -> dict[str, Any]:
    """Return a line of expected.jsonl."""
    return {
        "row": copy.row,
        "path": copy.path,
        "correl": copy.correl.hex(),
        "group": copy.group.hex() if copy.group_size else "",
        "seq": copy.seq,
        "group_size": copy.group_size,
        "source": copy.source,
        "target": copy.target,
        "queue": copy.queue,
    }


class Timeline:
    """timeline.jsonl: the events of a run, for the audit and for people."""

    def __init__(self, directory: Path) -> None:
        self._file = LineFile(directory / TIMELINE)

    def add(self, event: str, qmgr: str, *, by: str = "", detail: str = "", t_ms: int | None = None) -> None:
        """Record an event. *t_ms* is its time, by default now."""
        at_ms = now_ms() if t_ms is None else t_ms
        self._file.write([{"t_ms": at_ms, "event": event, "qmgr": qmgr, "by": by, "detail": detail}])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_timeline(directory: Path) -> list[dict[str, Any]]:
    """Return the events of a run, in order of time."""
    return sorted(read_lines(directory / TIMELINE), key=lambda event: int(event["t_ms"]))


def _parsed(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict):
            yield row
