"""Finds deliveries that broke the order that MQ promises.

Every function takes deliveries (lives with a committed put and a committed get) and returns ``structure``,
``message_number`` and ``why`` for those that are out of sequence.
"""

from __future__ import annotations

from igq.pipeline.engine.frames import Column, DataFrame, F, Window, WindowSpec

#: All rows before this one. A frame that begins at the beginning grows row by row; one that ends at the end
#: would be computed anew for each row.
_BEFORE = (Window.unboundedPreceding, -1)


def deliveries(lives: DataFrame) -> DataFrame:
    """Lives that were put, committed and got. Dead letters are left out: they are processed in any order."""
    return lives.where(F.col("is_committed") & (F.col("gets") > 0) & ~F.col("is_dead_letter"))


def out_of_sequence(delivered: DataFrame) -> DataFrame:
    """All violations. A message that breaks two rules has two rows."""
    return late_in_group(delivered).unionByName(late_in_lane(delivered))


def late_in_group(delivered: DataFrame, forgotten: DataFrame | None = None) -> DataFrame:
    """Members of a group that were got after a member that was put later and was got in logical order.

    `late_in_lane` finds members that are got in the order of the queue. If there are several later members, the last
    one counts. If a GroupId was used before, it can be a member of the former group.

    Args:
        forgotten: later members of forgotten lives: ``structure``, ``queue``, ``group_id``, ``msg_seq_number``,
            ``got_at``, ``put_at``.
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
    """Each message ``at`` its get (``is_get``). A message that came back from an earlier get also has a row at that.

    ``back_at``: since when it was on its queue by then; null for since its commit. The rows also have the *columns*.
    Keep these few: Spark sorts the messages of a queue in memory.
    """
    never = F.when(F.lit(False), F.col("got_at"))
    got = F.struct(F.lit(True).alias("is_get"), F.col("got_at").alias("at"), F.col("returned_at").alias("back_at"))
    taken = F.struct(F.lit(False).alias("is_get"), F.col("taken_at").alias("at"), never.alias("back_at"))
    both = F.when(F.col("returned_at").isNull(), F.array(got)).otherwise(F.array(got, taken))
    each = delivered.select("structure", "message_number", *columns, F.explode(both).alias("each"))
    return each.withColumns({name: F.col(f"each.{name}") for name in ("is_get", "at", "back_at")}).drop("each")


def in_lanes(lives: DataFrame) -> DataFrame:
    """Add ``lane`` (one source and priority on one queue): messages of a lane have a defined order.

    Agents of several managers may bring messages to a shared queue. Only members of a group are compared among those.
    A message that was got by choice passes no other, and no other passes it: it has no row.
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
    """Messages that were on their queue when a message of their lane that had to come later passed them.

    The passing message was put after they were committed, or after them in the same unit of work. Among all messages
    got before them, the one that was put last counts. A message that was in a unit of work at that moment, which was
    backed out later, was not passed.
    """
    # Places of two structures can be compared by milliseconds only.
    origin = F.xxhash64(F.coalesce("hop_structure", "structure"))
    laned = judged_at(in_lanes(delivered), "lane", "put_unit", "put_at", "applied_at", origin.alias("origin"))
    # Only a get can pass a message. Sort gets after other rows of the same place.
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
    """Copies (``correl``, ``path``) that a consumer, by its own record, got after a later member of their group."""
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
