"""The flow report for people: one HTML file with its pictures inside."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from igq.pipeline.jobs.flow_points import SHOWN_QUEUES, SHOWN_ROWS, AgentPoints, FlowPoints
from igq.pipeline.reports import flow_plots
from igq.pipeline.reports.page import picture, table, write_page
from igq.pipeline.reports.plots import spell_ms

_QUEUE_HEADS = (
    "queue",
    "structure",
    "at",
    "what it was",
    "messages",
    "a second",
    "half within",
    "90 %",
    "99 %",
    "slowest",
)
_AGENT_HEADS = ("agent of", "messages", "batches", "mean batch", "dead letters", "batches backed out")


def write_flow_report(points: FlowPoints | None, group: str, path: Path) -> None:
    """Write the report. It refers to nothing outside itself."""
    write_page(
        "flow.html",
        path,
        group=escape(group),
        title=escape(_headline(points)),
        what=escape(_when(points)),
        queues=_queues(points),
        grid=picture(flow_plots.queue_grid(points), "each queue over time") if points and points.queues else "",
        failures=_failures(points),
        agents=_agents(points),
    )


def _headline(points: FlowPoints | None) -> str:
    if points is None:
        return "Nothing happened in this time."
    delivered, hops = (points.left.get(hop, 0) for hop in ("delivery", "agent's hop"))
    deepest = max(points.queues, key=lambda name: max(points.queues[name].depth.values(), default=0))
    most = max(points.queues[deepest].depth.values(), default=0)
    hopped = f" Moved by agents on the way: {hops:,}." if hops else ""
    deep = f" Most on one queue: {most:,.0f}, on {deepest}." if most else ""
    return f"Delivered: {delivered:,} messages.{hopped}{deep} On queues at the end: {points.lying:,}."


def _when(points: FlowPoints | None) -> str:
    if points is None:
        return "The journal has no event of a message."
    first, last = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (points.began_ms, points.ended_ms))
    return (
        f"From {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC, by Redis' clock, in slices of "
        f"{spell_ms(points.width_ms)}."
    )


def _queues(points: FlowPoints | None) -> str:
    if points is None or not points.rows:
        return "<p>No message left a queue.</p>"
    rows = [("", _queue_cells(row)) for row in points.rows]
    more = f"<p class='small'>The first {SHOWN_ROWS} rows.</p>" if len(rows) == SHOWN_ROWS else ""
    shown = f"<p class='small'>Below: the {SHOWN_QUEUES} queues with most messages.</p>"
    return table(_QUEUE_HEADS, rows) + more + (shown if len(points.queues) == SHOWN_QUEUES else "")


def _queue_cells(row: dict[str, Any]) -> list[str]:
    times = ["" if row[name] is None else spell_ms(row[name]) for name in ("p50_ms", "p90_ms", "p99_ms", "max_ms")]
    names = [str(row["queue"]), str(row["structure"]), str(row["qmgr"] or ""), str(row["hop"] or "")]
    return [*names, f"{row['messages']:,}", f"{row['per_second']:,.1f}", *times]


def _failures(points: FlowPoints | None) -> str:
    if points is None or not points.failures:
        return ""
    rows = [
        ("", [failure.qmgr, _clock(failure.failed_ms), _clock(failure.recovered_ms), failure.by])
        for failure in points.failures
    ]
    marks = "Dotted red line: a manager failed. Dashed blue line: a peer had recovered it."
    return f"<p class='small'>{marks}</p>" + table(("failed", "at (UTC)", "recovered at", "by"), rows)


def _clock(ms: int | None) -> str:
    return "not yet" if ms is None else f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def _agents(points: FlowPoints | None) -> str:
    if points is None or not points.agents:
        return "<p>No agent moved a message in this time.</p>"
    rows = [("", _agent_cells(name, of)) for name, of in points.agents.items()]
    return table(_AGENT_HEADS, rows) + picture(flow_plots.agent_grid(points), "each agent's batches over time")


def _agent_cells(name: str, of: AgentPoints) -> list[str]:
    points = (of.messages, of.batches, of.dead_letters, of.backed_out)
    messages, batches, dead_letters, backed_out = (sum(each.values()) for each in points)
    mean = f"{messages / batches:,.1f}" if batches else ""
    return [name, f"{messages:,.0f}", f"{batches:,.0f}", mean, f"{dead_letters:,.0f}", f"{backed_out:,.0f}"]
