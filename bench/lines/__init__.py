"""The lines of the benchmark, by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.lines import audit
from bench.lines.calls import batch, depth, instructions, large_unit, memory, order, publish, single_calls, ways
from bench.lines.channels import calls as channel_calls
from bench.lines.channels import many
from bench.lines.group import (
    clients,
    definitions,
    growth,
    hop,
    idle_group,
    nodes,
    recovery,
    recovery_log,
    scrape,
    start,
)
from bench.lines.spark import archive, at_size, tables, workers
from bench.lines.waits import igq_wakeup, request_reply, wakeup
from bench.rows import Row
from bench.site import Site

BOTH = ("everysec", "always")
#: How often the file is synchronized changes nothing about depth, memory, or doing nothing.
ONE = ("everysec",)


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and the kinds of server on which it is measured.

    Attributes:
        is_apart: measured only where it is asked for by its name.
        has_goal: measured for the table of goals, too, although it is apart.
    """

    measure: Callable[[Site], list[Row]]
    fsyncs: tuple[str, ...] = BOTH
    is_apart: bool = False
    has_goal: bool = False


LINES = {
    "put": Line(single_calls.measure_put),
    "get": Line(single_calls.measure_get),
    "transaction": Line(single_calls.measure_transaction),
    "put50": Line(batch.measure_put),
    "get50": Line(batch.measure_get),
    "instructions": Line(instructions.measure, ONE),
    "ways": Line(ways.measure),
    "hop": Line(hop.measure),
    "publish": Line(publish.measure, ONE),
    "depth": Line(depth.measure, ONE),
    "order": Line(order.measure, ONE),
    "large-unit": Line(large_unit.measure, ONE),
    "wakeup": Line(wakeup.measure, ONE),
    "request-reply": Line(request_reply.measure),
    "igq-wakeup": Line(igq_wakeup.measure),
    "channel": Line(channel_calls.measure),
    "channel-clients": Line(many.measure, ONE),
    "clients": Line(clients.measure, ONE),
    "growth": Line(growth.measure, ONE),
    "nodes": Line(nodes.measure, ONE),
    "recovery": Line(recovery.measure),
    "memory": Line(memory.measure, ONE),
    "idle": Line(idle_group.measure, ONE),
    "start": Line(start.measure, ONE),
    "definitions": Line(definitions.measure, ONE),
    "scrape": Line(scrape.measure, ONE),
    "journal": Line(single_calls.measure_journal),
    "recovery-log": Line(recovery_log.measure, ONE),
    "audit": Line(audit.measure, ONE),
    "archive": Line(archive.measure, ONE, is_apart=True, has_goal=True),
    "archive-at-size": Line(at_size.measure, ONE, is_apart=True, has_goal=True),
    "spark": Line(tables.measure, ONE, is_apart=True),
    "spark-workers": Line(workers.measure, ONE, is_apart=True),
}
