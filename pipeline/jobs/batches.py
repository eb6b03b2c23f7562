"""From journal events to the agents' batches: one row for each transfer, and for each unit of work of an agent."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from pipeline.jobs.lives import TRANSMIT_QUEUE, message_events, unit_ends, with_outcome, with_place


def batches(journal: DataFrame) -> DataFrame:
    """One row a batch that an agent took from the transmission queue.

    ``qmgr``, ``messages``, ``began_ms``, ``ended_ms``, ``outcome`` (delivered, or backed out: the agent could not
    deliver, or died), ``is_recovered`` (a peer ended it). A batch that has not ended has no row.
    """
    return transfers(journal).unionByName(units_of_work(journal))


def transfers(journal: DataFrame) -> DataFrame:
    """Batches that one script moved: an entry of the journal each."""
    ms = F.unix_millis(F.min("time"))
    return (
        journal.where(F.col("event") == "transfer")
        .groupBy("structure", "stream_id", "qmgr")
        .agg(F.count("*").alias("messages"), ms.alias("began_ms"), ms.alias("ended_ms"))
        .withColumns({"outcome": F.lit("delivered"), "is_recovered": F.lit(False)})
        .drop("structure", "stream_id")
    )


def units_of_work(journal: DataFrame) -> DataFrame:
    """Batches that an agent got and put message by message: a unit of work each."""
    events = with_place(journal)
    ends = (
        events.where(F.col("event").isin("commit", "backout"))
        .groupBy("structure", "unit_of_work")
        .agg(F.max("at.ms").alias("ended_ms"))
    )
    got = message_events(events).where((F.col("event") == "get") & (F.col("queue") == TRANSMIT_QUEUE))
    return (
        with_outcome(got.where("unit_of_work IS NOT NULL"), unit_ends(events))
        .where(~F.col("is_open"))
        .join(ends, ["structure", "unit_of_work"])
        .groupBy("unit_of_work", "qmgr")
        .agg(
            F.count("*").alias("messages"),
            F.min("at.ms").alias("began_ms"),
            F.max("ended_ms").alias("ended_ms"),
            F.when(F.max("done_at").isNotNull(), "delivered").otherwise("backed out").alias("outcome"),
            F.max("is_recovered").alias("is_recovered"),
        )
        .drop("unit_of_work")
    )
