"""What a manager and its agent ask of Redis while nothing happens."""

from __future__ import annotations

import time

from bench.harness import commands_processed
from bench.manager import running_manager
from bench.rows import Row
from bench.site import Site
from config.settings import Settings

LIMIT = 5.0
MANAGERS = ("QM2", "QM3", "QM4")
#: Seconds after which what a start brings along is over.
SETTLE_S = 3.0


def measure(site: Site) -> list[Row]:
    """Commands a second, scripts' own ones included, of each of three managers that watch each other.

    Their leases have the length that is the default, and so are renewed as often as anywhere.
    """
    lease_ms = int(Settings.model_fields["lease_ms"].default)
    group = site.new_group(journal=False, lease_ms=lease_ms)
    with (
        running_manager(group, MANAGERS[0]),
        running_manager(group, MANAGERS[1]),
        running_manager(group, MANAGERS[2]),
    ):
        time.sleep(SETTLE_S)
        before, start_s = commands_processed(site.client), time.monotonic()
        time.sleep(site.effort.idle_s)
        commands = commands_processed(site.client) - before - 1
        elapsed_s = time.monotonic() - start_s
    value = commands / elapsed_s / len(MANAGERS)
    return [Row("an idle manager with its agent", value, "/s", floor=LIMIT, is_limit=True)]
