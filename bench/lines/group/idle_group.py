"""The calls of an idle manager and its agent to Redis."""

from __future__ import annotations

import contextlib
import time

from bench.harness import commands_processed
from bench.manager import running_crowd, running_manager
from bench.rows import Row
from bench.site import Site
from sharedq.settings.values import Settings

LIMIT = 3.0
MANAGERS = ("QM2", "QM3", "QM4")
#: Managers that are threads, and the processes that they share.
MANY, PROCESSES = 64, 4
#: Seconds after which the work of a start is over: the latest agents' movers have looked once more.
SETTLE_S = 25.0


def measure(site: Site) -> list[Row]:
    """Commands a second, scripts' own ones included, of each of three managers, and of many, that watch each other.

    Their leases have the length that is the default, and so are renewed as often as anywhere.
    """
    lease_ms = int(Settings.model_fields["lease_ms"].default)
    group = site.new_group(journal=False, lease_ms=lease_ms)
    with contextlib.ExitStack() as stack:
        for name in MANAGERS:
            stack.enter_context(running_manager(group, name))
        few = _watch(site, len(MANAGERS))
    group = site.new_group(journal=False, lease_ms=lease_ms)
    names = [f"QM{number}" for number in range(2, 2 + MANY)]
    with contextlib.ExitStack() as stack:
        for part in range(PROCESSES):
            stack.enter_context(running_crowd(group, names[part::PROCESSES]))
        many = _watch(site, MANY)
    return [
        Row("an idle manager with its agent", few, "/s", floor=LIMIT, is_limit=True),
        Row(
            f"the same of {MANY} in the group, threads of {PROCESSES} processes", many, "/s", floor=LIMIT, is_limit=True
        ),
    ]


def _watch(site: Site, managers: int) -> float:
    time.sleep(SETTLE_S)
    before, start_s = commands_processed(site.client), time.monotonic()
    time.sleep(site.effort.idle_s)
    commands = commands_processed(site.client) - before - 1
    return commands / (time.monotonic() - start_s) / managers
