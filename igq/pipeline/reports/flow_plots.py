"""The flow report's pictures, drawn by matplotlib without a display."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from igq.pipeline.jobs.flow_points import AgentPoints, FlowPoints, Points, QueuePoints
from igq.pipeline.reports.plots import GREY, WIDTH, png, spell_ms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RATE, _DEPTH, _STAY, _LONGEST, _BACKED_OUT = "#228833", "#4477aa", "#aa3377", "#b45309", "#ee6677"
_FAILED, _RECOVERED = "#bb2233", "#4477aa"
_ROW_HEIGHT = 1.35
_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1_000, 60_000, 3_600_000


def queue_grid(points: FlowPoints) -> bytes:
    """A row for each queue: messages a second that left it, how many lay there, how long they had stayed; PNG.

    In each plot, a dotted line marks the failure of a manager, and a dashed one the end of its recovery.
    """
    heads = ("left, a second", "on the queue", "stayed: half within (line), 99 % (dashed)")
    rows = _grid(len(points.queues), heads)
    for (name, of), axes in zip(points.queues.items(), rows.axes, strict=True):
        _draw_queue(name, of, points, axes)
        for axis in axes:
            _mark_failures(axis, points)
    rows.finish(points)
    return png(rows.figure)


def agent_grid(points: FlowPoints) -> bytes:
    """A row for each agent: messages a second, messages in a batch, batches backed out; PNG."""
    rows = _grid(
        len(points.agents),
        ("moved, messages a second", "messages in a batch", "batches backed out (line: ended by a peer)"),
    )
    for (name, of), axes in zip(points.agents.items(), rows.axes, strict=True):
        _draw_agent(name, of, points, axes)
    rows.finish(points)
    return png(rows.figure)


class _Grid:
    def __init__(self, rows: int, heads: tuple[str, ...]) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(WIDTH, rows * _ROW_HEIGHT + 0.6), layout="constrained", dpi=110)
        self.axes: list[list[Axes]] = [
            list(row) for row in self.figure.subplots(rows, len(heads), sharex=True, squeeze=False)
        ]
        for axis in self.figure.axes:
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(colors=GREY, labelsize=8)
            axis.grid(axis="y", color="#eeeeee", linewidth=0.8)
            axis.set_axisbelow(True)
        for axis, head in zip(self.axes[0], heads, strict=True):
            axis.annotate(
                head,
                (0, 1),
                xytext=(0, 20),
                xycoords="axes fraction",
                textcoords="offset points",
                color=GREY,
                fontsize=9,
            )

    def finish(self, points: FlowPoints) -> None:
        for axis in self.axes[-1]:
            axis.set_xlim(0, max(1.0, (points.ended_ms + points.width_ms - points.began_ms) / _unit(points)))
            axis.xaxis.set_major_formatter(lambda value, _: _clock(value, points))
            axis.locator_params(axis="x", nbins=5)
            axis.set_xlabel("UTC", color=GREY, fontsize=8)


def _clock(value: float, points: FlowPoints) -> str:
    """The time of day at a place of the time axis."""
    unit_ms = _unit(points)
    at = datetime.fromtimestamp((points.began_ms + value * unit_ms) / 1000, UTC)
    return f"{at:%H:%M:%S}" if unit_ms == _SECOND_MS else f"{at:%H:%M}" if unit_ms == _MINUTE_MS else f"{at:%d. %H:%M}"


def _grid(rows: int, heads: tuple[str, ...]) -> _Grid:
    return _Grid(max(1, rows), heads)


def _draw_queue(name: str, of: QueuePoints, points: FlowPoints, axes: list[Axes]) -> None:
    rate, lying, stayed = axes
    rate.set_title(name, loc="left", fontsize=9, fontweight="bold")
    _fill(rate, _rates(of.left, points), points, _RATE)
    _fill(lying, _carried(of.depth, points), points, _DEPTH)
    times = [(ms + points.width_ms / 2 - points.began_ms) / _unit(points) for ms in _slices(points)]
    for values, style, colour in ((of.p50_ms, "-", _STAY), (of.p99_ms, "--", _LONGEST)):
        # Break the line at slices in which no message left.
        line = [max(values[ms], 1) if ms in values else float("nan") for ms in _slices(points)]
        stayed.plot(times, line, style, color=colour, linewidth=1.3, marker="." if len(values) < 10 else "")
    if not of.p50_ms:
        stayed.set_yticks([])
        return
    shortest, longest = (max(at, 1) for at in (min(of.p50_ms.values()), max(of.p99_ms.values())))
    if longest >= 10 * shortest:
        stayed.set_yscale("log")
        stayed.yaxis.set_minor_formatter(lambda *_: "")
    else:
        # A logarithmic axis shows no number within one power of ten.
        stayed.set_ylim(0, longest * 1.15)
    stayed.yaxis.set_major_formatter(lambda value, _: spell_ms(value))


def _draw_agent(name: str, of: AgentPoints, points: FlowPoints, axes: list[Axes]) -> None:
    rate, batch, backed_out = axes
    rate.set_title(f"agent of {name}", loc="left", fontsize=9, fontweight="bold")
    _fill(rate, _rates(of.messages, points), points, _RATE)
    sizes = {ms: of.messages[ms] / count for ms, count in of.batches.items() if count}
    _fill(batch, [sizes.get(ms, 0) for ms in _slices(points)], points, _DEPTH)
    _fill(backed_out, [of.backed_out.get(ms, 0) for ms in _slices(points)], points, _BACKED_OUT)
    backed_out.locator_params(axis="y", integer=True)
    for ms in of.ended_by_peers:
        for axis in axes:
            _mark(axis, int(ms), points, _BACKED_OUT, "--")


def _mark_failures(axis: Axes, points: FlowPoints) -> None:
    for failure in points.failures:
        _mark(axis, failure.failed_ms, points, _FAILED, ":")
        if failure.recovered_ms is not None:
            _mark(axis, failure.recovered_ms, points, _RECOVERED, "--")


def _mark(axis: Axes, ms: int, points: FlowPoints, colour: str, style: str) -> None:
    axis.axvline((ms - points.began_ms) / _unit(points), color=colour, linewidth=1, linestyle=style)


def _slices(points: FlowPoints) -> range:
    return range(points.began_ms, points.ended_ms + points.width_ms, points.width_ms)


def _rates(values: Points, points: FlowPoints) -> list[float]:
    return [values.get(ms, 0) * 1000 / points.width_ms for ms in _slices(points)]


def _carried(values: Points, points: FlowPoints) -> list[float]:
    """Depth at the end of each slice. A slice without a change has the depth of the one before."""
    found: list[float] = []
    for ms in _slices(points):
        found.append(values.get(ms, found[-1] if found else 0))
    return found


def _fill(axis: Axes, values: list[float], points: FlowPoints, colour: str) -> None:
    times = [(ms - points.began_ms) / _unit(points) for ms in _slices(points)]
    end = times[-1] + points.width_ms / _unit(points)
    axis.fill_between([*times, end], [*values, values[-1]], step="post", color=colour, alpha=0.75, linewidth=0)
    axis.set_ylim(0, max(values) * 1.15 or 1)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")


def _unit(points: FlowPoints) -> int:
    """Milliseconds in a unit of the time axis."""
    span_ms = points.ended_ms - points.began_ms
    return _SECOND_MS if span_ms < 10 * _MINUTE_MS else _MINUTE_MS if span_ms < 6 * _HOUR_MS else _HOUR_MS
