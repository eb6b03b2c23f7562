"""The report's pictures, drawn by matplotlib without a display."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from igq.pipeline.audit.recovery_timeline import RecoveryTimes
from igq.pipeline.audit.series import SLICES_PER_DECADE, Series
from igq.pipeline.audit.verdict import PathFigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours that are distinct side by side, also for people who do not tell red from green.
COLOURS = {
    "put": "#4477aa",
    "moved by agents": "#ccbb44",
    "got": "#228833",
    "resolved by peers": "#ee6677",
    "igq": "#4477aa",
    "shared": "#228833",
    "private": "#ccbb44",
}
PHASE_COLOURS = {
    "detected": "#ee6677",
    "claimed": "#ccbb44",
    "fenced": "#aa3377",
    "resolved": "#228833",
    "restarted": "#4477aa",
    "serialized": "#66ccee",
}
PATH_NAMES = {"igq": "through IGQ", "shared": "by a shared queue", "private": "by a private queue"}

GREY = "#666666"
#: Inches: the whole width; the places of the labels at each side; the place of titles between two axes.
WIDTH, LEFT, RIGHT, TOP, BOTTOM, BETWEEN = 9.6, 1.2, 0.15, 0.32, 0.5, 0.34


def throughput(series: Series, recoveries: Sequence[RecoveryTimes]) -> bytes:
    """Messages a second over time, with an axis for each kind of event, and marks for failures; PNG."""
    kinds = [kind for kind in COLOURS if kind in series.messages]
    figure, axes = strips(max(1, len(kinds)), 1.15)
    began_ms = min((min(points) for points in series.messages.values()), default=0)
    ended_ms = max((max(points) for points in series.messages.values()), default=0) + series.slice_ms
    width_s = series.slice_ms / 1000
    for axis, kind in zip(axes, kinds, strict=False):
        points = series.messages[kind]
        rates = [points.get(at, 0) / width_s for at in range(began_ms, ended_ms, series.slice_ms)]
        times = [(at - began_ms) / 1000 for at in range(began_ms, ended_ms, series.slice_ms)]
        axis.fill_between(
            [*times, times[-1] + width_s], [*rates, rates[-1]], step="post", color=COLOURS[kind], alpha=0.75
        )
        axis.set_ylabel("a second", color=GREY)
        axis.set_ylim(0, max(rates) * 1.2 or 1)
        axis.set_title(f"messages {kind}", loc="left", fontsize=10, fontweight="bold")
        for recovery in recoveries:
            for phase in recovery.phases:
                if phase.event in ("killed", "restarted") and began_ms <= phase.t_ms < ended_ms:
                    _mark(axis, (phase.t_ms - began_ms) / 1000, f"{recovery.qmgr} {phase.event}", axis is axes[0])
    axes[-1].set_xlabel("seconds since the first message")
    axes[-1].set_xlim(0, (ended_ms - began_ms) / 1000)
    return png(figure)


def latency(series: Series, figures: dict[str, PathFigures]) -> bytes:
    """The numbers of messages by latency, with an axis for each path, and marks for percentiles; PNG."""
    paths = [path for path in PATH_NAMES if path in series.latencies and path in figures]
    figure, axes = strips(max(1, len(paths)), 1.7)
    for axis, path in zip(axes, paths, strict=False):
        for at, messages in sorted(series.latencies[path].items()):
            left, right = (10 ** ((at + step) / SLICES_PER_DECADE) for step in (0, 1))
            axis.bar(left, messages, right - left, align="edge", color=COLOURS[path], alpha=0.75, edgecolor="white")
        of = figures[path]
        lines = {"half": of.p50_ms, "90 %": of.p90_ms, "99 %": of.p99_ms}
        top = max(series.latencies[path].values())
        late_ms = 10 ** (0.8 * max(series.latencies[path]) / SLICES_PER_DECADE)
        axis.set_ylim(0, top * 1.45)
        for level, (name, value_ms) in enumerate(lines.items()):
            at_ms = max(value_ms, 1)
            axis.axvline(at_ms, color="#333333", linewidth=1, linestyle="--")
            axis.annotate(
                f" {name} within {spell_ms(value_ms)} ",
                (at_ms, top * (1.32 - 0.13 * level)),
                fontsize=8,
                va="center",
                # Write the text before its line if there is no room after it.
                ha="right" if at_ms > late_ms > 1 else "left",
                bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )
        axis.set_xscale("log")
        axis.set_ylabel("messages", color=GREY)
        axis.set_title(f"{PATH_NAMES[path]}: {of.messages:,} messages", loc="left", fontsize=10, fontweight="bold")
        axis.xaxis.set_major_formatter(lambda value, _: spell_ms(value))
    axes[-1].set_xlabel("from the commit of the put to the commit of the get")
    return png(figure)


def recovery_chart(recoveries: Sequence[RecoveryTimes]) -> bytes:
    """One strip for each failure, with a bar for each phase, to scale and with its duration; PNG."""
    figure, axes = strips(len(recoveries), 0.32 * max(len(recovery.phases) for recovery in recoveries) + 0.2)
    longest_s = max(recovery.total_ms for recovery in recoveries) / 1000
    for axis, recovery in zip(axes, recoveries, strict=True):
        phases = recovery.phases[1:]
        for line, phase in enumerate(phases):
            begin_s, end_s = (phase.since_failure_ms - phase.duration_ms) / 1000, phase.since_failure_ms / 1000
            # Keep a phase of some milliseconds visible.
            width_s = max(phase.duration_ms / 1000, longest_s / 300)
            axis.barh(line, width_s, left=begin_s, height=0.62, color=PHASE_COLOURS.get(phase.event, GREY))
            took = f"{spell_ms(phase.duration_ms)}{f', by {phase.by}' if phase.by else ''}"
            # Write the text after the bar, or before it if there is no room after it.
            is_late = end_s > 0.8 * longest_s
            axis.annotate(
                took,
                (begin_s if is_late else begin_s + width_s, line),
                fontsize=9,
                va="center",
                xytext=(-5 if is_late else 5, 0),
                textcoords="offset points",
                ha="right" if is_late else "left",
            )
        axis.set_yticks(range(len(phases)), [f"until {phase.event}" for phase in phases])
        axis.set_ylim(len(phases) - 0.4, -0.6)
        axis.set_xlim(0, longest_s * 1.02)
        axis.set_title(f"{recovery.qmgr}: {recovery.phases[0].event}", loc="left", fontsize=10, fontweight="bold")
        axis.grid(axis="x", color="#dddddd", linewidth=0.8)
        axis.set_axisbelow(True)
    axes[-1].set_xlabel("seconds since the failure")
    return png(figure)


def spell_ms(value_ms: float) -> str:
    """A duration for people: 12 ms, 3.4 s, 2 min."""
    if value_ms < 1_000:
        return f"{value_ms:.0f} ms"
    if value_ms < 120_000:
        return f"{value_ms / 1000:.3g} s"
    return f"{value_ms / 60_000:.3g} min"


def strips(rows: int, row_height: float) -> tuple[Figure, list[Axes]]:
    """A figure of axes above each other, over the same time."""
    from matplotlib.figure import Figure

    height = rows * row_height + 0.55
    # Fixed margins: matplotlib's own layout measures every label, which takes longer than drawing them.
    room = (height - TOP - BOTTOM - (rows - 1) * BETWEEN) / rows
    places = {"left": LEFT / WIDTH, "right": 1 - RIGHT / WIDTH, "top": 1 - TOP / height, "bottom": BOTTOM / height}
    figure = Figure(figsize=(WIDTH, height), dpi=110)
    axes = list(
        figure.subplots(rows, 1, sharex=True, squeeze=False, gridspec_kw={**places, "hspace": BETWEEN / room})[:, 0]
    )
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(colors=GREY, labelsize=9)
        axis.yaxis.get_major_formatter().set_useOffset(False)
    return figure, axes


def _mark(axis: Axes, at_s: float, text: str, is_named: bool) -> None:
    axis.axvline(at_s, color="#bb2233", linewidth=1.2, linestyle=":")
    if is_named:
        axis.annotate(
            text,
            (at_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 4),
            textcoords="offset points",
            color="#bb2233",
            fontsize=8,
            va="bottom",
        )


def png(figure: Figure) -> bytes:
    """The figure as a picture."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()
