"""Finds the lives that are over and can be forgotten, and what must be remembered of them.

A life is over when its put and its end are decided. It is kept for some time after that if a message that is
still open could show that it was out of sequence, or could be its other half (an agent's hop by get and put).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.history.lives import TRANSMIT_QUEUE
from igq.pipeline.history.order import in_lanes, late_in_group, late_in_lane

#: Structures are read one after the other. A structure may have been read so many milliseconds later than another.
SKEW_MS = 2_000

_MESSAGE = ["structure", "message_number"]
_UNIT = ["structure", "unit_of_work"]


def admitted(known: DataFrame, batch: DataFrame, last_numbers: Mapping[str, tuple[int, int]]) -> DataFrame:
    """Add the events of a new batch to the open events.

    ``was_over`` marks what happens to a message whose put is neither in the batch nor known any more: it was forgotten.

    Args:
        last_numbers: structure -> the first message whose put was seen, and the last one before this batch.
    """
    first, last = (by_structure({name: pair[at] for name, pair in last_numbers.items()}) for at in (0, 1))
    is_between = (F.col("message_number") >= first) & (F.col("message_number") <= last)
    still_open = known.where(~F.col("was_over")).select(*_MESSAGE).distinct().withColumn("is_known", F.lit(True))
    is_unknown = (F.col("event") != "put") & F.coalesce(is_between, F.lit(False)) & F.col("is_known").isNull()
    new = batch.join(still_open, _MESSAGE, "left").withColumn("was_over", is_unknown)
    return known.unionByName(new.select(*known.columns))


def pending_messages(events: DataFrame, old_ms: int) -> DataFrame:
    """Messages in a unit of work that has not ended or is not carried out completely; ``get_pending``: the get in it.

    Args:
        old_ms: units that ended before this time count as carried out.
    """
    in_unit = F.col("unit_of_work").isNotNull()
    parts = events.where(in_unit & F.col("message_number").isNotNull())
    ends = (
        events.where(F.col("event").isin("commit", "backout"))
        .groupBy(*_UNIT)
        .agg(F.sum("messages").alias("carried_out"), F.max("at.ms").alias("ended_ms"))
    )
    is_whole = (F.col("carried_out") >= F.col("parts")) | (F.col("ended_ms") < old_ms)
    unfinished = (
        parts.groupBy(*_UNIT)
        # A message whose put was undone has two rows: its put and the undo.
        .agg(F.sum(F.when(F.col("event") == "undo", -1).otherwise(1)).alias("parts"))
        .where("parts > 0")
        .join(ends, _UNIT, "left")
        .where(~F.coalesce(is_whole, F.lit(False)))
        .select(*_UNIT)
    )
    return (
        parts.join(unfinished, _UNIT)
        .groupBy(*_MESSAGE)
        .agg(
            F.lit(True).alias("is_pending"),
            F.max(F.when(F.col("event").isin("get", "expire"), F.col("unit_of_work"))).alias("get_pending"),
        )
    )


def with_ends(lives: DataFrame, pending: DataFrame, first_numbers: Mapping[str, int]) -> DataFrame:
    """Add ``is_pending``, ``get_pending`` and ``is_ended``: nothing more can happen. A wrong life never ends."""
    ends, was_put = F.col("gets") + F.col("expiries"), F.col("put_at").isNotNull()
    is_older = ~was_put & F.coalesce(F.col("message_number") < by_structure(first_numbers), F.lit(False))
    is_decided = (
        (F.col("is_committed") & (ends > 0))
        | (was_put & ~F.col("is_committed") & (ends == 0))
        | (is_older & (ends > 0))
    )
    return (
        lives.join(pending, _MESSAGE, "left")
        .fillna(False, ["is_pending"])
        .withColumn("is_ended", is_decided & ~F.col("is_pending"))
    )


def with_over(ended: DataFrame, newest_ms: int, remember_ms: int, *, has_hops: bool) -> DataFrame:
    """Add ``is_over``: the life has ended, and no open message can change its verdict any more.

    Args:
        newest_ms: time of the latest event.
        remember_ms: how long a life is kept to judge open ones.
    """
    delivered = ended.where(F.col("is_ended") & F.col("is_committed") & (F.col("gets") > 0))
    concerned = [
        _concerned_in_group(ended, delivered),
        _concerned_in_lane(ended, delivered),
        _concerned_in_unit(ended, delivered),
        _concerned_by_getter(ended, delivered),
        _perhaps_second_half(delivered, newest_ms),
    ]
    concerned += [_first_half(delivered), _in_open_unit(ended, delivered)] if has_hops else []
    busy = reduce(DataFrame.unionByName, concerned).distinct().withColumn("is_busy", F.lit(True))
    is_old = F.coalesce(F.col("delivered_at.ms") < newest_ms - remember_ms, F.lit(False))
    return (
        ended.join(busy, _MESSAGE, "left")
        .withColumn("is_over", F.col("is_ended") & (F.col("is_busy").isNull() | is_old))
        .drop("is_busy")
    )


def late(delivered: DataFrame, marks: DataFrame) -> DataFrame:
    """Messages out of sequence, one row each: those of `order.out_of_sequence`, and those that were known before."""
    got = marks.where("kind = 'group'").select(
        *("structure", "queue", F.col("name").alias("group_id"), F.col("number").cast("int").alias("msg_seq_number")),
        *(F.col("last").alias("got_at"), F.col("put").alias("put_at")),
    )
    known = marks.where("kind = 'late'").select("structure", F.col("number").alias("message_number"), "why")
    found = late_in_group(delivered, got).unionByName(late_in_lane(delivered)).unionByName(known)
    return found.groupBy(*_MESSAGE).agg(F.min("why").alias("why"))


def by_structure(values: Mapping[str, int]) -> Column:
    """The value for a row's structure; null if there is none."""
    if not values:
        return F.lit(None).cast("long")
    return F.create_map(*(F.lit(each) for pair in values.items() for each in pair))[F.col("structure")]


def _concerned_in_group(ended: DataFrame, delivered: DataFrame) -> DataFrame:
    """Deliveries of a group with a member that is being got: that get may prove to be earlier."""
    being_got = ended.where(F.col("get_pending").isNotNull() & F.col("group_id").isNotNull())
    groups = being_got.select("structure", "group_id").distinct()
    return delivered.join(groups, ["structure", "group_id"]).select(*_MESSAGE)


def _concerned_in_lane(ended: DataFrame, delivered: DataFrame) -> DataFrame:
    """Deliveries put after the commit of an open message of their queue: they passed it if it is got later."""
    return _put_after(ended, delivered, F.when(F.col("is_committed"), F.col("available_at")), "put_qmgr")


def _concerned_in_unit(ended: DataFrame, delivered: DataFrame) -> DataFrame:
    """Deliveries put after an open message of their queue by the same unit of work."""
    return _put_after(ended, delivered, F.col("put_at"), "put_unit")


def _put_after(ended: DataFrame, delivered: DataFrame, place: Column, source: str) -> DataFrame:
    """Deliveries put after *place* of an open message of their lane, which they may have passed."""
    waiting = (
        in_lanes(ended)
        .where(~F.col("is_ended") & F.col("put_at").isNotNull())
        .groupBy("structure", "queue", source, "priority")
        .agg(F.min(place).alias("earliest"))
    )
    # A message on the transmit queue may arrive on any other queue.
    on_the_way = waiting.where(F.col("queue") == TRANSMIT_QUEUE).drop("queue")
    laned = in_lanes(delivered)
    here, anywhere = (
        laned.join(waiting, ["structure", "queue", source, "priority"]),
        laned.join(on_the_way, ["structure", source, "priority"]),
    )
    found = (joined.where(F.col("earliest") < F.col("put_at")).select(*_MESSAGE) for joined in (here, anywhere))
    return reduce(DataFrame.unionByName, found)


def _concerned_by_getter(ended: DataFrame, delivered: DataFrame) -> DataFrame:
    """Deliveries put before a message of their lane that is being got: that get may prove to be earlier."""
    lane = ["structure", "queue", "put_qmgr", "priority"]
    being_got = in_lanes(ended.where(F.col("get_pending").isNotNull())).groupBy(*lane)
    joined = in_lanes(delivered).join(being_got.agg(F.max("put_at").alias("latest")), lane)
    return joined.where(F.col("put_at") < F.col("latest")).select(*_MESSAGE)


def _first_half(delivered: DataFrame) -> DataFrame:
    """Messages that an agent got from the transmit queue, until its put is seen. Then both are one life."""
    is_got = (F.col("get_queue") == TRANSMIT_QUEUE) & F.col("get_unit").isNotNull()
    return delivered.where(is_got).select(*_MESSAGE)


def _in_open_unit(ended: DataFrame, delivered: DataFrame) -> DataFrame:
    """Messages put by a unit of work whose end is not seen in every structure yet."""
    units = F.explode(F.array("put_unit", "get_unit", "get_pending")).alias("unit")
    open_units = ended.where("is_pending").select(units).distinct()
    return delivered.join(open_units, F.col("put_unit") == F.col("unit"), "left_semi").select(*_MESSAGE)


def _perhaps_second_half(delivered: DataFrame, newest_ms: int) -> DataFrame:
    """Recent puts whose MsgId has another message's number: possibly by an agent whose get is not seen yet."""
    own = F.lower(F.lpad(F.hex("message_number"), 12, "0"))
    is_passed_on = F.col("put_unit").isNotNull() & (F.substring("msg_id", -12, 12) != own)
    return delivered.where(is_passed_on & (F.col("delivered_at.ms") > newest_ms - SKEW_MS)).select(*_MESSAGE)
