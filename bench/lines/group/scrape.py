"""One scrape of 2,000 queues: processor time of the process that serves the metrics, packing included."""

from __future__ import annotations

import gzip
import statistics
import time

from bench.harness import BODY, unpin
from bench.rows import Row
from bench.site import Site
from igq.monitoring.collector import GroupCollector

QUEUES, CHANGED, ROUNDS = 2_000, 20, 11
#: Milliseconds.
FIRST, LATER = 500, 200


def measure(site: Site) -> list[Row]:
    """The first scrape reads all definitions and the age of each oldest message; later ones what has changed."""
    unpin()
    group = site.new_group(journal=False)
    group.define_structure()
    names = [f"BENCH.{number}" for number in range(QUEUES)]
    with site.connect(group) as connection:
        for name in names:
            group.define_shared(name)
            connection.put1(name, BODY)
        site.renew_leases()
        collector = GroupCollector(group.group)
        first_ms, size = _scrape(collector)
        later = []
        for _ in range(ROUNDS):
            for name in names[:CHANGED]:
                connection.put1(name, BODY)
            later.append(_scrape(collector)[0])
    of = f"a scrape of {QUEUES:,} queues"
    return [
        Row(f"{of}, the first", first_ms, "ms", floor=FIRST, is_limit=True, ours=f"{size / 1e6:.1f} MB"),
        Row(f"{of}, {CHANGED} changed", statistics.median(later), "ms", floor=LATER, is_limit=True),
    ]


def _scrape(collector: GroupCollector) -> tuple[float, int]:
    """Milliseconds of this process' processors, and bytes before they are packed."""
    begun_s = time.process_time()
    text = collector.text()
    gzip.compress(text, compresslevel=1)
    return 1000 * (time.process_time() - begun_s), len(text)
