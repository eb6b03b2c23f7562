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

#: Events of a large journal, and of a drill's.
EVENTS, OF_A_DRILL = 200_000, 8_000
#: Jobs over the large journal, and their limits in seconds. The trace is of messages that are not there.
LARGE = {("audit",): 5.0, ("flow",): 4.0, ("trace", "--correl-id", "ff"): 4.0}
VERDICT_S = 3.0
#: Events in an entry of the journal that batches make.
BATCH = 100
TURNS = 3


def measure(site: Site) -> list[Row]:
    """By DuckDB, which needs no Java; the line about Spark compares both."""
    unpin()
    large, drill = journal_of(site, EVENTS, BATCH), journal_of(site, OF_A_DRILL, 1)
    rows = [
        _row(site, f"igq pipeline {command[0]} of {EVENTS:,} events", large, command, limit_s)
        for command, limit_s in LARGE.items()
    ]
    return [*rows, _row(site, "a drill's verdict", drill, ("audit",), VERDICT_S)]


def _row(site: Site, name: str, group: TestGroup, command: tuple[str, ...], limit_s: float) -> Row:
    turns = range(TURNS)
    took_s = statistics.median(job_s(site, group, f"{name}-{turn}", "duckdb", *command) for turn in turns)
    return Row(name, took_s, "s", floor=limit_s, is_limit=True, ours=f"{took_s:.1f} s")


def journal_of(site: Site, events: int, per_entry: int) -> TestGroup:
    """A group whose journal has *events* events: half of them puts, half gets."""
    group = site.new_group(journal=True)
    queue = site.open_new(site.connect(group), group)
    for _ in range(0, events, 2 * per_entry):
        queue.put_many([(persistent(), BODY) for _ in range(per_entry)], options=PutOption.NO_SYNCPOINT)
        queue.get_many(per_entry)
    return group


def job_s(site: Site, group: TestGroup, name: str, engine: str, *command: str) -> float:
    """Seconds that a command of `igq pipeline` takes by *engine*, as a process of its own."""
    where = ["--group", group.group.name, "--url", site.url, "--engine", engine]
    where += ["--output", str(Path(site.server.path) / f"{engine}-{name}")]
    begun_s = time.monotonic()
    subprocess.run([sys.executable, "-m", "igq.pipeline", *command, *where], check=True, capture_output=True)
    return time.monotonic() - begun_s
