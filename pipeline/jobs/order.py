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
    return late_in_group(delivered).unionByName(late_in_lane(delivered))


def late_in_group(delivered: DataFrame, forgotten: DataFrame | None = None) -> DataFrame:
    """Members of a group that were got after a later member which somebody got in logical order.

    Where members are got as they stand on the queue, `late_in_lane` has them. Of several later members the last one
    counts: behind a group whose GroupId was used before, that can be one of the former.

    Args:
        forgotten: later members of which only that is known: ``structure``, ``queue``, ``group_id``,
            ``msg_seq_number``, ``got_at``.
    """
    group = Window.partitionBy("structure", "queue", "group_id").orderBy("got_at").rowsBetween(*_BEFORE)
    members = delivered.where(F.col("group_id").isNotNull()).select(
        *("structure", "queue", "group_id", "message_number", "msg_seq_number", "got_at", "is_logical"),
        *("applied_at", "returned_at"),
    )
    if forgotten is not None:
        got = forgotten.withColumn("is_logical", F.lit(True))
        members = members.unionByName(got, allowMissingColumns=True)
    later = F.max(F.when(F.col("is_logical"), F.struct("msg_seq_number", "got_at"))).over(group)
    return (
        members.withColumn("later", later)
        .where((F.col("later.msg_seq_number") > F.col("msg_seq_number")) & _was_there(F.col("later.got_at")))
        .where("message_number IS NOT NULL")
        .select("structure", "message_number", F.lit("got after a later member of its group").alias("why"))
    )


def in_lanes(lives: DataFrame) -> DataFrame:
    """Those whose order is defined against each other, with ``lane``: of one source and priority on one queue.

    Agents of several managers may bring messages to a shared queue: of those only the members of a group are compared.
    What was got by choice neither passes others nor is passed by them.
    """
    is_private = F.startswith("structure", F.lit("@"))
    is_brought = ~is_private & (F.col("path") != "shared")
    brought_group = F.when(is_brought, F.col("group_id")).alias("group_id")
    return (
        lives.where(~is_brought | F.col("group_id").isNotNull())
        .where(~F.col("is_chosen"))
        .withColumn("lane", F.struct("structure", "queue", "path", "put_qmgr", "priority", brought_group))
    )


def late_in_lane(delivered: DataFrame) -> DataFrame:
    """Messages that were there, and were passed by one of their lane that had to come later.

    That is one that was put after they were committed; or in the same unit of work, one that it put after them. Of all
    that were got before them the one counts that was put last. Who was away then, in a unit of work that was backed out
    later, was not passed.
    """
    by_lane, by_unit = _got_before("lane"), _got_before("lane", "put_unit")

    origin = F.coalesce("hop_structure", "structure")

    def is_passed(by: WindowSpec, since: str) -> Column:
        last = F.max(F.struct("put_at", "got_at", origin.alias("origin"))).over(by)
        # Between two structures only the milliseconds tell.
        is_later = (last["put_at"] > F.col(since)) & (
            (last["origin"] == origin) | (last["put_at"]["ms"] > F.col(since)["ms"])
        )
        return is_later & _had_come_back(last["got_at"])

    why = F.when(is_passed(by_lane, "applied_at"), "got after a message put when it was committed").when(
        F.col("put_unit").isNotNull() & is_passed(by_unit, "put_at"),
        "got after a message that its unit of work put after it",
    )
    return in_lanes(delivered).select("structure", "message_number", why.alias("why")).where("why IS NOT NULL")


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


def _got_before(*partition: str) -> WindowSpec:
    return Window.partitionBy(*partition).orderBy("got_at").rowsBetween(*_BEFORE)


def _had_come_back(moment: Column) -> Column:
    return F.col("returned_at").isNull() | (F.col("returned_at") < moment)


def _was_there(moment: Column) -> Column:
    """Whether a message was on its queue at that place of its structure's journal, before it was got."""
    return (F.col("applied_at") < moment) & _had_come_back(moment)
