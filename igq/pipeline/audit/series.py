"""The points of the plots: counts in slices of time and of latency."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from igq.pipeline.engine.frames import Column, DataFrame, F, kept

#: The most slices of time in a plot.
SLICES_MAX = 150
#: Slices of latency for each factor of ten.
SLICES_PER_DECADE = 8

_NICE_MS = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000)


@dataclass(frozen=True, slots=True)
class Series:
    """Points of the plots.

    Attributes:
        slice_ms: width of a slice of time.
        messages: kind of event -> beginning of the slice (ms since 1970) -> messages.
        latencies: path -> slice number -> messages; slice n holds 10^(n/8) to 10^((n+1)/8) milliseconds.
    """

    slice_ms: int
    messages: dict[str, dict[int, int]] = field(default_factory=dict)
    latencies: dict[str, dict[int, int]] = field(default_factory=dict)


def read_series(journal: DataFrame, copies: DataFrame) -> Series:
    """The points for a journal and its copies."""
    happened = kept(happenings(journal, copies))
    span = happened.agg(F.min("ms").alias("first"), F.max("ms").alias("last")).collect()[0]
    if span["first"] is None:
        return Series(_NICE_MS[0])
    slice_ms = slice_width_ms(span["last"] - span["first"])
    rows = happened.groupBy("what", _slice("ms", slice_ms).alias("slice")).agg(F.sum("messages").alias("n")).collect()
    messages: dict[str, dict[int, int]] = {}
    for row in sorted(rows, key=lambda row: (str(row["what"]), int(row["slice"]))):
        messages.setdefault(row["what"], {})[row["slice"]] = row["n"]
    latencies: dict[str, dict[int, int]] = {}
    for row in sorted(latency_slices(copies).collect(), key=lambda row: (str(row["path"]), int(row["slice"]))):
        latencies.setdefault(row["path"], {})[row["slice"]] = row["count"]
    return Series(slice_ms, messages, latencies)


def happenings(journal: DataFrame, copies: DataFrame) -> DataFrame:
    """Events: their kind (``what``), time (``ms``) and number of ``messages``."""
    time_ms, one = F.unix_millis("time"), F.lit(1)
    ended_by_peer = F.col("recovered") & F.col("event").isin("commit", "backout")
    kinds = [
        _kind("put", copies.where("is_sent"), F.col("available_ms"), one),
        _kind("moved by agents", journal.where(F.col("event") == "transfer"), time_ms, one),
        _kind("got", copies.where("is_delivered"), F.col("delivered_ms"), one),
        _kind("resolved by peers", journal.where(ended_by_peer), time_ms, F.col("messages")),
    ]
    return reduce(DataFrame.unionByName, kinds).where(F.col("ms").isNotNull())


def latency_slices(copies: DataFrame) -> DataFrame:
    """The number of deliveries of each ``path`` in each logarithmic slice of latency."""
    latency = F.greatest(F.col("delivered_ms") - F.col("available_ms"), F.lit(1))
    slices = F.floor(F.log10(latency) * SLICES_PER_DECADE).cast("int")
    return copies.where("is_delivered").groupBy("path", slices.alias("slice")).count().where("slice IS NOT NULL")


def slice_width_ms(span_ms: int) -> int:
    """A round width that makes at most `SLICES_MAX` slices."""
    least_ms = span_ms / SLICES_MAX
    nice = [width_ms for width_ms in _NICE_MS if width_ms >= least_ms]
    return nice[0] if nice else -(-int(least_ms) // 60_000) * 60_000


def _kind(what: str, table: DataFrame, ms: Column, messages: Column) -> DataFrame:
    return table.select(F.lit(what).alias("what"), ms.alias("ms"), messages.cast("long").alias("messages"))


def _slice(name: str, width_ms: int) -> Column:
    return (F.floor(F.col(name) / width_ms) * width_ms).cast("long")
