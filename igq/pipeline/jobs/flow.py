"""The flow job: the messages that went through each queue, minute by minute, how long they stayed and how many lay
there; and the batches of the agents.
"""

from __future__ import annotations

from igq.pipeline.engine.frames import Column, DataFrame, F, Window, as_table, percentiles
from igq.pipeline.history.lives import TRANSMIT_QUEUE
from igq.pipeline.schemas import FLOW_AGENTS, FLOW_DEPTH, FLOW_MINUTES, FLOW_QUEUES

_MINUTE_MS = 60_000
#: Of the times that messages stayed; the middle one is the median.
_PERCENTILES = (0.5, 0.9, 0.99)
#: Event by which a message left a queue, other than a get -> its kind of hop.
_HOPS = {"transfer": "agent's hop", "expire": "expired", "clear": "cleared"}


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
