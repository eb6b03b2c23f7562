"""A unit of work of ten thousand messages of 4 KiB: how long one script holds the server.

The ninth decile of each phase's scripts counts: the longest of them tells when the machine did something else.
"""

from __future__ import annotations

import statistics
from typing import Any

from bench.rows import Row
from bench.site import Site
from sharedq.mqi.constants import GetOption, PutOption
from sharedq.mqi.structures import MQMD

MESSAGES = 10_000
BODY = bytes(4096)
BATCH = 100
#: One call may take so long, milliseconds.
LIMIT_MS = 5.0


def measure(site: Site) -> list[Row]:
    """The scripts of each phase, by SLOWLOG: puts, commit, gets, back-out, and the commit of the gets again."""
    connection = site.connect()
    queue = site.open_new(connection)
    site.client.config_set("slowlog-log-slower-than", 0)
    site.client.config_set("slowlog-max-len", 20_000)
    rows: list[Row] = []

    def note(what: str) -> None:
        entries: Any = site.client.slowlog_get(20_000)
        scripts_ms = [entry["duration"] / 1000 for entry in entries if entry["command"].startswith(b"EVALSHA")]
        decile_ms = statistics.quantiles(scripts_ms, n=10, method="inclusive")[-1]
        longest = f"{len(scripts_ms)} scripts, the longest {max(scripts_ms):.1f} ms"
        rows.append(Row(f"a script of {what}", decile_ms, "ms", floor=LIMIT_MS, is_limit=True, ours=longest))
        site.client.slowlog_reset()

    def get_all() -> None:
        for _ in range(MESSAGES // BATCH):
            assert len(queue.get_many(BATCH, GetOption.SYNCPOINT)) == BATCH

    site.client.slowlog_reset()
    for _ in range(MESSAGES // BATCH):
        queue.put_many([(MQMD(persistence=1), BODY) for _ in range(BATCH)], options=PutOption.SYNCPOINT)
    note(f"{MESSAGES:,} puts of 4 KiB, {BATCH} a call")
    connection.commit()
    note("their commit")
    get_all()
    note(f"{MESSAGES:,} gets, {BATCH} a call")
    connection.backout()
    note("their back-out")
    get_all()
    site.client.slowlog_reset()
    connection.commit()
    note("their commit after the back-out")
    return rows
