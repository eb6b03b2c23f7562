"""The time until a command is done, and until a manager is ready."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from bench.harness import unpin
from bench.manager import environment_of, running_manager
from bench.rows import Row
from bench.site import QMGR, Site

#: Milliseconds.
HELP, PUT, MANAGER = 100, 250, 1000
TURNS = 7
QUEUE = "BENCH.START"


def measure(site: Site) -> list[Row]:
    """`igq --help`, `igq put` of one message, and a manager's start, until its agent runs."""
    unpin()
    group = site.new_group(journal=False)
    group.define_structure()
    group.define_shared(QUEUE)
    environment = os.environ | environment_of(group)

    def command(*arguments: str) -> Callable[[], None]:
        def run() -> None:
            whole = [sys.executable, "-m", "igq", *arguments]
            subprocess.run(whole, env=environment, check=True, capture_output=True, stdin=subprocess.DEVNULL)

        return run

    names = iter(f"QM{number}" for number in range(2, 1000))

    def manager() -> None:
        start_s = time.monotonic()
        with running_manager(group, next(names)):
            started.append(time.monotonic() - start_s)

    started: list[float] = []
    for _ in range(TURNS):
        manager()
    return [
        _row("igq --help", _median(command("--help")), HELP),
        _row("igq put of a message", _median(command("put", QMGR, QUEUE, "hello")), PUT),
        _row("a manager's start, until its agent runs", statistics.median(started), MANAGER),
    ]


def _median(run: Callable[[], None]) -> float:
    found = []
    for _ in range(TURNS):
        start_s = time.monotonic()
        run()
        found.append(time.monotonic() - start_s)
    return statistics.median(found)


def _row(name: str, seconds: float, limit: float) -> Row:
    return Row(name, 1000 * seconds, "ms", floor=limit, is_limit=True, ours=f"{1000 * seconds:.0f} ms")
