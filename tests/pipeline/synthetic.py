"""A run as a demo leaves it: a journal and both sides' records, clean or with planted defects."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.pipeline.support import HandWrittenJournal, detail

TRANSMIT = "SYSTEM.QSG.TRANSMIT.QUEUE"
STEP_MS = 20


@dataclass
class Copy:
    """One message copy on its way."""

    row: int
    path: str
    group: str
    seq: int
    source: str
    target: str

    @property
    def correl(self) -> str:
        return f"{self.row:048x}"

    @property
    def queue(self) -> str:
        return "DEPARTURES" if self.path == "igq" else "FLIGHTS"

    @property
    def structure(self) -> str:
        return f"@{self.target}" if self.path == "igq" else "APPL1"


@dataclass
class SyntheticRun:
    """Puts groups of four under syncpoint, moves the IGQ copies, gets both; writes the records beside.

    Defects: ``lost`` rows are never got and in no structure, ``doubled`` rows are got twice, ``swapped`` rows are
    got after their successor, ``alien`` rows are put and got though no input row asks for them; by path "igq".
    """

    journal: HandWrittenJournal
    groups: int = 10
    start_ms: int = 1_700_000_000_000
    lost: frozenset[int] = frozenset()
    doubled: frozenset[int] = frozenset()
    swapped: frozenset[int] = frozenset()
    alien: frozenset[int] = frozenset()
    kill_at_group: int | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    sent: list[dict[str, Any]] = field(default_factory=list)
    received: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    now_ms: int = 0

    def write(self, directory: Path) -> None:
        """Write journal and records."""
        self.journal.define("APPL1", "@EWR", "@JFK")
        self.now_ms = self.start_ms
        chance = random.Random(7)
        expected: list[Copy] = []
        serial = 0
        for group in range(self.groups):
            rows = [4 * group + member for member in range(4)]
            source, target = ("EWR", "JFK") if group % 2 == 0 else ("JFK", "EWR")
            for path in ("igq", "shared"):
                serial += 1
                copies = [Copy(row, path, f"{group:048x}", at + 1, source, target) for at, row in enumerate(rows)]
                expected += [copy for copy in copies if path != "igq" or copy.row not in self.alien]
                ids = self.put(copies, f"{source}.1.1.1", serial)
                if group == self.kill_at_group and path == "shared":
                    self.die_with(copies, ids)
                self.now_ms += chance.randint(1, STEP_MS)
                self.deliver(copies, ids, serial)
        as_json = [
            {
                "row": copy.row,
                "path": copy.path,
                "correl": copy.correl.upper(),
                "group": copy.group,
                "seq": copy.seq,
                "group_size": 4,
                "source": copy.source,
                "target": copy.target if copy.path == "igq" else "",
                "queue": copy.queue,
            }
            for copy in expected
        ]
        _write_lines(directory / "expected.jsonl", as_json)
        _write_lines(directory / "sent-1.jsonl", self.sent)
        for consumer, lines in self.received.items():
            _write_lines(directory / f"received-{consumer}.jsonl", lines)

    def put(self, copies: list[Copy], owner: str, serial: int) -> list[str]:
        """One unit of work, for IGQ onto the target's part of the transmit queue, and the agent's hop."""
        structure = copies[0].structure
        ids = [self._next_id(structure, copy.path) for copy in copies]
        unit = f"{owner}/{serial}"
        queue = TRANSMIT if copies[0].path == "igq" else copies[0].queue
        details = [detail(copy.correl, group=copy.group, seq=copy.seq) for copy in copies]
        self.journal.put(structure, queue, owner, ids, unit=unit, details=details, ms=self.now_ms)
        self.now_ms += 1
        self.journal.end(structure, "commit", unit, len(ids), ms=self.now_ms)
        self.sent += [
            {"correl": copy.correl, "path": copy.path, "t_ms": self.now_ms, "outcome": "ok", "qmgr": copy.source}
            for copy in copies
        ]
        if copies[0].path == "igq":
            self.now_ms += 1
            agent = f"{copies[0].target}.1.9.1"
            self.journal.transfer(structure, TRANSMIT, copies[0].queue, agent, ids, ms=self.now_ms)
        return ids

    def deliver(self, copies: list[Copy], ids: list[str], serial: int) -> None:
        """One unit of work that gets the group, with the defects."""
        igq = copies[0].path == "igq"
        taken = [at for at in range(len(copies)) if not igq or copies[at].row not in self.lost]
        # From the end, so that a moved member is not met again.
        for at in reversed(range(len(taken) - 1)):
            if igq and copies[taken[at]].row in self.swapped:
                taken[at], taken[at + 1] = taken[at + 1], taken[at]
        owner = f"{copies[0].target}.1.5.1"
        unit = f"{owner}/{serial}"
        structure, queue = copies[0].structure, copies[0].queue
        self.journal.get(structure, queue, owner, [ids[at] for at in taken], unit=unit, ms=self.now_ms)
        self.now_ms += 1
        self.journal.end(structure, "commit", unit, len(taken), ms=self.now_ms)
        self._record(owner, [copies[at] for at in taken], "ok")
        for at, copy in enumerate(copies):
            if igq and copy.row in self.doubled:
                self.journal.get(structure, queue, owner, [ids[at]], ms=self.now_ms)

    def die_with(self, copies: list[Copy], ids: list[str]) -> None:
        """A consumer gets the group and dies before its commit. A peer backs its work out."""
        owner = f"{copies[0].source}.1.6.1"
        unit = f"{owner}/99"
        structure, queue = copies[0].structure, copies[0].queue
        self.journal.get(structure, queue, owner, ids, unit=unit, ms=self.now_ms)
        self.now_ms += 5_000
        self.journal.end(structure, "backout", unit, len(ids), recoverer="LGA.1.1.1", ms=self.now_ms)
        self._record(owner, copies, "unknown")

    def _next_id(self, structure: str, path: str) -> str:
        self.numbers[structure] = self.numbers.get(structure, 0) + 1
        return f"{self.numbers[structure]}.1x" if path == "igq" else f"{self.numbers[structure]}x"

    def _record(self, owner: str, copies: Iterable[Copy], outcome: str) -> None:
        lines = self.received.setdefault(owner, [])
        for copy in copies:
            lines.append(
                {
                    "correl": copy.correl,
                    "path": copy.path,
                    "queue": copy.queue,
                    "qmgr": owner.partition(".")[0],
                    "group": copy.group,
                    "seq": copy.seq,
                    "t_ms": self.now_ms,
                    "outcome": outcome,
                    "order": len(lines),
                }
            )


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
