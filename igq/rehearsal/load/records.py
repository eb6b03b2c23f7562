"""The records of a run as JSON lines: what must arrive, what was sent and received, what happened.

The files are the audit's input. A line is written as a whole. A program that is killed leaves at most a torn last line,
which the next writer ends and readers skip.

A program's history has every call before and after it was made, so that a check knows what may have happened. A line
says that a call was ``invoked``, or how it ended: ``ok``, ``failed`` (it changed nothing), ``mixed`` (committed, except
for its part in a structure that has failed) or ``unknown`` (the connection broke before the reply). A call that a
killed program had invoked has no second line; its outcome is unknown, too.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any

from igq.errors import CommandError
from igq.rehearsal.load.rows.plan import Copy, groups
from igq.rehearsal.load.rows.sources import Departure, RowSource
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

EXPECTED = "expected.jsonl"
TIMELINE = "timeline.jsonl"
LOSSES = "losses.jsonl"
#: Bytes at the end of a file that are sure to contain its last whole line.
_TAIL_BYTES = 1 << 16
INVOKED, OK, FAILED, MIXED, UNKNOWN = "invoked", "ok", "failed", "mixed", "unknown"
#: 2009: either the reply was lost, or the connection was shut out. Nothing here tells which.
_PHASES = {MQRC.CONNECTION_BROKEN: UNKNOWN, MQRC.OUTCOME_MIXED: MIXED}


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


class ExpectedWriter:
    """Starts to write at once, in a thread. At the end of its ``with`` block it stops, finished or not."""

    def __init__(self, source: RowSource, directory: Path) -> None:
        self._source, self._path = source, directory / EXPECTED
        self._must_end = threading.Event()
        self._count = 0
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._write, name="expected", daemon=True)
        self._thread.start()

    def count(self) -> int:
        """Wait until everything is written. Returns how many messages must arrive.

        Raises:
            CommandError: the input cannot be read, or the file cannot be written.
        """
        self._thread.join()
        if self._error is not None:
            raise CommandError(f"{self._path}: {self._error}") from self._error
        return self._count

    def __enter__(self) -> ExpectedWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._must_end.set()
        self._thread.join()

    def _write(self) -> None:
        try:
            days = takewhile(lambda _: not self._must_end.is_set(), self._source.days())
            self._count = write_expected(days, self._path)
        except (CommandError, OSError, ValueError) as error:
            self._error = error


class History:
    """Writes the history of one program. Without a path it keeps none."""

    def __init__(self, path: Path | None, program: str) -> None:
        self._program = program
        self._file = LineFile(path) if path is not None else None
        self._number = 0

    @contextmanager
    def call(self, verb: str, **what: Any) -> Iterator[dict[str, Any]]:
        """Record the call made inside the ``with`` block. Entries of the yielded dict are recorded with its end."""
        if self._file is None:
            yield {}
            return
        self._number += 1
        line = {"t_ms": now_ms(), "program": self._program, "pid": os.getpid(), "call": self._number, "verb": verb}
        self._file.write([{**line, "phase": INVOKED, **what}])
        result: dict[str, Any] = {}
        phase = UNKNOWN
        try:
            yield result
            phase = OK
        except MQIError as error:
            phase = _PHASES.get(error.reason, FAILED)
            result["reason"] = int(error.reason)
            raise
        finally:
            self._file.write([{**line, "t_ms": now_ms(), "phase": phase, **result}])
