"""The line of requests and replies asks in each of its ways, and is answered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.harness import QUICK
from bench.lines.waits.request_reply import NAMES, measure
from bench.site import Site


@pytest.mark.slow
def test_each_way_to_ask_is_answered() -> None:
    with Site("everysec", replace(QUICK, rounds=2, line_s=0.1)) as site:
        rows = measure(site)
    named = [row.name for row in rows]
    assert [f"request and reply {name}, p50" in named for name in NAMES.values()] == [True] * len(NAMES)
