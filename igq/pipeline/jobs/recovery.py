"""The recovery job: the failures of a group, the phases of each recovery, and the messages that it touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from igq.pipeline.audit.recovery_timeline import RecoveryTimes
from igq.pipeline.engine.frames import DataFrame, F, SparkSession, as_table, kept, of_rows
from igq.pipeline.history.lives import message_events, unit_ends, with_outcome, with_place
from igq.pipeline.schemas import RECOVERIES, RECOVERY_MESSAGES, RECOVERY_PHASES, RECOVERY_UNITS
from sharedq.members.recovery_records import MOMENTS

Row = tuple[Any, ...]


def recovery_tables(
    spark: SparkSession, journal: DataFrame, records: Iterable[Mapping[str, Any]], timeline: Iterable[RecoveryTimes]
) -> dict[str, DataFrame]:
    """The job's tables by name: ``recoveries``, ``phases``, ``units`` and ``messages``.

    Args:
        records: the recovery records of the administration structure, some dozens.
        timeline: the failures that the programs of a run saw.
    """
    found = sorted(records, key=lambda record: (record["detected_ms"], record["failed"]))
    touched = kept(messages(journal))
    return {
        "recoveries": of_rows(spark, [_recovery_row(record) for record in found], RECOVERIES),
        "phases": of_rows(
            spark,
            [row for record in found for row in _phase_rows(record)]
            + [row for recovery in timeline for row in _timeline_rows(recovery)],
            RECOVERY_PHASES,
        ),
        "units": units(touched),
        "messages": touched,
    }


def detected_between(
    records: Iterable[Mapping[str, Any]], first_ms: int | None, last_ms: int | None
) -> list[Mapping[str, Any]]:
    """The records of failures that were detected in this time, both ends included; None leaves an end open."""
    return [
        record
        for record in records
        if (first_ms is None or record["detected_ms"] >= first_ms)
        and (last_ms is None or record["detected_ms"] <= last_ms)
    ]


def messages(journal: DataFrame) -> DataFrame:
    """The events of the units of work that a peer ended, each with its outcome: one row for each event."""
    events = with_place(journal)
    by_peer = F.max_by("qmgr", F.col("at"))
    recoverers = (
        events.where(F.col("event").isin("commit", "backout") & F.col("recovered"))
        .groupBy("structure", "unit_of_work")
        .agg(by_peer.alias("by"), F.timestamp_millis(F.max("at.ms")).alias("ended"))
    )
    touched = kept(
        with_outcome(message_events(events), unit_ends(events))
        .where(F.col("ended_by_peer"))
        .join(recoverers, ["structure", "unit_of_work"])
        .drop("msg_id", "correl_id")
    )
    # Only a put has MsgId and CorrelId.
    which = F.broadcast(touched.select("structure", "message_number").distinct())
    puts = events.where(F.col("event") == "put").join(which, ["structure", "message_number"], "left_semi")
    named = puts.select("structure", "message_number", "msg_id", "correl_id")
    return (
        touched.join(named, ["structure", "message_number"], "left")
        .withColumns(
            {
                "failed": F.col("qmgr"),
                "outcome": F.when(F.col("done_at").isNotNull(), "committed").otherwise("backed out"),
            }
        )
        .transform(as_table, RECOVERY_MESSAGES)
    )


def units(touched: DataFrame) -> DataFrame:
    """Units of work and messages that peers ended, for each failed manager, recoverer, queue and outcome."""
    return (
        touched.groupBy("failed", "by", "outcome", "structure", "queue", "event")
        .agg(
            F.count_distinct("unit_of_work").alias("units_of_work"),
            F.count("*").alias("messages"),
            F.min("ended").alias("first"),
            F.max("ended").alias("last"),
        )
        .orderBy("failed", "by", "structure", "queue", "event", "outcome")
        .transform(as_table, RECOVERY_UNITS)
    )


def _recovery_row(record: Mapping[str, Any]) -> Row:
    return (
        record["failed"],
        record["by"],
        record["state"],
        _time(record["detected_ms"]),
        float(record.get("seconds", 0.0)),
        int(record["units_of_work"]),
        int(record["messages"]),
        int(record["claims"]),
    )


def _phase_rows(record: Mapping[str, Any]) -> list[Row]:
    """The phases between the known moments of a recovery. Each has the name of the moment that ends it."""
    moments = [(name, int(record[field])) for name, field in MOMENTS.items() if record.get(field) is not None]
    moments.sort(key=lambda moment: moment[1])
    (first_name, first_ms), *_ = moments
    rows: list[Row] = [(record["failed"], first_name, record["by"], _time(first_ms), 0, 0)]
    for (_, before_ms), (name, ms) in pairwise(moments):
        rows.append((record["failed"], name, record["by"], _time(ms), ms - first_ms, ms - before_ms))
    return rows


def _timeline_rows(recovery: RecoveryTimes) -> list[Row]:
    return [
        (recovery.qmgr, phase.event, phase.by, _time(phase.t_ms), phase.since_failure_ms, phase.duration_ms)
        for phase in recovery.phases
    ]


def _time(ms: float) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
