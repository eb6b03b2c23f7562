"""The flow job: the messages that went through each queue, minute by minute, how long they stayed and how many lay
there; and the batches of the agents.
"""

from __future__ import annotations

from igq.pipeline.engine.frames import Column, DataFrame, F, Window, as_table, percentiles
from igq.pipeline.history.lives import TRANSMIT_QUEUE, message_events, unit_ends, with_outcome, with_place
from igq.pipeline.schemas import FLOW_AGENTS, FLOW_DEPTH, FLOW_MINUTES, FLOW_QUEUES

_MINUTE_MS = 60_000
#: Of the times that messages stayed; the middle one is the median.
_PERCENTILES = (0.5, 0.9, 0.99)
#: Event by which a message left a queue, other than a get -> its kind of hop.
_HOPS = {"transfer": "agent's hop", "expire": "expired", "clear": "cleared"}
#: Events by which a message arrives on a queue, and by which it leaves one. A return undoes the leaving.
_ARRIVALS, _LEAVINGS = ("put", "transfer", "return"), ("get", "transfer", "expire", "clear")


def flow_tables(moves: DataFrame, moved: DataFrame) -> dict[str, DataFrame]:
    """The job's tables by name: ``queues``, ``minutes``, ``depth`` and ``agents``.

    Args:
        moves: as `queue_stays.stays` gives them.
        moved: as `agent_batches.batches` does.
    """
    return {"queues": queues(moves), "minutes": minutes(moves), "depth": depth(moves), "agents": agents(moved)}


def queues(moves: DataFrame) -> DataFrame:
    """One row for each queue, manager and hop: messages, messages a second and the times they stayed, over all time."""
    left = moves.where("left_ms IS NOT NULL").withColumn("hop", _hop())
    span_s = F.greatest((F.max("left_ms") - F.min("left_ms")) / 1000, F.lit(1.0))
    return (
        left.groupBy("structure", "queue", F.col("get_qmgr").alias("qmgr"), "hop")
        .agg(F.count("*").alias("messages"), F.round(F.count("*") / span_s, 1).alias("per_second"), *_stayed())
        .withColumns(_percentiles())
        .orderBy("structure", "queue", "qmgr", "hop")
        .transform(as_table, FLOW_QUEUES)
    )


def minutes(moves: DataFrame, width_ms: int = _MINUTE_MS) -> DataFrame:
    """As `queues`, but one row for each minute (or *width_ms*) in which messages left; ``minute`` is its beginning."""
    left = moves.where("left_ms IS NOT NULL").withColumns({"hop": _hop(), "minute": _minute("left_ms", width_ms)})
    return (
        left.groupBy("minute", "structure", "queue", F.col("get_qmgr").alias("qmgr"), "hop")
        .agg(F.count("*").alias("messages"), *_stayed())
        .withColumns(_percentiles())
        .orderBy("minute", "structure", "queue", "qmgr", "hop")
        .transform(as_table, FLOW_MINUTES)
    )


def depth(moves: DataFrame, width_ms: int = _MINUTE_MS) -> DataFrame:
    """Messages on each queue at the end of each minute (or *width_ms*) in which their number changed.

    A message that is older than the journal is known only when it leaves. It counts as if it had arrived before the
    journal's first event, so no depth is below 0.
    """
    arrived = moves.where("arrived_ms IS NOT NULL").select(
        *("structure", "queue", _minute("arrived_ms", width_ms).alias("minute"), F.lit(1).alias("change")),
        F.col("is_dead_letter").alias("comes_dead"),
    )
    left = moves.where("left_ms IS NOT NULL").select(
        *("structure", "queue", _minute("left_ms", width_ms).alias("minute"), F.lit(-1).alias("change")),
        F.lit(False).alias("comes_dead"),
    )
    older = moves.where("arrived_ms IS NULL").groupBy("structure", "queue").agg(F.count("*").alias("older"))
    until = Window.partitionBy("structure", "queue").orderBy("minute").rowsBetween(Window.unboundedPreceding, 0)
    is_arrival = F.col("change") > 0
    return (
        arrived.unionByName(left)
        .groupBy("minute", "structure", "queue")
        .agg(
            F.count_if(is_arrival).alias("arrived"),
            F.count_if("comes_dead").alias("dead_letters"),
            F.count_if(~is_arrival).alias("left"),
        )
        .withColumn("change", F.sum(F.col("arrived") - F.col("left")).over(until))
        .join(F.broadcast(older), ["structure", "queue"], "left")
        .withColumn("depth", F.col("change") + F.coalesce("older", F.lit(0)))
        .orderBy("minute", "structure", "queue")
        .transform(as_table, FLOW_DEPTH)
    )


def agents(moved: DataFrame, width_ms: int = _MINUTE_MS) -> DataFrame:
    """Each agent's batches: one row for each minute (or *width_ms*) in which a batch ended.

    ``backed_out`` counts the batches that the agent could not deliver and tries again. ``took_ms`` is the longest time
    from a batch's first get to its end. It is null if one script moved each batch, because the journal has only one
    moment for those.
    """
    done = F.col("outcome") == "delivered"
    return (
        moved.groupBy(_minute("ended_ms", width_ms).alias("minute"), "qmgr")
        .agg(
            F.count_if(done).alias("batches"),
            F.coalesce(F.sum(F.when(done, F.col("messages"))), F.lit(0)).alias("messages"),
            F.round(F.avg(F.when(done, F.col("messages"))), 1).alias("mean_batch"),
            F.max(F.when(done, F.col("messages"))).alias("largest_batch"),
            F.sum("dead_letters").alias("dead_letters"),
            F.count_if(F.col("outcome") == "backed out").alias("backed_out"),
            F.count_if("is_recovered").alias("ended_by_peers"),
            F.max(F.col("ended_ms") - F.col("began_ms")).alias("took_ms"),
        )
        .orderBy("minute", "qmgr")
        .transform(as_table, FLOW_AGENTS)
    )


def _hop() -> Column:
    is_get = F.col("left_by") == "get"
    found = (
        F.when(is_get & (F.col("queue") == TRANSMIT_QUEUE), "agent's hop")
        .when(is_get & F.col("is_dead_letter"), "dead letter")
        .when(is_get, "delivery")
    )
    for event, hop in _HOPS.items():
        found = found.when(F.col("left_by") == event, hop)
    return found


def _minute(ms: str, width_ms: int) -> Column:
    return F.timestamp_millis(F.floor(F.col(ms) / width_ms) * width_ms)


def _stayed() -> tuple[Column, ...]:
    """Columns of the times that messages stayed. Messages without a known arrival do not count."""
    stayed = F.col("left_ms") - F.col("arrived_ms")
    return percentiles(stayed, _PERCENTILES).alias("stayed"), F.max(stayed).alias("max_ms")


def _percentiles() -> dict[str, Column]:
    return {f"p{round(part * 100)}_ms": F.element_at("stayed", at) for at, part in enumerate(_PERCENTILES, 1)}


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


def batches(journal: DataFrame) -> DataFrame:
    """One row for each batch that an agent took from the transmit queue.

    ``qmgr``, ``messages``, ``dead_letters`` (of these, put on a dead-letter queue), ``began_ms``, ``ended_ms``,
    ``outcome`` (delivered, or backed out: the agent could not deliver, or died), ``is_recovered`` (a peer ended it).
    A batch that has not ended has no row. A batch that a single script moved has no ``began_ms``.
    """
    return transfers(journal).unionByName(units_of_work(journal))


def transfers(journal: DataFrame) -> DataFrame:
    """Batches that one script moved. Each is one entry of the journal."""
    return (
        journal.where(F.col("event") == "transfer")
        .groupBy("structure", "stream_id", "qmgr")
        .agg(F.count("*").alias("messages"), F.unix_millis(F.min("time")).alias("ended_ms"))
        .withColumn("began_ms", F.lit(None).cast("long"))
        .withColumns({"outcome": F.lit("delivered"), "is_recovered": F.lit(False), "dead_letters": F.lit(0)})
        .drop("structure", "stream_id")
    )


def units_of_work(journal: DataFrame) -> DataFrame:
    """Batches that an agent got and put message by message. Each is one unit of work."""
    events = with_place(journal)
    ends = (
        events.where(F.col("event").isin("commit", "backout"))
        .groupBy("structure", "unit_of_work")
        .agg(F.max("at.ms").alias("ended_ms"))
    )
    got = message_events(events).where((F.col("event") == "get") & (F.col("queue") == TRANSMIT_QUEUE))
    return (
        with_outcome(got.where("unit_of_work IS NOT NULL"), unit_ends(events))
        .where(~F.col("is_open"))
        .join(ends, ["structure", "unit_of_work"])
        .groupBy("unit_of_work", "qmgr")
        .agg(
            F.count("*").alias("messages"),
            F.min("at.ms").alias("began_ms"),
            F.max("ended_ms").alias("ended_ms"),
            F.when(F.max("done_at").isNotNull(), "delivered").otherwise("backed out").alias("outcome"),
            F.max("is_recovered").alias("is_recovered"),
        )
        .join(dead_letters(journal), "unit_of_work", "left")
        .withColumn("dead_letters", F.when(F.col("outcome") == "delivered", F.col("dead_letters")))
        .fillna(0, ["dead_letters"])
        .drop("unit_of_work")
    )


def dead_letters(journal: DataFrame) -> DataFrame:
    """The number of dead letters that each unit of work has put. Undone puts do not count."""
    puts, undone = (journal.where(F.col("event") == event) for event in ("put", "undo"))
    dead = puts.where(F.col("dead_letter") & F.col("unit_of_work").isNotNull())
    stay = dead.join(undone.select("structure", "message_number"), ["structure", "message_number"], "left_anti")
    return stay.groupBy("unit_of_work").agg(F.count("*").alias("dead_letters"))
