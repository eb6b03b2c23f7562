"""The incremental audit: follows the journal batch by batch, and keeps only open lives.

It judges with the functions of the batch audit, which get the events of open lives and those of the batch. Lives that
are over are added to `Totals` and forgotten. Only marks (``schemas.AUDIT_MARKS``) and findings (``schemas.FINDINGS``)
remain of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.audit.audit import (
    NAMED,
    examples,
    findings,
    missing_messages,
    peer_work,
    structure_extents,
    summarize,
    trimmed_structures,
)
from igq.pipeline.audit.copies import GONE, ON_QUEUE, copies_of_journal, with_journal_findings
from igq.pipeline.audit.series import SLICES_PER_DECADE, Series, happenings
from igq.pipeline.audit.totals import FINE_SLICES_PER_DECADE, Totals, add, percentile
from igq.pipeline.audit.verdict import MEANINGS, JournalFacts, PathFigures, PeerWork, Verdict
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.history import open_lives
from igq.pipeline.history.lives import message_events, message_lives, unit_ends, with_outcome, with_place
from igq.pipeline.history.order import deliveries
from igq.pipeline.schemas import AUDIT_MARKS, FINDINGS, OPEN_EVENTS, as_table
from igq.pipeline.spark.interim_tables import kept, settled

MINUTE_MS = 60_000
_MESSAGE = ["structure", "message_number"]
_SPANS = {"first_put_ms": "first_put_ms", "last_get_ms": "last_get_ms", "max": "max_ms"}


@dataclass(frozen=True)
class State:
    """The state of the audit: open events, marks of forgotten lives, and totals.

    Attributes:
        found: the findings of the lives that were forgotten with the latest batch; None for none.
    """

    events: DataFrame
    marks: DataFrame
    totals: Totals
    found: DataFrame | None = None


@dataclass(frozen=True)
class Open:
    """The lives of a state, or of a state and a batch: judged, and as copies."""

    events: DataFrame
    lives: DataFrame
    copies: DataFrame
    late: DataFrame


def nothing_yet(spark: SparkSession, group: str) -> State:
    """The state before the first event."""
    return State(spark.createDataFrame([], OPEN_EVENTS), spark.createDataFrame([], AUDIT_MARKS), Totals(group))


def advance(state: State, batch: DataFrame, remember_ms: int) -> State:
    """Return the state after one more batch of events.

    The tables of the new state are not computed yet. They must be stored within the same `keeping`, and before the
    next batch.

    Each step's table is settled: kept with its plan, each step's query would hold those of all steps before, several
    times over, and planning it would take longer than computing it.

    Args:
        remember_ms: how long lives that are over are kept to judge open ones.
    """
    totals = state.totals.copy()
    before = totals.numbers
    extents = structure_extents(batch).collect()
    for row in extents:
        add(totals.structures.setdefault(row["structure"], {}), {k: v for k, v in row.asDict().items() if k in EXTENT})
    for row in peer_work(batch).collect() if any(row["has_recovery"] for row in extents) else ():
        work = {name: value for name, value in row.asDict().items() if name not in ("failed", "by")}
        add(totals.peer_work.setdefault(f"{row['failed']} {row['by']}", {}), work)
    events = settled(with_place(open_lives.admitted(state.events, batch, before)))
    found = judged(State(events.drop("at"), state.marks, totals), remember_ms)
    over = found.lives.where("is_over").select(*_MESSAGE)
    folded = found.copies.join(over, _MESSAGE, "left_semi")
    forgotten = _fold(folded, batch, totals)

    kept = found.lives.where(~F.col("is_over"))
    marks = marks_after(state.marks, found, kept, totals.last_ms - remember_ms)
    return State(events_after(events, kept).select(*OPEN_EVENTS.fieldNames()), marks, totals, forgotten)


#: Columns that are added up for each structure.
EXTENT = ("events", "first_ms", "last_ms", "first_number", "last_number", "has_hops", "has_recovery")


def judged(state: State, remember_ms: int, missing: Callable[[DataFrame], DataFrame | None] = lambda _: None) -> Open:
    """Judge the lives of a state.

    Args:
        remember_ms: as for `advance`.
        missing: returns the messages that should be on a queue and are not.
    """
    totals = state.totals
    events = state.events.where(~F.col("was_over"))
    lives = settled(message_lives(events, has_hops=totals.has_hops))
    lives = with_journal_findings(lives, totals.first_numbers, missing(lives))
    pending = open_lives.pending_messages(with_place(events), totals.last_ms - remember_ms)
    ended = settled(open_lives.with_ends(lives, pending, totals.first_numbers))
    over = settled(open_lives.with_over(ended, totals.last_ms, remember_ms, has_hops=totals.has_hops))
    late = settled(open_lives.late(deliveries(over), state.marks))
    return Open(state.events, over, settled(copies_of_journal(over, late)), late)


def events_after(events: DataFrame, kept: DataFrame) -> DataFrame:
    """The events of the lives that are kept, the ends of their units of work, and events after the end of a life."""
    first_halves = kept.where("hop_number IS NOT NULL").select(
        F.col("hop_structure").alias("structure"), F.col("hop_number").alias("message_number")
    )
    numbers = kept.select(*_MESSAGE).unionByName(first_halves).distinct()
    wrong = events.where(F.col("was_over") & F.col("event").isin("get", "expire", "clear", "return"))
    stay = events.where(~F.col("was_over")).join(numbers, _MESSAGE, "left_semi").unionByName(wrong)
    units = stay.where("unit_of_work IS NOT NULL").select("structure", "unit_of_work").distinct()
    ends = events.where(F.col("message_number").isNull()).join(units, ["structure", "unit_of_work"], "left_semi")
    return stay.unionByName(ends.select(*stay.columns))


def marks_after(marks: DataFrame, found: Open, kept: DataFrame, old_ms: int) -> DataFrame:
    """The marks, with those of the lives that are forgotten now, and without those that are too old."""
    groups = (
        deliveries(found.lives)
        .where(F.col("is_over") & F.col("group_id").isNotNull() & F.col("is_logical"))
        .select(
            *("structure", "queue", F.col("group_id").alias("name")),
            F.col("msg_seq_number").cast("long").alias("number"),
            *(F.col("got_at").alias("last"), F.col("put_at").alias("put")),
        )
        .unionByName(marks.where("kind = 'group'").select("structure", "queue", "name", "number", "last", "put"))
        .groupBy("structure", "queue", "name")
        # Take the latest member, and the time of its get.
        .agg(F.max(F.struct("number", "last", "put")).alias("latest"))
        .select("structure", "queue", "name", "latest.*")
        .where(F.col("last.ms") >= old_ms)
    )
    late = found.late.join(kept.select(*_MESSAGE), _MESSAGE, "left_semi").select(
        "structure", F.col("message_number").alias("number"), "why"
    )
    return _marks("group", groups).unionByName(_marks("late", late))


def verdict_of(
    spark: SparkSession,
    state: State,
    forgotten: DataFrame,
    part: JournalPart,
    keep: Callable[[DataFrame], object] = lambda _: None,
) -> tuple[Verdict, Series]:
    """The verdict on all events up to now, and the points of the plots.

    Args:
        forgotten: the findings of all batches up to now about forgotten lives.
        keep: as for `audit.audit`.
    """
    totals = state.totals.copy()
    facts = _facts(totals, part)
    found = judged(state, totals.last_ms, lambda lives: missing_messages(spark, lives, part, facts))
    dead = forgotten.where("finding = 'dead_lettered'").select("copy").distinct()
    again = kept(after_their_end(state.events, dead))
    back = kept(came_back(again))
    gone = missing_messages(spark, back, part, facts)
    for row in summarize(found.copies).collect():
        _add_counts(totals, row)
    judged_again = kept(found_again(again, gone))
    for row in corrections(judged_again).collect():
        add(totals.counts.setdefault(row["path"], {}), {name: row[name] for name in MEANINGS if name in row})
    _add_tallies(totals, tallies(found.copies))
    counts_by_path = {
        path: {name: int(of.get(name) or 0) for name in MEANINGS} for path, of in sorted(totals.counts.items())
    }
    counts = {name: sum(of[name] for of in counts_by_path.values()) for name in MEANINGS}
    said = judged_again.where("finding IS NOT NULL").transform(as_table, FINDINGS)
    # A dead letter that was lost does not count as a dead letter.
    no_letter = judged_again.where("is_dead AND finding = 'lost'").select(
        "copy", F.lit("dead_lettered").alias("finding")
    )
    stays = forgotten.join(no_letter, ["copy", "finding"], "left_anti").transform(as_table, FINDINGS)
    named = kept(stays.unionByName(findings(found.copies, counts)).unionByName(said))
    keep(named)
    verdict = Verdict(
        has_run=False,
        counts=counts,
        counts_by_path=counts_by_path,
        findings=examples(named, counts),
        lost_because={GONE: counts["lost"]} if counts["lost"] else {},
        unknown_settled={},
        figures={path: _figures(totals, path) for path in counts_by_path if totals.latencies.get(path)},
        recoveries=[],
        peer_work=sorted(_peer_work(totals), key=lambda work: work.first_ms),
        journal=facts,
    )
    return verdict, _series(totals)


def after_their_end(events: DataFrame, dead: DataFrame) -> DataFrame:
    """The events of messages after their lives were over and forgotten, counted in one row for each message.

    ``gets``: gets less returns from getters that had died; ``ends``: the same with expiries and clears added;
    ``expiries`` and ``clears`` as for lives; ``doubt``: whether the open unit of work that has the message is prepared.

    Args:
        dead: the copies (``copy``) that have a dead-letter header.
    """
    placed = with_place(events)
    after = with_outcome(message_events(placed.where("was_over")), unit_ends(placed))
    path = F.when(F.col("message_id").contains("."), "igq").when(F.col("structure").startswith("@"), "private")
    done, event = F.col("done_at").isNotNull(), F.col("event")
    gets = F.count_if(done & (event == "get")) - F.count_if(event == "return")
    expiries = F.count_if(done & event.isin("expire", "clear"))
    return (
        after.groupBy(*_MESSAGE, "message_id")
        .agg(
            gets.alias("gets"),
            (gets + expiries).alias("ends"),
            expiries.alias("expiries"),
            F.count_if(done & (event == "clear")).alias("clears"),
            F.count_if(event == "return").alias("returns"),
            F.max(F.when(F.col("is_open"), F.col("is_in_doubt"))).alias("doubt"),
            F.max("queue").alias("queue"),
        )
        .withColumns({"path": path.otherwise("shared"), "copy": F.concat_ws("/", "structure", "message_id")})
        .join(dead.withColumn("is_dead", F.lit(True)), "copy", "left")
        .fillna(False, ["is_dead"])
    )


def came_back(again: DataFrame) -> DataFrame:
    """The messages that are on their queue again, as lives."""
    lives = again.where("ends < 0").select(*_MESSAGE, "message_id", F.lit(True).alias("is_committed"))
    return lives.withColumns({"gets": F.lit(0), "expiries": F.lit(0)})


def found_again(again: DataFrame, gone: DataFrame | None) -> DataFrame:
    """Add the findings about these messages, as `findings` does; null for none.

    Args:
        gone: the messages of `came_back` that are not on their queue; None for none.
    """
    is_gone = F.lit(False)
    if gone is not None:
        again = again.join(gone.select(*_MESSAGE, F.lit(True).alias("is_gone")), _MESSAGE, "left")
        is_gone = F.coalesce("is_gone", F.lit(False))
    is_back, doubt = F.col("ends") < 0, F.col("doubt")
    kinds = [
        (F.col("ends") > 0, "duplicated", F.concat(F.lit("ended "), F.col("ends") + 1, F.lit(" times"))),
        (is_back & is_gone, "lost", F.lit(GONE)),
        (is_back & doubt, "in_doubt", F.lit("got by a unit of work which is in doubt")),
        (is_back & doubt.isNotNull(), "uncommitted", F.lit("got by a unit of work which has not ended")),
        (is_back & ~F.col("is_dead"), "on_queue", F.lit(ON_QUEUE)),
    ]
    said = F.coalesce(
        *(F.when(holds, F.struct(F.lit(finding).alias("finding"), why.alias("why"))) for holds, finding, why in kinds)
    )
    absent = {name: F.lit(None).cast("string") for name in ("msg_id", "correl_id")}
    return again.withColumns(absent | {"said": said}).select("*", "said.*")


def corrections(judged_again: DataFrame) -> DataFrame:
    """The changes of the counts that follow from `found_again`, by path."""
    findings_of = ("duplicated", "on_queue", "lost", "in_doubt", "uncommitted")
    return judged_again.groupBy("path").agg(
        *(F.count_if(F.col("finding") == name).alias(name) for name in findings_of),
        (-F.count_if((F.col("gets") < 0) & ~F.col("is_dead"))).alias("delivered"),
        (-F.count_if(F.col("is_dead") & (F.col("finding") == "lost"))).alias("dead_lettered"),
        F.count_if(F.col("expiries") > F.col("clears")).alias("expired"),
        F.count_if(F.col("clears") > 0).alias("cleared"),
        F.count_if(F.col("returns") > 0).alias("backed_out"),
    )


def tallies(copies: DataFrame, batch: DataFrame | None = None) -> DataFrame:
    """Messages (``n``) by ``kind``, ``name`` and ``at``.

    Kind ``happened``: the event and its minute; the *batch* has the work of agents and peers. Kind ``took``: the path
    and the slice of latency.
    """
    journal = copies.sparkSession.createDataFrame([], OPEN_EVENTS) if batch is None else batch
    minute = (F.floor(F.col("ms") / MINUTE_MS) * MINUTE_MS).cast("long")
    latency = F.greatest(F.col("delivered_ms") - F.col("available_ms"), F.lit(1))
    kinds = [
        _kind("happened", happenings(journal, copies), F.col("what"), minute, F.col("messages")),
        _kind("took", copies.where("is_delivered"), F.col("path"), F.floor(F.log10(latency) * FINE_SLICES_PER_DECADE)),
    ]
    return reduce(DataFrame.unionByName, kinds).groupBy("kind", "name", "at").agg(F.sum("n").alias("n"))


def _fold(folded: DataFrame, batch: DataFrame, totals: Totals) -> DataFrame | None:
    """Add copies whose lives are over to the totals. Return their findings, or None for none."""
    rows = summarize(folded).collect()
    for row in rows:
        _add_counts(totals, row)
    _add_tallies(totals, tallies(folded, batch))
    counts = {name: sum(int(row[name] or 0) for row in rows) for name in MEANINGS}
    return findings(folded, counts) if any(counts[name] for name in NAMED) else None


def _marks(kind: str, rows: DataFrame) -> DataFrame:
    absent = {field.name: F.lit(None).cast(field.dataType) for field in AUDIT_MARKS if field.name not in rows.columns}
    return rows.withColumns(absent | {"kind": F.lit(kind)}).select(*AUDIT_MARKS.fieldNames())


def _add_counts(totals: Totals, row: Row) -> None:
    counts = {name: int(row[name] or 0) for name in MEANINGS}
    add(totals.counts.setdefault(row["path"], {}), counts)
    add(totals.spans.setdefault(row["path"], {}), {name: row[column] for column, name in _SPANS.items()})


def _add_tallies(totals: Totals, found: DataFrame) -> None:
    for row in found.collect():
        if row["kind"] == "happened":
            add(totals.happened, {row["name"]: {row["at"]: row["n"]}})
        else:
            add(totals.latencies, {row["name"]: {row["at"]: row["n"]}})


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
