"""Builds the agents' batches from journal events: one row for each transfer and for each unit of work of an agent."""

from __future__ import annotations

from igq.pipeline.engine.frames import DataFrame, F
from igq.pipeline.history.lives import TRANSMIT_QUEUE, message_events, unit_ends, with_outcome, with_place


def batches(journal: DataFrame) -> DataFrame:
    """One row for each batch that an agent took from the transmit queue.

    ``qmgr``, ``messages``, ``dead_letters`` (of these, put on a dead-letter queue), ``began_ms``, ``ended_ms``,
    ``outcome`` (delivered, or backed out: the agent could not deliver, or died), ``is_recovered`` (a peer ended it).
    A batch that has not ended has no row. A batch that a single script moved has no ``began_ms``.
    """
    return transfers(journal).unionByName(units_of_work(journal))


def transfers(journal: DataFrame) -> DataFrame:
    """Batches that one script moved. Each is one entry of the journal."""
    return (
        journal.where(F.col("event") == "transfer")
        .groupBy("structure", "stream_id", "qmgr")
        .agg(F.count("*").alias("messages"), F.unix_millis(F.min("time")).alias("ended_ms"))
        .withColumn("began_ms", F.lit(None).cast("long"))
        .withColumns({"outcome": F.lit("delivered"), "is_recovered": F.lit(False), "dead_letters": F.lit(0)})
        .drop("structure", "stream_id")
    )


def units_of_work(journal: DataFrame) -> DataFrame:
    """Batches that an agent got and put message by message. Each is one unit of work."""
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
        .join(dead_letters(journal), "unit_of_work", "left")
        .withColumn("dead_letters", F.when(F.col("outcome") == "delivered", F.col("dead_letters")))
        .fillna(0, ["dead_letters"])
        .drop("unit_of_work")
    )


def dead_letters(journal: DataFrame) -> DataFrame:
    """The number of dead letters that each unit of work has put. Undone puts do not count."""
    puts, undone = (journal.where(F.col("event") == event) for event in ("put", "undo"))
    dead = puts.where(F.col("dead_letter") & F.col("unit_of_work").isNotNull())
    stay = dead.join(undone.select("structure", "message_number"), ["structure", "message_number"], "left_anti")
    return stay.groupBy("unit_of_work").agg(F.count("*").alias("dead_letters"))
