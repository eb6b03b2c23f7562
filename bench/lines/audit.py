"""The time until `igq pipeline audit` has judged a journal, the start of the command included."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.harness import BODY, unpin
from bench.rows import Row
from bench.site import Site, persistent
from sharedq.mqi.constants import PutOption
from tests.support.members import TestGroup

#: Events of a large journal, and of a drill's; the limits in seconds.
EVENTS, OF_A_DRILL = 200_000, 8_000
LIMIT_S, VERDICT_S = 10.0, 3.0
#: Events in an entry of the journal that batches make.
BATCH = 100
TURNS = 3


def measure(site: Site) -> list[Row]:
    """By DuckDB, which needs no Java; the line about Spark compares both."""
    unpin()
    rows = []
    for name, events, per_entry, limit_s in (
        (f"igq pipeline audit of {EVENTS:,} events", EVENTS, BATCH, LIMIT_S),
        ("a drill's verdict", OF_A_DRILL, 1, VERDICT_S),
    ):
        group = journal_of(site, events, per_entry)
        took_s = statistics.median(audit_s(site, group, f"{events}-{turn}", "duckdb") for turn in range(TURNS))
        rows.append(Row(name, took_s, "s", floor=limit_s, is_limit=True, ours=f"{took_s:.1f} s"))
    return rows


def journal_of(site: Site, events: int, per_entry: int) -> TestGroup:
    """A group whose journal has *events* events: half of them puts, half gets."""
    group = site.new_group(journal=True)
    queue = site.open_new(site.connect(group), group)
    for _ in range(0, events, 2 * per_entry):
        queue.put_many([(persistent(), BODY) for _ in range(per_entry)], options=PutOption.NO_SYNCPOINT)
        queue.get_many(per_entry)
    return group


def audit_s(site: Site, group: TestGroup, name: str, engine: str) -> float:
    """Seconds that the command takes by *engine*, as a process of its own."""
    where = ["--group", group.group.name, "--url", site.url, "--engine", engine]
    where += ["--output", str(Path(site.server.path) / f"audit-{engine}-{name}")]
    begun_s = time.monotonic()
    subprocess.run([sys.executable, "-m", "igq.pipeline", "audit", *where], check=True, capture_output=True)
    return time.monotonic() - begun_s
