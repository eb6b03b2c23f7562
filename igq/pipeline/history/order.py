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
    """Members of a group that were got after one that was put after them and somebody got in logical order.

    Where members are got as they stand on the queue, `late_in_lane` has them. Of several later members the last one
    counts: behind a group whose GroupId was used before, that can be one of the former.

    Args:
        forgotten: later members of which only that is known: ``structure``, ``queue``, ``group_id``,
            ``msg_seq_number``, ``got_at``, ``put_at``.
    """
    members = judged_at(
        delivered.where(F.col("group_id").isNotNull()),
        *("queue", "group_id", "msg_seq_number", "put_at", "applied_at"),
        F.when(F.col("is_logical"), F.struct("msg_seq_number", "got_at", "put_at")).alias("later"),
    ).withColumn("later", F.when(F.col("is_get"), F.col("later")))
    if forgotten is not None:
        later = F.struct("msg_seq_number", "got_at", "put_at").alias("later")
        got = forgotten.select("structure", "queue", "group_id", F.col("got_at").alias("at"), later)
        members = members.unionByName(got, allowMissingColumns=True)
    return (
        members.withColumn("later", F.max("later").over(_before("structure", "queue", "group_id")))
        .where((F.col("later.msg_seq_number") > F.col("msg_seq_number")) & (F.col("later.put_at") > F.col("put_at")))
        .where((F.col("applied_at") < F.col("later.got_at")) & _had_come_back(F.col("later.got_at")))
        .select("structure", "message_number", F.lit("got after a later member of its group").alias("why"))
    )


def judged_at(delivered: DataFrame, *columns: str | Column) -> DataFrame:
    """Each message ``at`` its get (``is_get``); and one that came back from a get before, also at the first of those.

    ``back_at``: since when it had been on its queue then; null for since it was committed. Beside these the *columns*:
    what is judged is sorted and held in memory, the messages of a queue at a time, so it must be narrow.
    """
    never = F.when(F.lit(False), F.col("got_at"))
    got = F.struct(F.lit(True).alias("is_get"), F.col("got_at").alias("at"), F.col("returned_at").alias("back_at"))
    taken = F.struct(F.lit(False).alias("is_get"), F.col("taken_at").alias("at"), never.alias("back_at"))
    both = F.when(F.col("returned_at").isNull(), F.array(got)).otherwise(F.array(got, taken))
    return delivered.select("structure", "message_number", *columns, F.inline(both))


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
    # Between two structures only the milliseconds tell.
    origin = F.xxhash64(F.coalesce("hop_structure", "structure"))
    laned = judged_at(in_lanes(delivered), "lane", "put_unit", "put_at", "applied_at", origin.alias("origin"))
    # What is no get is no passer: of several, those that are come last.
    this = F.struct("is_get", "put_at", "at", "origin")
    rows = laned.select("structure", "message_number", "lane", "put_unit", "applied_at", "back_at", this.alias("this"))

    def is_passed(since: Column, *among: str) -> Column:
        last = F.max("this").over(Window.partitionBy(*among).orderBy("this.at").rowsBetween(*_BEFORE))
        is_later = (last["put_at"] > since) & (
            (last["origin"] == F.col("this.origin")) | (last["put_at"]["ms"] > since["ms"])
        )
        return last["is_get"] & is_later & _had_come_back(last["at"])

    why = F.when(is_passed(F.col("applied_at"), "lane"), "got after a message put when it was committed").when(
        F.col("put_unit").isNotNull() & is_passed(F.col("this.put_at"), "lane", "put_unit"),
        "got after a message that its unit of work put after it",
    )
    return rows.select("structure", "message_number", why.alias("why")).where("why IS NOT NULL").distinct()


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


def _before(*partition: str) -> WindowSpec:
    return Window.partitionBy(*partition).orderBy("at").rowsBetween(*_BEFORE)


def _had_come_back(moment: Column) -> Column:
    return F.col("back_at").isNull() | (F.col("back_at") < moment)
