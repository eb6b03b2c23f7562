"""The log of a RECOVER(YES) structure (`recovery_log`): what it costs programs, and by how much it is late."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.harness import Contender, compare
from bench.lines.calls.single_calls import get_contender, put_contender
from bench.manager import running_manager
from bench.rows import Row
from bench.site import QMGR, Site, drain
from sharedq.admin.backup.file import backup_path, log_path
from sharedq.admin.backup.recovery_log import RecoveryLog
from tests.support.members import TestGroup

#: Puts without a pause, after which the log must come to the last one.
BURSTS = (1, 1_000)
TIMEOUT_S = 60.0
_LOGGER = "QM2"
_LOOK_S = 0.000_2


def measure(site: Site) -> list[Row]:
    """The same calls in two groups, whose managers run beside them; one of these keeps a log."""
    groups = {"on": _recoverable(site, recovery_log=True), "off": _recoverable(site, recovery_log=False)}
    with contextlib.ExitStack() as managers:
        for group in groups.values():
            managers.enter_context(running_manager(group, _LOGGER))
        _until(log_path(backup_path(groups["on"].settings, "APPL1")).exists)
        queues = {name: site.open_new(site.connect(group), group) for name, group in groups.items()}
        rows = [
            _cost(site, "put, log on to off", {name: put_contender(queue) for name, queue in queues.items()}),
            _cost(site, "get, log on to off", {name: get_contender(queue) for name, queue in queues.items()}),
        ]
    return rows + _lateness(site)


def _recoverable(site: Site, *, recovery_log: bool) -> TestGroup:
    group = site.new_group(journal=True, recovery_log=recovery_log)
    group.define_structure("APPL1")
    group.repository(QMGR).alter_structure("APPL1", {"recover": "YES"})
    return group


def _cost(site: Site, name: str, contenders: dict[str, Contender]) -> Row:
    costs = compare(contenders, site.client, site.effort)
    on, off = costs["on"], costs["off"]
    return Row(name, off.us / on.us, ours=f"{on.us:.1f} us", theirs=f"{off.us:.1f} us")


def _lateness(site: Site) -> list[Row]:
    """Milliseconds from the return of the last of some puts until it is in the log, on the disk."""
    group = _recoverable(site, recovery_log=True)
    queue = site.open_new(site.connect(group), group)
    put = put_contender(queue)
    put.run(1)
    journal = group.group.structure("APPL1").journal
    rows = []
    with _kept_log(group) as log:
        for burst in BURSTS:
            found_ms = []
            for _ in range(site.effort.rounds):
                drain(queue)
                _until(lambda: log.position == _latest(site, journal))
                put.run(burst)
                start_s = time.monotonic()
                latest = _latest(site, journal)
                _until(lambda latest=latest: log.position == latest)  # type: ignore[misc]
                found_ms.append(1000 * (time.monotonic() - start_s))
            value, most = statistics.median(found_ms), max(found_ms)
            rows.append(
                Row(f"log on the disk, after the last of {burst:,} puts", value, "ms", theirs=f"max {most:.0f} ms")
            )
    return rows


@contextlib.contextmanager
def _kept_log(group: TestGroup) -> Iterator[RecoveryLog]:
    log = RecoveryLog(group.settings, "APPL1", lambda *_: None)
    thread = threading.Thread(target=log.run, name="log", daemon=True)
    thread.start()
    try:
        _until(lambda: bool(log.position))
        yield log
    finally:
        log.end()
        thread.join()


def _latest(site: Site, journal: str) -> str:
    found: Any = site.client.xrevrange(journal, count=1)
    return str(found[0][0].decode())


def _until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + TIMEOUT_S
    while not is_so():
        if time.monotonic() > end_s:
            raise RuntimeError("the log is not kept, or does not come to where it should be")
        time.sleep(_LOOK_S)
