"""Many clients of one channel server: those that wait, those that call at once, and the wake-up of one that waits."""

from __future__ import annotations

import contextlib
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import BODY
from bench.lines.channels.scene import Doors, doors
from bench.lines.waits.wakeup import take_samples, until_blocked, waits_on
from bench.rows import Row
from bench.site import QMGR, Site, persistent
from igq.channels.frames import Verb
from igq.rehearsal.load.programs.channel import ClientConnection
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.mqi.wire import GMO, MD

WAITING, CALLING = 1_900, 8
#: Megabytes and threads of the server with so many clients, calls a second, and the wake-up in terms of our own.
MEMORY_MB, THREADS, CALLS, WAKE_LIMIT = 250.0, 4.0, 15_000.0, 1.2
_CALLS_EACH = 4_000


def measure(site: Site) -> list[Row]:
    """Wake-ups, calls of several clients at once, and clients that wait."""
    with doors(site) as found:
        return [_wakeup(site, found), _at_once(site, found), *_waiting(site, found)]


def _wakeup(site: Site, found: Doors) -> Row:
    """From before a put until a get that waits has returned: of a client, and in a program by itself."""
    connection = site.connect()
    queues = {how: site.open_new(connection) for how in ("igq", "channel")}
    pushes: dict[str, Callable[[], object]] = {
        how: lambda queue=queue: queue.put(BODY, persistent())  # type: ignore[misc]
        for how, queue in queues.items()
    }
    waits = {
        "igq": waits_on(site.group, QMGR, queues["igq"].name),
        "channel": ("channel", str(found.path), QMGR, queues["channel"].name),
    }
    us = {how: statistics.median(each) for how, each in take_samples(site, pushes, waits, len(pushes)).items()}
    return Row(
        "wake-up through a channel, Python : in the program",
        us["channel"] / us["igq"],
        floor=WAKE_LIMIT,
        is_limit=True,
        ours=f"{us['channel']:.0f} us",
        theirs=f"{us['igq']:.0f} us",
    )


def _at_once(site: Site, found: Doors) -> Row:
    """Puts and gets of several clients in C. Clients, server and Redis share the cores of this machine."""
    queue = site.open_new(site.connect())
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(found.program("unix", queue.name)) for _ in range(CALLING)]
        for program in programs:
            program.do("both", 100)
        start_ns = time.monotonic_ns()
        for program in programs:
            program.begin("both", _CALLS_EACH // 2)
        end_ns = max(int(program.answer()) for program in programs)
    rate = CALLING * _CALLS_EACH * 1e9 / (end_ns - start_ns)
    return Row(f"calls of {CALLING} clients of one channel server", rate, "/s", floor=CALLS)


def _waiting(site: Site, found: Doors) -> list[Row]:
    """The server's memory and threads while clients wait in MQGET."""
    _allow_files(2 * WAITING)
    queue, pid = site.open_new(site.connect()), found.pids["unix"]
    clients: list[ClientConnection] = []
    try:
        for _ in range(WAITING):
            clients.append(found.client())
            handle = clients[-1].open(queue.name, OpenOption.INPUT_SHARED).handle
            gmo = MQGMO(options=int(GetOption.WAIT), wait_interval=-1)
            clients[-1].begin(Verb.GET, (handle, len(BODY)), (MD.pack(MQMD()), GMO.pack(gmo)))
        until_blocked(site.client, WAITING)
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    finally:
        for client in clients:
            client.go()
    megabytes, threads = int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"])
    return [
        Row(f"memory of a channel server, {WAITING:,} clients wait", megabytes, "MB", floor=MEMORY_MB, is_limit=True),
        Row(f"threads of a channel server, {WAITING:,} clients wait", threads, "", floor=THREADS, is_limit=True),
    ]


def _allow_files(count: int) -> None:
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if least < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, most), most))
