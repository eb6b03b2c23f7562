"""The audit: judges from the journal, and from a run's records, whether every message arrived once and in order.

The data stays with the engine. Only counts, a few examples and the points of the plots come to this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from igq.pipeline.audit.copies import ON_QUEUE, copies_of_journal, copies_of_run, relevant_lives, with_journal_findings
from igq.pipeline.audit.records import RunRecords
from igq.pipeline.audit.recovery_timeline import recoveries
from igq.pipeline.audit.series import Series, read_series
from igq.pipeline.audit.verdict import MEANINGS, Finding, JournalFacts, PathFigures, PeerWork, Verdict
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.engine.frames import (
    Column,
    DataFrame,
    F,
    Row,
    SparkSession,
    Window,
    as_table,
    kept,
    of_rows,
    only,
    percentiles,
)
from igq.pipeline.errors import PipelineError
from igq.pipeline.history.lives import TRANSMIT_QUEUE, message_lives
from igq.pipeline.history.lost_structures import former_name, is_former, with_first_lives
from igq.pipeline.history.order import deliveries, out_of_sequence
from igq.pipeline.schemas import FINDINGS
from igq.pipeline.spark.interim_tables import keeping
from sharedq.reading.journal import held, read_extent
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import structure_keys

#: How many copies a verdict names for each finding, at most.
EXAMPLES = 20

#: Finding -> the column of a copy with the reason.
REASONS = {
    "lost": "lost_because",
    "duplicated": "double_because",
    "out_of_sequence": "late_because",
    "unexpected": "odd_because",
    "unknown": "unknown_because",
    "unrecorded": "unrecorded_because",
    "promised_gone": "gone_because",
    "promised_again": "again_because",
    "in_doubt": "doubt_because",
    "uncommitted": "open_because",
    "dead_lettered": "dead_because",
}
#: Columns that identify a copy.
_NAMES = ("copy", "queue", "msg_id", "correl_id")
#: Findings whose copies are named.
NAMED = (*REASONS, "recovered", "on_queue")


def audit(
    spark: SparkSession,
    part: JournalPart,
    records: RunRecords | None,
    on_step: Callable[[str], None] = lambda _: None,
    keep: Callable[[DataFrame], object] = lambda _: None,
    scratch: Path | None = None,
) -> tuple[Verdict, Series]:
    """Judge every message, and return the verdict and the points of the plots.

    Args:
        records: the records of a run; None to judge the journal alone.
        on_step: called with the name of each step before it.
        keep: called with all findings, a table of ``igq.pipeline.schemas.FINDINGS``; the verdict names some of them.
        scratch: as for `keeping`.

    Raises:
        PipelineError: there is nothing to judge.
    """
    with keeping(scratch):
        return _audit(spark, part, records, on_step, keep)


def _audit(
    spark: SparkSession,
    part: JournalPart,
    records: RunRecords | None,
    on_step: Callable[[str], None],
    keep: Callable[[DataFrame], object],
) -> tuple[Verdict, Series]:
    on_step("reading the journal")
    # Keep the table: an event that is added meanwhile must not be in one query and missing in the next.
    losses = records.losses if records else ()
    journal = kept(with_first_lives(part.read(spark), losses))
    extents = {row["structure"]: row for row in structure_extents(journal).collect()}
    facts = journal_facts(extents, part)
    if not facts.events and records is None:
        raise PipelineError(f"the journal of group {part.group} has no events to judge; is it switched on?")
    on_step(f"following the messages through {facts.events:,} events")
    lives = kept(message_lives(journal, has_hops=any(row["has_hops"] for row in extents.values())))
    first_numbers = {name: row["first_number"] for name, row in extents.items() if row["first_number"]}
    # A stored journal may be older than the messages on the queues.
    missing = None if part.stored else missing_messages(spark, lives, part, facts)
    judged = with_journal_findings(lives, first_numbers, missing)
    if records is None:
        copies = copies_of_journal(judged, out_of_sequence(deliveries(judged)))
    else:
        judged = kept(relevant_lives(judged, records.expected))
        copies = copies_of_run(judged, out_of_sequence(deliveries(judged)), records)
    copies = kept(copies)
    on_step("counting")
    by_path = {row["path"]: row for row in sorted(summarize(copies).collect(), key=lambda row: str(row["path"]))}
    counts_by_path = {path: {name: int(row[name] or 0) for name in MEANINGS} for path, row in by_path.items()}
    counts = {name: sum(of_path[name] for of_path in counts_by_path.values()) for name in MEANINGS}
    on_step("collecting examples and plots")
    named = findings(copies, counts)
    keep(named)
    verdict = Verdict(
        has_run=records is not None,
        counts=counts,
        counts_by_path=counts_by_path,
        findings=examples(named, counts),
        lost_because=tally(copies, "lost_because") if counts["lost"] else {},
        unknown_settled=tally(copies, "unknown_because") if counts["unknown"] else {},
        figures={path: _figures(row) for path, row in by_path.items() if row["p50"] is not None},
        recoveries=recoveries(records.timeline if records else ()),
        peer_work=_peer_work(journal) if any(row["has_recovery"] for row in extents.values()) else [],
        journal=facts,
    )
    return verdict, read_series(journal, copies)


def structure_extents(journal: DataFrame) -> DataFrame:
    """The extent of each structure's journal, one row each. ``has_hops``: a message was got from the transmit queue."""
    time_ms, is_put = F.unix_millis("time"), F.col("event") == "put"
    return journal.groupBy("structure").agg(
        F.count("*").alias("events"),
        F.min(time_ms).alias("first_ms"),
        F.max(time_ms).alias("last_ms"),
        F.min(F.when(is_put, F.col("message_number"))).alias("first_number"),
        F.max(F.when(is_put, F.col("message_number"))).alias("last_number"),
        F.max((F.col("event") == "get") & (F.col("queue") == TRANSMIT_QUEUE)).alias("has_hops"),
        F.max("recovered").alias("has_recovery"),
    )


def journal_facts(extents: Mapping[str, Row], part: JournalPart) -> JournalFacts:
    """The extent of the journal that was read, and the structures whose journals have lost their beginning."""
    return JournalFacts(
        group=part.group,
        events=sum(row["events"] for row in extents.values()),
        first_ms=min((row["first_ms"] for row in extents.values()), default=None),
        last_ms=max((row["last_ms"] for row in extents.values()), default=None),
        structures=tuple(sorted(extents)),
        trimmed_structures=trimmed_structures(part, extents),
    )


def missing_messages(spark: SparkSession, lives: DataFrame, part: JournalPart, facts: JournalFacts) -> DataFrame | None:
    """Messages that wait on a queue according to the journal and that their structure does not hold; None for none.

    A message that was got after the journal was read is not missing: the rest of the journal is read to find those.
    """
    is_left = F.col("is_committed") & (F.col("gets") == 0) & (F.col("expiries") == 0)
    waiting = lives.where(is_left & ~F.endswith("structure", F.lit(former_name(""))))
    asked = waiting.select("structure", "message_number", "message_id")
    group, url = part.group, part.url

    missing = only(asked, lambda batch: _are_missing(Deployment(url), group, batch))
    if missing.isEmpty():
        return None
    later = part.read(spark, start=str(facts.last_ms or 0), end="+")
    ended = later.where(F.col("event").isin("get", "expire", "clear")).select("structure", "message_number")
    return missing.join(ended.distinct(), ["structure", "message_number"], "left_anti")


def summarize(copies: DataFrame) -> DataFrame:
    """Counts, speed and latency of each path, one row each."""
    latency = F.when(F.col("is_delivered"), F.col("delivered_ms") - F.col("available_ms"))
    counted = {
        "expected": F.col("is_expected"),
        "sent": F.col("is_sent"),
        "delivered": F.col("is_delivered"),
        **{name: F.col(reason).isNotNull() for name, reason in REASONS.items()},
        "recovered": F.col("is_recovered"),
        "backed_out": F.col("backouts") > 0,
        "on_queue": F.col("is_on_queue"),
        "expired": F.col("is_expired"),
        "cleared": F.col("is_cleared"),
    }
    return (
        copies.groupBy("path")
        .agg(
            *(F.count_if(condition).alias(name) for name, condition in counted.items()),
            F.min("available_ms").alias("first_put_ms"),
            F.max(F.when(F.col("is_delivered"), F.col("delivered_ms"))).alias("last_get_ms"),
            percentiles(latency, [0.5, 0.9, 0.99]).alias("percentiles"),
            F.max(latency).alias("max"),
        )
        .select(
            "*",
            *(F.element_at("percentiles", at).alias(name) for at, name in enumerate(("p50", "p90", "p99"), 1)),
        )
        .drop("percentiles")
    )


def findings(copies: DataFrame, counts: Mapping[str, int]) -> DataFrame:
    """The findings of each message copy, one row each. Only findings that *counts* has are looked for."""
    reasons: dict[str, Column] = {name: F.col(reason) for name, reason in REASONS.items()}
    reasons["recovered"] = F.when(F.col("is_recovered"), F.lit("resolved by a peer"))
    reasons["on_queue"] = F.when(F.col("is_on_queue"), F.lit(ON_QUEUE))
    each = [
        F.struct(F.lit(name).alias("finding"), reason.alias("why")) for name, reason in reasons.items() if counts[name]
    ]
    if not each:
        return of_rows(copies.sparkSession, [], FINDINGS)
    return (
        copies.select(*_NAMES, F.explode(F.array(*each)).alias("of"))
        .select(F.col("of.finding").alias("finding"), *_NAMES, F.col("of.why").alias("why"))
        .where(F.col("why").isNotNull())
        .transform(as_table, FINDINGS)
    )


def examples(findings: DataFrame, counts: Mapping[str, int]) -> dict[str, list[Finding]]:
    """The first copies of every finding that *counts* has."""
    first = Window.partitionBy("finding").orderBy("copy")
    numbered = findings.withColumn("number", F.row_number().over(first)).where(F.col("number") <= EXAMPLES)
    found: dict[str, list[Finding]] = {name: [] for name in NAMED if counts[name]}
    for row in sorted(numbered.collect() if found else (), key=lambda row: int(row["number"])):
        found[row["finding"]].append(Finding(row["copy"], row["why"], row["msg_id"]))
    return found


def tally(copies: DataFrame, reason: str) -> dict[str, int]:
    """The number of copies for each reason."""
    rows = copies.where(F.col(reason).isNotNull()).groupBy(reason).count().orderBy(reason).collect()
    return {row[reason]: row["count"] for row in rows}


def peer_work(journal: DataFrame) -> DataFrame:
    """Units of work that a peer ended, for each pair of failed and recovering manager."""
    time_ms = F.unix_millis("time")
    return (
        journal.where(F.col("recovered") & F.col("unit_of_work").isNotNull())
        .groupBy(F.split_part("unit_of_work", F.lit("."), F.lit(1)).alias("failed"), F.col("qmgr").alias("by"))
        .agg(
            F.count_distinct(F.when(F.col("event") == "commit", F.col("unit_of_work"))).alias("committed_units"),
            F.count_distinct(F.when(F.col("event") == "backout", F.col("unit_of_work"))).alias("backed_out_units"),
            F.sum("messages").alias("messages"),
            F.min(time_ms).alias("first_ms"),
            F.max(time_ms).alias("last_ms"),
        )
        .orderBy("first_ms", "failed", "by")
    )


def _peer_work(journal: DataFrame) -> list[PeerWork]:
    return [PeerWork(**row.asDict()) for row in peer_work(journal).collect()]


def trimmed_structures(part: JournalPart, structures: Iterable[str]) -> tuple[str, ...]:
    """The structures whose journals have lost their beginning. A stored journal does not tell: empty."""
    if part.stored:
        return ()
    deployment, found = Deployment(part.url), []
    for name in sorted(each for each in structures if not is_former(each)):
        keys = structure_keys(part.group, name)
        with deployment.client(keys.journal) as client:
            extent = read_extent(client, keys)
        if extent is None or not extent.is_whole:
            found.append(name)
    return tuple(found)


def _are_missing(deployment: Deployment, group: str, batch: pa.RecordBatch) -> list[bool]:
    """Ask each structure for the messages of a batch that it should hold."""
    structures, ids = batch.column("structure").to_pylist(), batch.column("message_id").to_pylist()
    missing = [False] * len(ids)
    for structure in sorted(set(structures)):
        places = [at for at, name in enumerate(structures) if name == structure]
        keys = structure_keys(group, structure)
        with deployment.client(keys.messages) as client:
            for at, is_held in zip(places, held(client, keys, [ids[at] for at in places]), strict=True):
                missing[at] = not is_held
    return missing


def _figures(row: Row) -> PathFigures:
    seconds = max(0.001, (row["last_get_ms"] - row["first_put_ms"]) / 1000)
    return PathFigures(
        messages=row["delivered"],
        first_put_ms=row["first_put_ms"],
        last_get_ms=row["last_get_ms"],
        messages_per_s=round(row["delivered"] / seconds, 1),
        p50_ms=row["p50"],
        p90_ms=row["p90"],
        p99_ms=row["p99"],
        max_ms=row["max"],
    )
