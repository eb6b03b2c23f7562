"""The lines of the bench that measure calls run from end to end: one of them replaces functions by their names."""

from __future__ import annotations

import pytest

from bench.harness import Effort
from bench.lines import LINES
from bench.site import Site

#: Fewer stored messages take less memory than a server's buffers, which come and go.
_LEAST = Effort(rounds=1, line_s=0.1, operations=2, deep=200, stored=2_000)
_CALLS = [
    "put",
    "get",
    "transaction",
    "put50",
    "get50",
    "ways",
    "publish",
    "depth",
    "order",
    "large-unit",
    "memory",
    "journal",
]


@pytest.mark.parametrize("name", _CALLS)
def test_a_line_runs(name: str) -> None:
    line = LINES[name]
    with Site(line.fsyncs[-1], _LEAST) as site:
        rows = line.measure(site)
    assert rows
    assert all(row.value > 0 for row in rows)
