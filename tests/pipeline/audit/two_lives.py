"""Two lives of a structure, which was lost and recovered, and the records of a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sharedq.reading.journal import expand, read_entries
from sharedq.redis.keys import structure_keys
from tests.pipeline.support import GROUP, HandWrittenJournal, detail

STRUCTURE, QUEUE, OWNER = "APPL1", "FLIGHTS", "EWR.1.1.1"
BEFORE_MS, BACKUP_MS, AFTER_MS, SECOND_MS = 1_000, 2_000, 3_000, 4_000


class TwoLives:
    """Two lives of a structure, written call by call, and the records of the run's programs."""

    def __init__(self, journal: HandWrittenJournal, directory: Path, structure: str = STRUCTURE) -> None:
        self.journal, self._directory, self._structure = journal, directory, structure
        self._sent: list[dict[str, Any]] = []
        self._received: list[dict[str, Any]] = []
        journal.define(structure)

    def put(self, number: int, ms: int, *, outcomes: tuple[str, ...] = ("ok",), unit: str = "") -> None:
        self.journal.put(
            self._structure, QUEUE, OWNER, [f"{number}x"], details=[detail(correl(number))], unit=unit, ms=ms
        )
        about = {"correl": correl(number), "path": "shared", "t_ms": ms, "qmgr": "EWR"}
        self._sent += [about | {"outcome": outcome} for outcome in outcomes]

    def get(self, number: int, ms: int) -> None:
        self.journal.get(self._structure, QUEUE, OWNER, [f"{number}x"], ms=ms)
        about = {"correl": correl(number), "path": "shared", "queue": QUEUE, "qmgr": "EWR", "group": "", "seq": 1}
        self._received.append(about | {"t_ms": ms, "outcome": "ok", "order": len(self._received)})

    def lose(self) -> None:
        """As a drill does: the journal is kept, and the structure begins again."""
        client, keys = self.journal.client, structure_keys(GROUP, self._structure)
        rows = [
            row
            for entry in read_entries(client, keys)
            for row in expand(entry, self._structure, self.journal.numbers[self._structure])
        ]
        events = []
        for row in rows:
            values = row._asdict()
            at = datetime.fromtimestamp(values.pop("time_us") / 1e6, UTC)
            events.append({"time": at.isoformat(), **values})
        self._write(f"lost-{self._structure}.jsonl", events)
        self._write("losses.jsonl", [{"structure": self._structure, "backup": f"{BACKUP_MS}-0"}])
        client.delete(keys.journal)

    def record(self, numbers: range) -> Path:
        """Write the records, also beside those of another run, and return their directory."""
        about = {"path": "shared", "group": "", "seq": 1, "group_size": 0, "source": "EWR", "target": ""}
        about["queue"] = QUEUE
        self._write("expected.jsonl", [about | {"row": each, "correl": correl(each)} for each in numbers])
        self._write("sent-1.jsonl", self._sent)
        self._write("received-1.jsonl", self._received)
        return self._directory

    def _write(self, name: str, rows: list[dict[str, Any]]) -> None:
        with (self._directory / name).open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)


def correl(number: int) -> str:
    return f"{number:048x}"
