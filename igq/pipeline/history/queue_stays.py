"""Builds stays from journal events: one row for each message on each queue, from its arrival to its leaving."""

from __future__ import annotations

from igq.pipeline.engine.frames import DataFrame, F
from igq.pipeline.history.lives import message_events, unit_ends, with_outcome, with_place

#: Events by which a message arrives on a queue, and by which it leaves one. A return undoes the leaving.
_ARRIVALS, _LEAVINGS = ("put", "transfer", "return"), ("get", "transfer", "expire", "clear")


def queue_events(journal: DataFrame) -> DataFrame:
    """Events that took effect on queues: ``at_queue``, ``arrives`` (or leaves), the time (``ms``) and the message.

    A put or a get in a unit of work takes effect with the commit. One that was backed out or is open has no effect. A
    transfer makes two rows: the message leaves one queue and arrives on another.
    """
    events = with_place(journal)
    done = with_outcome(message_events(events), unit_ends(events)).where("done_at IS NOT NULL")
    done = done.withColumn("ms", F.col("done_at.ms"))
    arriving = done.where(F.col("event").isin(*_ARRIVALS)).select(
        "*", F.coalesce("target_queue", "queue").alias("at_queue"), F.lit(True).alias("arrives")
    )
    leaving = done.where(F.col("event").isin(*_LEAVINGS)).select(
        "*", F.col("queue").alias("at_queue"), F.lit(False).alias("arrives")
    )
    return arriving.unionByName(leaving)


def stays(journal: DataFrame) -> DataFrame:
    """One row for each message and queue.

    ``arrived_ms`` and ``arrived_by`` (put or transfer) are null if the arrival is older than the journal; ``left_ms``
    and ``left_by`` (get, transfer, expire, clear) are null while the message is there. ``put_qmgr`` and ``get_qmgr``
    are the managers of the program or agent. ``is_dead_letter``: it was put there with a dead-letter header.
    """
    arrives = F.col("arrives")
    arrival = F.struct(F.col("ms"), F.col("event"), F.col("qmgr"), F.col("length"))
    leaving = F.max(F.when(~arrives, F.struct("done_at", "ms", "event", "qmgr")))
    returned_at = F.max(F.when(F.col("event") == "return", F.col("done_at")))
    is_back = F.coalesce(returned_at > leaving["done_at"], F.lit(False))
    return (
        queue_events(journal)
        .groupBy("structure", "message_number", F.col("at_queue").alias("queue"))
        .agg(
            F.min(F.when(arrives, arrival)).alias("arrival"),
            F.when(~is_back, leaving).alias("leaving"),
            F.max("is_recovered").alias("is_recovered"),
            F.coalesce(F.max(F.when(arrives, F.col("dead_letter"))), F.lit(False)).alias("is_dead_letter"),
        )
        .select(
            *("structure", "message_number", "queue"),
            F.col("arrival.ms").alias("arrived_ms"),
            F.col("arrival.event").alias("arrived_by"),
            F.col("arrival.qmgr").alias("put_qmgr"),
            F.col("arrival.length").alias("length"),
            F.col("leaving.ms").alias("left_ms"),
            F.col("leaving.event").alias("left_by"),
            F.col("leaving.qmgr").alias("get_qmgr"),
            *("is_recovered", "is_dead_letter"),
        )
    )
