"""The points of the flow report: rates, depths and stays of the busiest queues, and the agents' batches, over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from igq.pipeline.audit.audit import peer_work
from igq.pipeline.audit.series import slice_width_ms
from igq.pipeline.engine.frames import DataFrame, F
from igq.pipeline.jobs.flow import agents, depth, minutes, queues
from sharedq.members.recovery_records import MOMENTS
from sharedq.redis.keys import qmgr_of

#: The most queues in the plots (those with most messages), and the most rows of the table of queues.
SHOWN_QUEUES, SHOWN_ROWS = 8, 40

#: Beginning of a slice of time, ms since 1970 -> a number.
Points = dict[int, float]


@dataclass(slots=True)
class QueuePoints:
    """One queue over time: messages that left it, messages on it, and how long (ms) those that left had stayed."""

    left: Points = field(default_factory=dict)
    depth: Points = field(default_factory=dict)
    p50_ms: Points = field(default_factory=dict)
    p99_ms: Points = field(default_factory=dict)


@dataclass(slots=True)
class AgentPoints:
    """One manager's agent over time: messages, dead letters of them, batches delivered, backed out, ended by peers."""

    messages: Points = field(default_factory=dict)
    dead_letters: Points = field(default_factory=dict)
    batches: Points = field(default_factory=dict)
    backed_out: Points = field(default_factory=dict)
    ended_by_peers: Points = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ManagerFailure:
    """A manager that failed, and the peer that recovered it.

    Attributes:
        failed_ms: when the group noticed, in ms since 1970.
        recovered_ms: when its recovery ended; None while it goes on.
    """

    qmgr: str
    failed_ms: int
    recovered_ms: int | None
    by: str


@dataclass(frozen=True, slots=True)
class FlowPoints:
    """All points of the report. ``rows`` is the table of queues, as dictionaries.

    Attributes:
        left: kind of hop -> messages that left a queue so, over all queues.
        lying: messages on all queues at the end.
    """

    width_ms: int
    began_ms: int
    ended_ms: int
    left: dict[str, int]
    lying: int
    rows: list[dict[str, object]]
    queues: dict[str, QueuePoints]
    agents: dict[str, AgentPoints]
    failures: tuple[ManagerFailure, ...] = ()


def failures_of_records(records: Iterable[Mapping[str, Any]]) -> list[ManagerFailure]:
    """The failures that the group remembers (see `recovery_records`)."""
    found = []
    for record in records:
        known = [int(record[name]) for name in MOMENTS.values() if record.get(name) is not None]
        is_over = record.get("resolved_ms") is not None
        qmgr = qmgr_of(str(record["failed"]))
        found.append(ManagerFailure(qmgr, min(known), max(known) if is_over else None, qmgr_of(str(record["by"]))))
    return sorted(found, key=lambda failure: failure.failed_ms)


def failures_of_journal(journal: DataFrame) -> list[ManagerFailure]:
    """The failures that left units of work for a peer to end, from the first of these to the last."""
    return [
        ManagerFailure(row["failed"], row["first_ms"], row["last_ms"], row["by"])
        for row in peer_work(journal).collect()
    ]


def read_flow_points(moves: DataFrame, moved: DataFrame, failures: Sequence[ManagerFailure] = ()) -> FlowPoints | None:
    """The points of stays and batches; None where nothing happened.

    Args:
        moves: as `queue_stays.stays` gives them.
        moved: as `agent_batches.batches` does.
        failures: those outside the time of the stays are left out.
    """
    span = moves.agg(
        F.min(F.least("arrived_ms", "left_ms")).alias("first"),
        F.max(F.greatest("arrived_ms", "left_ms")).alias("last"),
        F.count_if(F.col("left_ms").isNull()).alias("lying"),
    ).collect()[0]
    if span["first"] is None:
        return None
    width_ms = slice_width_ms(span["last"] - span["first"])
    began_ms = span["first"] // width_ms * width_ms
    busiest = [
        row["queue"]
        for row in moves.groupBy("queue").count().orderBy(F.desc("count"), "queue").limit(SHOWN_QUEUES).collect()
    ]
    left = queues(moves).groupBy("hop").agg(F.sum("messages").alias("messages")).collect()
    shown = moves.where(F.col("queue").isin(busiest))
    return FlowPoints(
        width_ms,
        began_ms,
        span["last"],
        {row["hop"]: row["messages"] for row in left},
        span["lying"],
        [row.asDict() for row in queues(moves).limit(SHOWN_ROWS).collect()],
        queue_points(shown, width_ms, busiest),
        agent_points(moved, width_ms),
        tuple(failure for failure in failures if began_ms <= failure.failed_ms <= span["last"] + width_ms),
    )


def queue_points(moves: DataFrame, width_ms: int, names: list[str]) -> dict[str, QueuePoints]:
    """Each queue's points. Queues of one name in several structures count together."""
    found = {name: QueuePoints() for name in names}
    ms = F.unix_millis("minute").alias("ms")
    in_each: dict[tuple[str, str], float] = {}
    for row in depth(moves, width_ms).select(ms, "structure", "queue", "depth").orderBy("ms").collect():
        # In a structure without a change, the depth is as before.
        depths = found[row["queue"]].depth
        before = in_each.get((row["queue"], row["structure"]), 0)
        in_each[row["queue"], row["structure"]] = row["depth"]
        depths[row["ms"]] = (depths[max(depths)] if depths else 0) + row["depth"] - before
    left = minutes(moves, width_ms).groupBy(ms, "queue")
    stayed = (F.max("p50_ms").alias("p50_ms"), F.max("p99_ms").alias("p99_ms"))
    for row in left.agg(F.sum("messages").alias("messages"), *stayed).collect():
        of = found[row["queue"]]
        of.left[row["ms"]] = row["messages"]
        if row["p50_ms"] is not None:
            of.p50_ms[row["ms"]], of.p99_ms[row["ms"]] = row["p50_ms"], row["p99_ms"]
    return found


def agent_points(moved: DataFrame, width_ms: int) -> dict[str, AgentPoints]:
    """Each agent's points, by manager."""
    found: dict[str, AgentPoints] = {}
    for row in agents(moved, width_ms).withColumn("ms", F.unix_millis("minute")).collect():
        of = found.setdefault(row["qmgr"], AgentPoints())
        of.messages[row["ms"]], of.batches[row["ms"]] = row["messages"], row["batches"]
        of.dead_letters[row["ms"]] = row["dead_letters"] or 0
        if row["backed_out"]:
            of.backed_out[row["ms"]] = row["backed_out"]
        if row["ended_by_peers"]:
            of.ended_by_peers[row["ms"]] = row["ended_by_peers"]
    return dict(sorted(found.items()))
