"""The journal job: what it has stored."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.schemas import JOURNAL_STORED, as_table


def stored_events(journal: DataFrame) -> DataFrame:
    """How many events of each kind there are of each structure, and from when to when."""
    return (
        journal.groupBy("structure", "event")
        .agg(F.count("*").alias("events"), F.min("time").alias("first"), F.max("time").alias("last"))
        .orderBy("structure", "event")
        .transform(as_table, JOURNAL_STORED)
    )
