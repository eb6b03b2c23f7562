"""Many programs that put and get at once, beside Streams."""

from __future__ import annotations

import statistics
import subprocess
import sys

from bench.programs.client import STREAM
from bench.rows import Row
from bench.site import Site

#: Ratio to redis-py's client.
FLOOR = 2.5
PAIRS, SECONDS, TURNS = 3, 1.0, 5
MANY = (1, 4, 16, 32)
QUEUE = "BENCH.CLIENTS"


def measure(site: Site) -> list[Row]:
    """A few putters and as many getters; then few and many of them, each compared with one of each."""
    return [_at_once(site), *_more(site)]


def _at_once(site: Site) -> Row:
    site.group.define_shared(QUEUE)
    rates: dict[str, list[float]] = {"igq": [], "streams": [], "redis-py": []}
    for _ in range(min(TURNS, site.effort.rounds)):
        for how, found in rates.items():
            site.streams.renew(STREAM)
            found.append(_rate(site, how, PAIRS))
    median = {how: statistics.median(found) for how, found in rates.items()}
    return Row(
        f"{PAIRS} putters and {PAIRS} getters at once",
        median["igq"] / median["streams"],
        floor=FLOOR,
        ours=f"{median['igq']:,.0f}/s",
        theirs=f"{median['streams']:,.0f}/s",
        plain=median["igq"] / median["redis-py"],
    )


def _more(site: Site) -> list[Row]:
    rates = {}
    for pairs in MANY:
        for how in ("igq", "redis-py"):
            site.streams.renew(STREAM)
            rates[how, pairs] = _rate(site, how, pairs)
    return [
        Row(
            f"{pairs} putters and {pairs} getters at once : one of each",
            rates["igq", pairs] / rates["igq", 1],
            ours=f"{rates['igq', pairs]:,.0f}/s",
            theirs=f"{rates['redis-py', pairs]:,.0f}/s",
            growth=("putters, and as many getters", pairs),
        )
        for pairs in MANY[1:]
    ]


def _rate(site: Site, how: str, pairs: int) -> float:
    """Messages a second that were put, and got."""
    settings = site.group.settings
    of_igq = (settings.group, str(settings.data_dir), QUEUE) if how == "igq" else ()
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.programs.client", how, verb, str(SECONDS), site.url, *of_igq],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for verb in ("put", "get")
        for _ in range(pairs)
    ]
    for each in processes:
        assert each.stdout is not None
        each.stdout.readline()
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return sum(int(each.communicate()[0]) for each in processes) / SECONDS
