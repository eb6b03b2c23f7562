"""Sequence: which deliveries broke the order that MQ promises.

Every function takes deliveries (lives with a committed put and a committed get) and gives ``structure``,
``message_number`` and ``why`` for those that are out of sequence.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

#: All rows before this one. A frame that begins at the beginning grows row by row; one that ends at the end
#: would be computed anew for each row.
_BEFORE = (Window.unboundedPreceding, -1)


def deliveries(lives: DataFrame) -> DataFrame:
    """Lives that were put, committed and got."""
    return lives.where(F.col("is_committed") & (F.col("gets") > 0))


def out_of_sequence(delivered: DataFrame) -> DataFrame:
    """All violations; a message that breaks two rules has a row for each."""
    return late_in_group(delivered).unionByName(overtaking(with_lane(delivered)))


def late_in_group(delivered: DataFrame) -> DataFrame:
    """Members of a group that were got from a queue after a later member."""
    before = Window.partitionBy("structure", "queue", "group_id").orderBy("got_at").rowsBetween(*_BEFORE)
    late = F.max("msg_seq_number").over(before) > F.col("msg_seq_number")
    return (
        delivered.where(F.col("group_id").isNotNull())
        .withColumn("is_late", late)
        .where("is_late")
        .select("structure", "message_number", F.lit("got after a later member of its group").alias("why"))
    )


def with_lane(delivered: DataFrame) -> DataFrame:
    """Private queues' deliveries with ``lane``: whose order is defined against each other.

    A shared queue is drained by several consumers at once, so first-in, first-out between them means nothing.
    On a private queue, consumers that were at work at the same time are compared each with itself; one
    that came after another, as after a failure, is compared with it too.
    """
    private = on_private_queues(delivered)
    at_once = queues_with_consumers_at_once(consumers(private))
    by_consumer = F.when(F.col("is_at_once"), F.col("get_owner")).otherwise("")
    return in_lanes(private.join(F.broadcast(at_once), ["structure", "queue"], "left"), by_consumer).drop("is_at_once")


def on_private_queues(delivered: DataFrame) -> DataFrame:
    """Those got from queues of a manager's own."""
    return delivered.where(F.col("structure").startswith("@"))


def in_lanes(private: DataFrame, consumer: Column) -> DataFrame:
    """Add ``lane``, where *consumer* tells apart whose deliveries are not compared with each other."""
    return private.withColumn("lane", F.struct("structure", "queue", "path", "put_qmgr", "priority", consumer))


def consumers(private: DataFrame) -> DataFrame:
    """Who got from each queue, from its ``first_get`` to its ``last_get``."""
    return private.groupBy("structure", "queue", "get_owner").agg(
        F.min("got_at").alias("first_get"), F.max("got_at").alias("last_get")
    )


def queues_with_consumers_at_once(found: DataFrame) -> DataFrame:
    """Queues with ``is_at_once``: one consumer's first get lies before another's last one."""
    by_first = Window.partitionBy("structure", "queue").orderBy("first_get").rowsBetween(*_BEFORE)
    return (
        found.withColumn("overlaps", F.max("last_get").over(by_first) > F.col("first_get"))
        .groupBy("structure", "queue")
        .agg(F.coalesce(F.max("overlaps"), F.lit(False)).alias("is_at_once"))
    )


def overtaking(in_lanes: DataFrame) -> DataFrame:
    """Messages got before one of their lane that had to come first.

    That is one that was committed before they were put; and of the same connection, one that was put before.
    For the latter, puts inside units of work are compared with each other, and so are puts outside: a message
    put outside a unit of work rightly passes one that was put earlier and committed later.
    """
    by_connection = _later_got("lane", "put_owner", F.col("put_unit").isNotNull())
    why = F.when(
        F.min("available_at").over(_later_got("lane")) < F.col("put_at"),
        "got before a message committed before it was put",
    ).when(F.min("put_at").over(by_connection) < F.col("put_at"), "got before a message put before it")
    return in_lanes.select("structure", "message_number", why.alias("why")).where(F.col("why").isNotNull())


def late_in_records(received: DataFrame) -> DataFrame:
    """By a consumer's own record: copies (``correl``, ``path``) got after a later member of their group."""
    group = Window.partitionBy("consumer", "path", "queue", "qmgr", "group")
    late = F.max("seq").over(group.orderBy("order").rowsBetween(*_BEFORE)) > F.col("seq")
    return (
        received.where((F.col("outcome") == "ok") & (F.coalesce("group", F.lit("")) != ""))
        .withColumn("is_late", late)
        .where("is_late")
        .select("correl", "path", F.lit("recorded after a later member of its group").alias("why"))
    )


def _later_got(*partition: object) -> WindowSpec:
    """Rows got after this one, counted from the end."""
    return (
        Window.partitionBy(*partition)  # type: ignore[arg-type]
        .orderBy(F.col("got_at").desc())
        .rowsBetween(*_BEFORE)
    )
