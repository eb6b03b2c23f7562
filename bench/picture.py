"""The picture of what grows: costs among many of something, and the rate of many programs at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.lines.group.growth import LIMIT
from bench.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Distinct side by side, also for people who do not tell red from green; and the forms of their points.
_STYLES = (("#4477aa", "o"), ("#ee6677", "s"), ("#228833", "^"), ("#ccbb44", "D"))
_GREY = "#666666"


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw the rows that compare many with one, costs on the left and rates on the right, as SVG."""
    import matplotlib

    matplotlib.use("agg")
    # Without a date and with fixed ids, the same figures make the same file. Words stay words.
    matplotlib.rcParams |= {"svg.hashsalt": "igq", "svg.fonttype": "none"}
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    costs, rates = figure.subplots(1, 2)
    _lines(costs, [row for row in rows if row.growth and row.is_limit])
    costs.axhline(LIMIT, color=_GREY, linestyle="--", linewidth=1)
    costs.set_ylim(0, 2)
    costs.set_title("time of a put and a get : alone", loc="left", fontsize=10)
    _lines(rates, [row for row in rows if row.growth and not row.is_limit])
    rates.set_ylim(bottom=0)
    rates.set_title("messages a second : one putter and one getter", loc="left", fontsize=10)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _lines(axes: Axes, rows: Sequence[Row]) -> None:
    points: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        assert row.growth is not None
        points.setdefault(row.growth[0], [(1, 1.0)]).append((row.growth[1], row.value))
    for (name, found), (colour, form) in zip(points.items(), _STYLES, strict=False):
        axes.plot(*zip(*found, strict=True), marker=form, color=colour, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("how many")
    axes.grid(visible=True, alpha=0.3)
    if points:
        axes.legend(fontsize=8, loc="lower left")
