"""The journal job: counts of the events that it has stored."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.schemas import JOURNAL_STORED, as_table


def stored_events(journal: DataFrame) -> DataFrame:
    """The number of events of each structure and kind, and the times of the first and the last."""
    return (
        journal.groupBy("structure", "event")
        .agg(F.count("*").alias("events"), F.min("time").alias("first"), F.max("time").alias("last"))
        .orderBy("structure", "event")
        .transform(as_table, JOURNAL_STORED)
    )
