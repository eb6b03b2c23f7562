"""The instructions that a call takes in the program, counted by valgrind: no other load changes them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from bench.harness import unpin
from bench.programs.caller import MANY, QUEUE, RESPONDER
from bench.programs.responder import replies_of, requests_of
from bench.rows import Row
from bench.site import Site

#: The calls, by how rows name them, and how many thousands of instructions each may take.
CALLS = {"put": ("a put", 90.0), "get": ("a get", 95.0), "request": ("a request", 240.0)}
#: The shorter of two lengths: their difference leaves out the start of the program.
FEW = 200
_TOTAL = re.compile(r"I +refs: +([\d,]+)")


def measure(site: Site) -> list[Row]:
    """A put, a get without waiting, and a request (an asynchronous put, a commit and a get that waits)."""
    if shutil.which("valgrind") is None:
        sys.stderr.write("instructions: skipped, valgrind is not installed\n")
        return []
    unpin()
    for name in (QUEUE, requests_of(RESPONDER), replies_of(RESPONDER)):
        site.group.define_shared(name)
    of_igq = (site.url, site.group.settings.group, str(site.group.settings.data_dir))
    responder = subprocess.Popen([sys.executable, "-m", "bench.programs.responder", RESPONDER, *of_igq])
    try:
        return [
            Row(f"instructions of {name}", _thousands(site, how, of_igq), "k", floor=most, is_limit=True)
            for how, (name, most) in CALLS.items()
        ]
    finally:
        responder.kill()
        responder.wait()


def _thousands(site: Site, how: str, of_igq: tuple[str, ...]) -> float:
    few, many = (_counted(site, how, count, of_igq) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW) / 1_000


def _counted(site: Site, how: str, count: int, of_igq: tuple[str, ...]) -> int:
    site.renew_leases()
    valgrind = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    ended = subprocess.run(
        [*valgrind, sys.executable, "-m", "bench.programs.caller", how, str(count), *of_igq],
        # Dictionaries of the same layout in both runs.
        env=os.environ | {"PYTHONHASHSEED": "0"},
        check=True,
        capture_output=True,
        text=True,
    )
    found = _TOTAL.search(ended.stderr)
    assert found is not None, ended.stderr
    return int(found[1].replace(",", ""))
