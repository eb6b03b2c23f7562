"""A stream to Parquet of ten times the messages: it takes ten times as long, and the same memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from bench.harness import unpin
from bench.lines.spark.place import bare_processes, expect
from bench.processor import peaks
from bench.rows import Row
from bench.site import LEASE_MS, QMGR, Site

#: The goal is for ten millions. With fewer rows the time is what ten millions would take.
MESSAGES, LIMIT_S = 10_000_000, 70.0
#: Memory with ten times the messages.
MEMORY = 1.1
_MIB = 1 << 20


def measure(site: Site) -> list[Row]:
    """Each with a driver of its own, which has Spark's default settings."""
    unpin()
    unpin(int(site.client.info("server")["process_id"]))
    # The server would copy its memory when its file has grown, and need a core for that.
    site.client.config_set("auto-aof-rewrite-percentage", 0)
    rows = site.effort.spark_rows
    _, few = _archive(site, rows)
    took_s, many = _archive(site, 10 * rows)
    return [
        Row(
            f"{MESSAGES:,} messages to Parquet",
            took_s * MESSAGES / (10 * rows),
            "s",
            floor=LIMIT_S,
            is_limit=True,
            ours=f"{10 * rows / took_s:,.0f}/s",
        ),
        Row(
            "memory of a stream to Parquet, ten times the messages",
            many.total() / few.total(),
            floor=MEMORY,
            is_limit=True,
            ours=_told(many),
            theirs=_told(few),
        ),
    ]


def _archive(site: Site, rows: int) -> tuple[float, Counter[str]]:
    """Seconds and most memory."""
    queue = site.open_new(site.connect()).name
    with bare_processes() as bare:
        expect(bare.put(site.group.settings, queue, rows), rows)
    site.renew_leases()
    at = [site.url, site.group.group.name, QMGR, queue, str(Path(site.server.path) / f"archive{rows}")]
    with subprocess.Popen(
        [sys.executable, "-m", "bench.programs.archiver", *at],
        env=os.environ | {"IGQ_LEASE_MS": str(LEASE_MS)},
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        most = peaks(program)
        assert program.stdout
        return float(program.stdout.read()), most


def _told(most: Counter[str]) -> str:
    return ", ".join(f"{who} {size / _MIB:,.0f}" for who, size in sorted(most.items())) + " MiB"
