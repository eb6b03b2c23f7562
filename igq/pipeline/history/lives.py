"""Builds message lives from journal events: one row for each message, from its committed put to its committed get.

A place in a journal is ``(ms, seq, position)``: the stream id as numbers, then the place within the entry. Within one
structure, places have the order in which Redis executed the calls.
"""

from __future__ import annotations

from igq.pipeline.engine.frames import Column, DataFrame, F, Window, shortened

#: Messages for another manager travel through this queue. A get from it is made by an agent and is no delivery.
TRANSMIT_QUEUE = "SYSTEM.QSG.TRANSMIT.QUEUE"


#: Columns of a life's beginning. If an agent moved the message, they come from the first half of its life.
_BEGUN = ("put_at", "available_at", "applied_at", "put_qmgr", "put_owner", "put_unit")
#: Columns from a message's put, and from the get that counts.
_PUT = (
    *("put_at", "available_at", "applied_at", "put_qmgr", "put_owner", "put_unit", "put_queue", "is_put_open"),
    *("msg_id", "correl_id", "group_id", "msg_seq_number", "priority"),
)
_GET = ("got_at", "delivered_at", "get_qmgr", "get_owner", "get_unit", "get_queue")
#: Columns of events that are true for a life if they are true for one of its events.
_MARKS = ("chosen", "logical", "dead_letter")


def message_lives(journal: DataFrame, *, has_hops: bool = True) -> DataFrame:
    """Every message of the journal in one row. `summarize_messages` and `name_path` name the columns.

    Args:
        has_hops: False if no message was got from the transmit queue, which saves two joins.
    """
    events = shortened(with_place(journal))
    outcomes = shortened(with_outcome(message_events(events), unit_ends(events)))
    return name_path(join_hops(shortened(summarize_messages(outcomes)), has_hops=has_hops))


def with_place(journal: DataFrame) -> DataFrame:
    """Add ``at``, the place of the event in the structure's journal."""
    ms, seq = (F.split_part("stream_id", F.lit("-"), F.lit(part)).cast("long") for part in (1, 2))
    return journal.withColumn("at", F.struct(ms.alias("ms"), seq.alias("seq"), "position"))


def message_events(events: DataFrame) -> DataFrame:
    """The events of single messages: all except the ends of units of work."""
    return events.where(F.col("message_number").isNotNull())


def unit_ends(events: DataFrame) -> DataFrame:
    """The end of each unit of work in each structure, whether a peer ended it, and whether it was prepared.

    A large unit is applied in several chunks, each with an event. The first chunk is the decision. With the last one
    the unit is complete (``applied_at``, ``backed_out_at``).
    """
    return (
        events.where(F.col("event").isin("prepare", "commit", "backout"))
        .groupBy("structure", "unit_of_work")
        .agg(
            F.max(F.col("event") == "prepare").alias("is_prepared"),
            F.min(F.when(F.col("event") == "commit", F.col("at"))).alias("committed_at"),
            F.max(F.when(F.col("event") == "commit", F.col("at"))).alias("applied_at"),
            F.max(F.when(F.col("event") == "backout", F.col("at"))).alias("backed_out_at"),
            # Null if it has not ended.
            F.max(F.when(F.col("event") != "prepare", F.col("recovered"))).alias("ended_by_peer"),
        )
    )


def with_outcome(events: DataFrame, ends: DataFrame) -> DataFrame:
    """Add ``done_at`` (when the event took effect, or null), ``is_open``, ``is_in_doubt`` and ``is_recovered``.

    A put that was undone, because the rest of its MQPUT was refused, has no effect, however its unit of work ends. Its
    undo is not an event of its own here.
    """
    is_undo, is_outside = F.col("event") == "undo", F.col("unit_of_work").isNull()
    undone = events.where(is_undo).select("structure", "message_number", F.lit(True).alias("is_undone"))
    stands = F.col("is_undone").isNull()
    return (
        events.where(~is_undo)
        .join(ends, ["structure", "unit_of_work"], "left")
        .join(F.broadcast(undone), ["structure", "message_number"], "left")
        .withColumn("done_at", F.when(is_outside, F.col("at")).when(stands, F.col("committed_at")))
        .withColumn("applied_at", F.when(is_outside, F.col("at")).when(stands, F.col("applied_at")))
        .withColumn("is_open", ~is_outside & stands & F.col("ended_by_peer").isNull())
        .withColumn("is_in_doubt", F.col("is_open") & F.coalesce("is_prepared", F.lit(False)))
        .withColumn("is_recovered", F.col("recovered") | F.coalesce("ended_by_peer", F.lit(False)))
        .drop("is_undone", "is_prepared")
    )


def summarize_messages(events: DataFrame) -> DataFrame:
    """One row for each message of a structure.

    From its put: ``put_at``, ``available_at`` (null: never committed), ``applied_at`` (by then certainly available),
    ``put_qmgr``, ``put_owner``, ``put_unit``, ``put_queue``, the identifiers, ``priority``. Of its first committed get:
    ``got_at``, ``delivered_at``, ``get_qmgr``, ``get_owner``, ``get_unit``, ``get_queue``.
    Counts: ``gets`` (committed), ``backouts``, ``open_gets``, ``transfers``, ``expiries`` (expired, or cleared by an
    operator) and ``clears`` (these alone).
    ``target_queue`` is where its last transfer brought it, ``open_unit`` a unit of work that has not ended;
    ``is_in_doubt``: that is prepared;
    ``is_chosen``: a get asked for it, or passed over what is not whole; ``is_logical``: as the next one of its group;
    ``is_dead_letter``: it has that header; ``returned_at``: when it last came back from a get;
    ``taken_at``: of the first one.
    """
    return (
        events.groupBy("structure", "message_number")
        .agg(
            # A message's id never changes, and it is put once: the smallest is the only one.
            F.min("message_id").alias("message_id"),
            F.min(F.when(_is("put"), _the_put())).alias("put"),
            _get_that_counts().alias("get"),
            F.max(F.when(_is("transfer"), F.struct("at", "target_queue"))).alias("transfer"),
            F.max(F.when(F.col("is_open"), F.col("unit_of_work"))).alias("open_unit"),
            F.max("is_in_doubt").alias("is_in_doubt"),
            *(F.coalesce(F.max(mark), F.lit(False)).alias(f"is_{mark}") for mark in _MARKS),
            F.min(F.when(_is_leaving(), F.col("at"))).alias("taken_at"),
            F.max(F.when(_is_returned(), F.coalesce("backed_out_at", "at"))).alias("returned_at"),
            F.max("is_recovered").alias("is_recovered"),
            *_how_often(),
        )
        .withColumns(
            {name: F.col(f"put.{name}") for name in _PUT}
            | {name: F.col(f"get.{name}") for name in _GET}
            | {"target_queue": F.col("transfer.target_queue")}
        )
        .drop("put", "get", "transfer")
    )


def _is(*events: str) -> Column:
    return F.col("event").isin(*events)


def _the_put() -> Column:
    return F.struct(
        F.col("at").alias("put_at"),
        F.col("done_at").alias("available_at"),
        "applied_at",
        F.col("qmgr").alias("put_qmgr"),
        F.col("owner").alias("put_owner"),
        F.col("unit_of_work").alias("put_unit"),
        F.col("queue").alias("put_queue"),
        F.col("is_open").alias("is_put_open"),
        *("msg_id", "correl_id", "group_id", "msg_seq_number", "priority"),
    )


def _get_that_counts() -> Column:
    """The first committed get; or the last one, if the message came back from a getter that died before it had it."""
    get = F.struct(
        F.col("at").alias("got_at"),
        F.col("done_at").alias("delivered_at"),
        F.col("qmgr").alias("get_qmgr"),
        F.col("owner").alias("get_owner"),
        F.col("unit_of_work").alias("get_unit"),
        F.col("queue").alias("get_queue"),
    )
    done_get = F.when(_is("get") & F.col("done_at").isNotNull(), get)
    return F.when(F.count_if(_is("return")) > 0, F.max(done_get)).otherwise(F.min(done_get))


def _is_leaving() -> Column:
    return _is("get", "expire", "clear")


def _is_returned() -> Column:
    """Whether the event took the message off its queue and it came back."""
    return (_is_leaving() & F.col("done_at").isNull() & ~F.col("is_open")) | _is("return")


def _how_often() -> list[Column]:
    """Counts of a message's events. A message that expires with a report is taken in a unit of work."""
    done, is_open = F.col("done_at").isNotNull(), F.col("is_open")
    return [
        (F.count_if(_is("get") & done) - F.count_if(_is("return"))).alias("gets"),
        F.count_if(_is_returned()).alias("backouts"),
        F.count_if(_is_leaving() & is_open).alias("open_gets"),
        F.count_if(_is("expire", "clear") & done).alias("expiries"),
        F.count_if(_is("clear") & done).alias("clears"),
        F.count_if(_is("transfer")).alias("transfers"),
    ]


def join_hops(lives: DataFrame, *, has_hops: bool = True) -> DataFrame:
    """Join the two lives of a message that an agent delivered by get and put.

    If the transfer script cannot move a message, the agent gets it from the transmit queue and puts it, with the same
    MsgId, on its destination in one unit of work. The joined life begins with the put of the first life, which
    ``hop_structure`` and ``hop_number`` name.
    """
    if not has_hops:
        no_hop = {"is_hopped": F.lit(False), "hop_structure": F.lit(None).cast("string")}
        return lives.withColumns(no_hop | {"hop_number": F.lit(None).cast("long")})
    hops = shortened(_hops(lives))
    joined = lives.join(hops, ["structure", "message_number"], "left").withColumn(
        "is_hopped", F.col("hop_number").isNotNull()
    )
    passed_on = hops.select(F.col("hop_structure").alias("structure"), F.col("hop_number").alias("message_number"))
    # A second life that was never committed has no hop: the agent's unit of work was backed out.
    replaced = {name: F.when(F.col("is_hopped"), F.col(f"hop_{name}")).otherwise(F.col(name)) for name in _BEGUN}
    return (
        joined.withColumns(replaced)
        .withColumn("is_recovered", F.col("is_recovered") | F.coalesce("hop_recovered", F.lit(False)))
        .join(passed_on, ["structure", "message_number"], "left_anti")
        .select(*lives.columns, "is_hopped", "hop_structure", "hop_number")
    )


def _hops(lives: DataFrame) -> DataFrame:
    """Second lives with the beginning of their first life (``hop_...``).

    If messages of one unit of work have the same identifiers, the first one got is the first one put.
    """
    is_hop_get = (F.col("get_queue") == TRANSMIT_QUEUE) & (F.col("gets") == 1) & F.col("get_unit").isNotNull()
    is_hop_put = F.col("put_unit").isNotNull() & (F.coalesce("put_queue", F.lit("")) != TRANSMIT_QUEUE)
    first = lives.where(is_hop_get).select(
        *(F.col(name).alias(f"hop_{name}") for name in ("msg_id", "correl_id", "structure", *_BEGUN)),
        F.col("get_unit").alias("hop_unit"),
        F.col("message_number").alias("hop_number"),
        F.col("is_recovered").alias("hop_recovered"),
        F.struct("got_at", "structure", "message_number").alias("hop_got"),
    )
    second = lives.where(is_hop_put).select(
        *("structure", "message_number", "put_unit", "msg_id", "correl_id"),
        F.struct("put_at", "structure", "message_number").alias("hop_put"),
    )
    same = (F.col("put_unit") == F.col("hop_unit")) & (F.col("msg_id") == F.col("hop_msg_id"))
    alike = Window.partitionBy("hop_unit", "msg_id", "correl_id")
    return (
        second.join(first, same & F.col("correl_id").eqNullSafe(F.col("hop_correl_id")))
        .withColumn("got", F.dense_rank().over(alike.orderBy("hop_got")))
        .withColumn("put", F.dense_rank().over(alike.orderBy("hop_put")))
        .where("got = put")
        .drop("got", "put")
        .drop("put_unit", "msg_id", "correl_id", "hop_unit", "hop_msg_id", "hop_correl_id", "hop_got", "hop_put")
    )


def name_path(lives: DataFrame) -> DataFrame:
    """Add ``path`` (igq, shared or private), ``queue`` (where the message can be got) and ``is_committed``."""
    is_igq = (F.col("put_queue") == TRANSMIT_QUEUE) | (F.col("transfers") > 0) | F.col("is_hopped")
    is_private = F.col("structure").startswith("@")
    path = F.when(is_igq, "igq").when(is_private, "private").otherwise("shared")
    return (
        lives.withColumn("path", path)
        .withColumn("queue", F.coalesce("get_queue", "target_queue", "put_queue"))
        .withColumn("is_committed", F.col("available_at").isNotNull())
    )


def milliseconds(place: str) -> Column:
    """The time of a place in a journal, milliseconds since 1970."""
    return F.col(f"{place}.ms")
