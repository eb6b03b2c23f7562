"""Writes expected.jsonl while the load runs: the list is long, and is not needed before the end."""

from __future__ import annotations

import threading
from itertools import takewhile
from pathlib import Path
from types import TracebackType

from igq.errors import CommandError
from igq.rehearsal.load.records import EXPECTED, write_expected
from igq.rehearsal.load.rows.sources import RowSource


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
