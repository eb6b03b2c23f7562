"""Sequence: which deliveries broke the order that MQ promises.

Every function takes deliveries (lives with a committed put and a committed get) and gives ``structure``,
``message_number`` and why, for those that are out of sequence.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

#: All rows before this one. A frame that begins at the beginning grows row by row; one that ends at the end
#: would be computed anew for each row.
_BEFORE = (Window.unboundedPreceding, -1)


def deliveries(lives: DataFrame) -> DataFrame:
    """Lives that were put, committed and got; but for dead letters, which are worked through by choice."""
    return lives.where(F.col("is_committed") & (F.col("gets") > 0) & ~F.col("is_dead_letter"))


def out_of_sequence(delivered: DataFrame) -> DataFrame:
    """All violations; a message that breaks two rules has a row for each."""
    at_once = queues_with_consumers_at_once(consumers(on_private_queues(delivered)))
    why = F.when(F.col("is_at_once"), F.col("why_shared")).otherwise(F.col("why_alone"))
    overtakers = (
        overtaking(delivered)
        .join(F.broadcast(at_once), ["structure", "queue"], "left")
        .select("structure", "message_number", why.alias("why"))
        .where("why IS NOT NULL")
    )
    return late_in_group(delivered).unionByName(overtakers)


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


def on_private_queues(lives: DataFrame) -> DataFrame:
    """Those on queues of a manager's own."""
    return lives.where(_is_private())


def in_lanes(lives: DataFrame) -> DataFrame:
    """Those whose order is defined against each other, with ``lane``: of one source and priority on one queue.

    Agents of several managers may bring messages to a shared queue: there only what was put on it itself counts. What
    was got by choice neither passes others nor is passed by them.
    """
    return (
        lives.where(_is_private() | (F.col("path") == "shared"))
        .where(~F.col("is_chosen"))
        .withColumn("lane", F.struct("structure", "queue", "path", "put_qmgr", "priority"))
    )


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


def overtaking(delivered: DataFrame) -> DataFrame:
    """Messages got before one of their lane that had to come first: ``queue``, ``why_alone`` and ``why_shared``.

    That is one that was committed before they were put; and of the same connection, one that was put before.
    For the latter, puts inside units of work are compared with each other, and so are puts outside: a message
    put outside a unit of work rightly passes one that was put earlier and committed later.

    ``why_alone`` counts where one consumer got from the queue, or several one after the other. Where they do so at the
    same time, as on each shared queue, a message can rightly be passed while another one has it that backs it out
    later: for ``why_shared``, what was ever backed out is passed by nobody.
    """
    laned = in_lanes(delivered).withColumn("was_there", F.col("backouts") == 0)
    by_lane, by_connection = (
        _later_got("lane"),
        _later_got("lane", "put_owner", F.col("put_unit").isNotNull()),
    )

    def why(is_passed: Column) -> Column:
        committed, put = (F.when(is_passed, F.col(name)) for name in ("applied_at", "put_at"))
        return F.when(
            F.min(committed).over(by_lane) < F.col("put_at"), "got before a message committed before it was put"
        ).when(F.min(put).over(by_connection) < F.col("put_at"), "got before a message put before it")

    return laned.select(
        *("structure", "message_number", "queue"),
        why(_is_private() | F.col("was_there")).alias("why_alone"),
        why(F.col("was_there")).alias("why_shared"),
    ).where("why_alone IS NOT NULL OR why_shared IS NOT NULL")


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


def _is_private() -> Column:
    return F.startswith("structure", F.lit("@"))
