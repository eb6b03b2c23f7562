"""Commands over 2,000 queues: their DEFINE, a status, a diff."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.harness import unpin
from bench.manager import environment_of
from bench.rows import Row
from bench.site import QMGR, Site

QUEUES = 2_000
#: Milliseconds.
DEFINE, STATUS, DIFF = 5_000, 1_000, 5_000


def measure(site: Site) -> list[Row]:
    """Each command is a process, as an operator starts it."""
    unpin()
    group = site.new_group(journal=False)
    group.define_structure()
    environment = os.environ | environment_of(group)

    def run(name: str, limit: float, *arguments: str) -> Row:
        site.renew_leases()
        site.client.config_resetstat()
        start_s = time.monotonic()
        whole = [sys.executable, "-m", "igq", *arguments]
        subprocess.run(whole, env=environment, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        took_ms, calls = 1000 * (time.monotonic() - start_s), _scripts(site)
        return Row(name, took_ms, "ms", floor=limit, is_limit=True, ours=f"{calls / QUEUES:.1f} scripts a queue")

    def file_of(word: str) -> str:
        path = Path(site.server.path) / f"{word or 'new'}.mqsc"
        lines = (f"DEFINE QLOCAL(BENCH.{each}) QSGDISP(SHARED) CFSTRUCT(APPL1) {word}\n" for each in range(QUEUES))
        path.write_text("".join(lines), encoding="ascii")
        return str(path)

    return [
        run(f"DEFINE of {QUEUES:,} queues", DEFINE, "mqsc", QMGR, file_of("")),
        run(f"igq diff of {QUEUES:,} queues", DIFF, "diff", file_of("REPLACE"), "-m", QMGR),
        run(f"igq status of {QUEUES:,} queues", STATUS, "status"),
    ]


def _scripts(site: Site) -> int:
    """Scripts that Redis has run since its statistics were reset."""
    return int(site.client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0))
