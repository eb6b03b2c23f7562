"""The audit, incremental: it follows the journal batch by batch and keeps only what is open.

The judging is that of the batch audit: its functions are given the events of the lives that are open, with those of the
batch. Lives that are over are added to `Totals` and forgotten; of them only marks are kept (``schemas.AUDIT_MARKS``),
and what was found (``schemas.FORGOTTEN_FINDINGS``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from pipeline.jobs import open_lives
from pipeline.jobs.audit import (
    NAMED,
    examples,
    findings,
    missing_messages,
    peer_work,
    structure_extents,
    summarize,
    trimmed_structures,
)
from pipeline.jobs.copies import copies_of_journal, with_journal_findings
from pipeline.jobs.lives import message_events, message_lives, unit_ends, with_outcome, with_place
from pipeline.jobs.order import consumers, deliveries, on_private_queues, queues_with_consumers_at_once
from pipeline.jobs.series import SLICES_PER_DECADE, Series, happenings
from pipeline.jobs.totals import FINE_SLICES_PER_DECADE, Totals, add, percentile
from pipeline.jobs.verdict import MEANINGS, JournalFacts, PathFigures, PeerWork, Verdict
from pipeline.journal_source import JournalPart
from pipeline.schemas import AUDIT_MARKS, FINDINGS, FORGOTTEN_FINDINGS, OPEN_EVENTS, as_table

MINUTE_MS = 60_000
_MESSAGE = ["structure", "message_number"]
_IS_LATE = "why_alone IS NOT NULL OR why_shared IS NOT NULL"
#: How a queue's consumers get: one after the other, or at once.
_WAYS = ("alone", "shared")
_SPANS = {"first_put_ms": "first_put_ms", "last_get_ms": "last_get_ms", "max": "max_ms"}


@dataclass(frozen=True)
class State:
    """All that the audit knows: open events, marks of what is forgotten, and totals.

    Attributes:
        found: what there is to say of the lives that the latest batch has made forgotten; None for nothing.
    """

    events: DataFrame
    marks: DataFrame
    totals: Totals
    found: DataFrame | None = None


@dataclass(frozen=True)
class Open:
    """The lives that a state, or a state and a batch, has: judged, and as copies."""

    events: DataFrame
    lives: DataFrame
    copies: DataFrame
    late: DataFrame


def nothing_yet(spark: SparkSession, group: str) -> State:
    """The state before the first event."""
    return State(spark.createDataFrame([], OPEN_EVENTS), spark.createDataFrame([], AUDIT_MARKS), Totals(group))


def advance(state: State, batch: DataFrame, remember_ms: int) -> State:
    """The state after one more batch of events.

    The tables of the new state are not computed yet; they must be stored before the next batch.

    Args:
        remember_ms: how long lives that are over are kept for the sake of open ones.
    """
    totals = state.totals.copy()
    before = totals.numbers
    extents = structure_extents(batch).collect()
    for row in extents:
        add(totals.structures.setdefault(row["structure"], {}), {k: v for k, v in row.asDict().items() if k in EXTENT})
    for row in peer_work(batch).collect() if any(row["has_recovery"] for row in extents) else ():
        work = {name: value for name, value in row.asDict().items() if name not in ("failed", "by")}
        add(totals.peer_work.setdefault(f"{row['failed']} {row['by']}", {}), work)
    events = _settled(with_place(open_lives.admitted(state.events, batch, before)))
    found = judged(State(events.drop("at"), state.marks, totals), remember_ms)
    over = found.lives.where("is_over").select(*_MESSAGE)
    folded = found.copies.join(over, _MESSAGE, "left_semi")
    forgotten = _fold(folded, batch, totals)

    kept = found.lives.where(~F.col("is_over"))
    marks = marks_after(state.marks, found, kept, totals.last_ms - remember_ms, totals)
    return State(events_after(events, kept).select(*OPEN_EVENTS.fieldNames()), marks, totals, forgotten)


#: What is added up of each structure.
EXTENT = ("events", "first_ms", "last_ms", "first_number", "last_number", "has_hops", "has_recovery")


def judged(state: State, remember_ms: int, missing: Callable[[DataFrame], DataFrame | None] = lambda _: None) -> Open:
    """The lives of a state with everything that can be told about them.

    Args:
        remember_ms: as for `advance`.
        missing: gives the messages that should be on a queue and are not.
    """
    totals = state.totals
    events = state.events.where(~F.col("was_over"))
    lives = _settled(message_lives(events, has_hops=totals.has_hops))
    lives = with_journal_findings(lives, totals.first_numbers, missing(lives))
    pending = open_lives.pending_messages(with_place(events), totals.last_ms - remember_ms)
    ended = _settled(open_lives.with_ends(lives, pending, totals.first_numbers))
    over = _settled(open_lives.with_over(ended, totals.last_ms, remember_ms, has_hops=totals.has_hops))
    late = _settled(open_lives.late_both_ways(deliveries(over), state.marks))
    copies = _settled(
        copies_of_journal(over, late.select(*_MESSAGE, F.coalesce("why_alone", "why_shared").alias("why")))
        .drop("late_because")
        .join(late, _MESSAGE, "left")
        .withColumn("place", F.concat_ws("/", "structure", "queue"))
    )
    return Open(state.events, over, copies, late)


def events_after(events: DataFrame, kept: DataFrame) -> DataFrame:
    """The events of the lives that are kept, the ends of their units of work, and what came after an end."""
    first_halves = kept.where("hop_number IS NOT NULL").select(
        F.col("hop_structure").alias("structure"), F.col("hop_number").alias("message_number")
    )
    numbers = kept.select(*_MESSAGE).unionByName(first_halves).distinct()
    wrong = events.where(F.col("was_over") & F.col("event").isin("get", "expire", "clear", "return"))
    stay = events.where(~F.col("was_over")).join(numbers, _MESSAGE, "left_semi").unionByName(wrong)
    units = stay.where("unit_of_work IS NOT NULL").select("structure", "unit_of_work").distinct()
    ends = events.where(F.col("message_number").isNull()).join(units, ["structure", "unit_of_work"], "left_semi")
    return stay.unionByName(ends.select(*stay.columns))


def marks_after(marks: DataFrame, found: Open, kept: DataFrame, old_ms: int, totals: Totals) -> DataFrame:
    """The marks with those of the lives that are forgotten now, without those that are too old to matter.

    Adds to *totals* the queues that have consumers at once.
    """
    got = deliveries(found.lives)
    groups = (
        got.where(F.col("is_over") & F.col("group_id").isNotNull())
        .select(
            *("structure", "queue", F.col("group_id").alias("name")),
            F.col("msg_seq_number").cast("long").alias("number"),
            F.col("got_at").alias("last"),
        )
        .unionByName(marks.where("kind = 'group'").select("structure", "queue", "name", "number", "last"))
        .groupBy("structure", "queue", "name")
        # Its latest member, and when that was got.
        .agg(F.max("number").alias("number"), F.max_by("last", "number").alias("last"))
        .where(F.col("last.ms") >= old_ms)
    )
    by_consumer = _consumers_after(marks, got, old_ms, totals.at_once).persist()
    at_once = queues_with_consumers_at_once(by_consumer).where("is_at_once")
    totals.at_once += [f"{row['structure']}/{row['queue']}" for row in at_once.collect()]
    seen = by_consumer.where(~_place().isin(totals.at_once)).select(
        *("structure", "queue", F.col("get_owner").alias("name")),
        *(F.col("first_get").alias("first"), F.col("last_get").alias("last")),
    )
    late = found.late.join(kept.select(*_MESSAGE), _MESSAGE, "left_semi").select(
        "structure", F.col("message_number").alias("number"), "why_alone", "why_shared"
    )
    return _marks("group", groups).unionByName(_marks("consumer", seen)).unionByName(_marks("late", late))


def verdict_of(
    spark: SparkSession,
    state: State,
    forgotten: DataFrame,
    part: JournalPart,
    keep: Callable[[DataFrame], object] = lambda _: None,
) -> tuple[Verdict, Series]:
    """The verdict on everything up to now, and what the plots show.

    Args:
        forgotten: what all batches up to now have found of lives that are forgotten.
        keep: as for `audit.audit`.
    """
    totals = state.totals.copy()
    facts = _facts(totals, part)
    found = judged(state, totals.last_ms, lambda lives: missing_messages(spark, lives, part, facts))
    at_once = _place().isin(totals.at_once)
    copies = found.copies.withColumn("late_because", F.when(at_once, F.col("why_shared")).otherwise(F.col("why_alone")))
    again = ended_again(state.events).persist()
    for row in summarize(copies).collect():
        _add_counts(totals, row, but=())
    for row in again.groupBy("path").count().collect():
        add(totals.counts.setdefault(row["path"], {}), {"duplicated": row["count"]})
    # Which of these are late is known, and counted above.
    _add_tallies(totals, tallies(copies).where("kind <> 'late'"))
    for path, messages in totals.late_by_path().items():
        add(totals.counts[path], {"out_of_sequence": messages})
    counts_by_path = {
        path: {name: int(of.get(name) or 0) for name in MEANINGS} for path, of in sorted(totals.counts.items())
    }
    counts = {name: sum(of[name] for of in counts_by_path.values()) for name in MEANINGS}
    named = findings_of_all(forgotten, copies, again, totals.at_once, counts).persist()
    keep(named)
    verdict = Verdict(
        has_run=False,
        counts=counts,
        counts_by_path=counts_by_path,
        findings=examples(named, counts),
        lost_because={"put and committed, never got, on no queue any more": counts["lost"]} if counts["lost"] else {},
        unknown_settled={},
        figures={path: _figures(totals, path) for path in counts_by_path if totals.latencies.get(path)},
        recoveries=[],
        peer_work=sorted(_peer_work(totals), key=lambda work: work.first_ms),
        journal=facts,
    )
    return verdict, _series(totals)


def ended_again(events: DataFrame) -> DataFrame:
    """Messages that were got once more after their life was over and forgotten, as copies with ``why``."""
    placed = with_place(events)
    after = with_outcome(message_events(placed.where("was_over")), unit_ends(placed)).where("done_at IS NOT NULL")
    path = F.when(F.col("message_id").contains("."), "igq").when(F.col("structure").startswith("@"), "private")
    return (
        after.groupBy(*_MESSAGE, "message_id")
        # What came back from a getter that never had it may be got again.
        .agg(F.sum(F.when(F.col("event") == "return", -1).otherwise(1)).alias("more"), F.max("queue").alias("queue"))
        .where("more > 0")
        .select(
            F.concat_ws("/", "structure", "message_id").alias("copy"),
            *("queue", path.otherwise("shared").alias("path")),
            F.concat(F.lit("ended "), F.col("more") + 1, F.lit(" times")).alias("why"),
        )
    )


def tallies(copies: DataFrame, batch: DataFrame | None = None) -> DataFrame:
    """Messages (``n``) by ``kind``, ``name`` and ``at``.

    ``happened``: what, in which minute; what agents and peers did is told by the *batch*. ``took``: path, and slice of
    latency. ``late``: as the keys of `Totals.late`.
    """
    journal = copies.sparkSession.createDataFrame([], OPEN_EVENTS) if batch is None else batch
    minute = (F.floor(F.col("ms") / MINUTE_MS) * MINUTE_MS).cast("long")
    latency = F.greatest(F.col("delivered_ms") - F.col("available_ms"), F.lit(1))
    ways = F.concat(*(F.col(name).isNotNull().cast("int") for name in ("why_alone", "why_shared")))
    kinds = [
        _kind("happened", happenings(journal, copies), F.col("what"), minute, F.col("messages")),
        _kind("took", copies.where("is_delivered"), F.col("path"), F.floor(F.log10(latency) * FINE_SLICES_PER_DECADE)),
        _kind("late", copies.where(_IS_LATE), F.concat_ws(" ", "path", "place", ways), F.lit(0)),
    ]
    return reduce(DataFrame.unionByName, kinds).groupBy("kind", "name", "at").agg(F.sum("n").alias("n"))


def findings_of_all(
    forgotten: DataFrame, copies: DataFrame, again: DataFrame, at_once: list[str], counts: Mapping[str, int]
) -> DataFrame:
    """What there is to say of each message: of lives that are forgotten, of open ones, and of what was got again."""
    way = F.when(F.col("place").isin(at_once), "shared").otherwise("alone")
    absent = {name: F.lit(None).cast("string") for name in ("msg_id", "correl_id")}
    doubled = again.withColumns(absent | {"finding": F.lit("duplicated")})
    return (
        forgotten.where(F.col("way").isNull() | (F.col("way") == way))
        .transform(as_table, FINDINGS)
        .unionByName(findings(copies, counts))
        .unionByName(doubled.transform(as_table, FINDINGS))
    )


def _fold(folded: DataFrame, batch: DataFrame, totals: Totals) -> DataFrame | None:
    """Add copies whose lives are over to the totals. What there is to say of them, None for nothing."""
    plain = folded.withColumn("late_because", F.lit(None).cast("string"))
    rows = summarize(plain).collect()
    for row in rows:
        _add_counts(totals, row, but=("out_of_sequence",))
    before = sum(totals.late.values())
    _add_tallies(totals, tallies(folded, batch))
    counts = {name: sum(int(row[name] or 0) for row in rows) for name in MEANINGS}
    found = [findings(plain, counts).withColumns({name: F.lit(None).cast("string") for name in ("place", "way")})]
    if sum(totals.late.values()) > before:
        for way in _WAYS:
            late = folded.withColumn("why", F.col(f"why_{way}")).where("why IS NOT NULL")
            found.append(late.withColumns({"finding": F.lit("out_of_sequence"), "way": F.lit(way)}))
    elif not any(counts[name] for name in NAMED):
        return None
    return reduce(DataFrame.unionByName, (as_table(each, FORGOTTEN_FINDINGS) for each in found))


def _consumers_after(marks: DataFrame, got: DataFrame, old_ms: int, at_once: list[str]) -> DataFrame:
    """Who got from private queues, and when; those who are long gone are forgotten."""
    known = marks.where("kind = 'consumer'").select(
        *("structure", "queue", F.col("name").alias("get_owner")),
        *(F.col("first").alias("first_get"), F.col("last").alias("last_get")),
    )
    span = (F.min("first_get").alias("first_get"), F.max("last_get").alias("last_get"))
    both = consumers(on_private_queues(got)).unionByName(known).where(~_place().isin(at_once))
    whole = both.groupBy("structure", "queue", "get_owner").agg(*span)
    return whole.where(F.col("last_get.ms") >= old_ms)


def _settled(table: DataFrame) -> DataFrame:
    """The table, computed, without what it was computed from.

    Kept with it, each step's query would hold those of all steps before, several times over: planning it takes longer
    than computing it, and with every step many times longer.
    """
    return table.localCheckpoint()


def _marks(kind: str, rows: DataFrame) -> DataFrame:
    absent = {field.name: F.lit(None).cast(field.dataType) for field in AUDIT_MARKS if field.name not in rows.columns}
    return rows.withColumns(absent | {"kind": F.lit(kind)}).select(*AUDIT_MARKS.fieldNames())


def _place() -> Column:
    return F.concat_ws("/", "structure", "queue")


def _add_counts(totals: Totals, row: Row, but: tuple[str, ...]) -> None:
    counts = {name: int(row[name] or 0) for name in MEANINGS if name not in but}
    add(totals.counts.setdefault(row["path"], {}), counts)
    add(totals.spans.setdefault(row["path"], {}), {name: row[column] for column, name in _SPANS.items()})


def _add_tallies(totals: Totals, found: DataFrame) -> None:
    for row in found.collect():
        if row["kind"] == "happened":
            add(totals.happened, {row["name"]: {row["at"]: row["n"]}})
        elif row["kind"] == "took":
            add(totals.latencies, {row["name"]: {row["at"]: row["n"]}})
        else:
            add(totals.late, {row["name"]: row["n"]})


def _kind(kind: str, rows: DataFrame, name: Column, at: Column, messages: Column | None = None) -> DataFrame:
    count = F.lit(1) if messages is None else messages
    return rows.select(
        F.lit(kind).alias("kind"), name.alias("name"), at.cast("long").alias("at"), count.cast("long").alias("n")
    )


def _facts(totals: Totals, part: JournalPart) -> JournalFacts:
    return JournalFacts(
        group=part.group,
        events=sum(of["events"] for of in totals.structures.values()),
        first_ms=min((of["first_ms"] for of in totals.structures.values()), default=None),
        last_ms=totals.last_ms or None,
        structures=tuple(sorted(totals.structures)),
        trimmed_structures=trimmed_structures(part, totals.structures),
    )


def _peer_work(totals: Totals) -> list[PeerWork]:
    """A unit of work that a peer ended in several steps counts once for each batch that they lie in."""
    return [PeerWork(*who.split(" ", 1), **of) for who, of in totals.peer_work.items()]  # type: ignore[arg-type]


def _figures(totals: Totals, path: str) -> PathFigures:
    slices, span = totals.latencies[path], totals.spans[path]
    messages = sum(slices.values())
    p50, p90, p99 = (min(percentile(slices, part), span["max_ms"]) for part in (0.5, 0.9, 0.99))
    seconds = max(0.001, (span["last_get_ms"] - span["first_put_ms"]) / 1000)
    return PathFigures(
        messages=messages,
        first_put_ms=span["first_put_ms"],
        last_get_ms=span["last_get_ms"],
        messages_per_s=round(messages / seconds, 1),
        p50_ms=p50,
        p90_ms=p90,
        p99_ms=p99,
        max_ms=span["max_ms"],
    )


def _series(totals: Totals) -> Series:
    coarse = FINE_SLICES_PER_DECADE // SLICES_PER_DECADE
    latencies: dict[str, dict[int, int]] = {}
    for path, slices in totals.latencies.items():
        for number, messages in slices.items():
            of = latencies.setdefault(path, {})
            of[int(number) // coarse] = of.get(int(number) // coarse, 0) + messages
    messages = {what: {int(at): n for at, n in minutes.items()} for what, minutes in totals.happened.items()}
    return Series(MINUTE_MS, messages, latencies)
