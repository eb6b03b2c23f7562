"""The data of `igq status`: one object, read from Redis without taking part in the group."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self, cast

from pydantic import BaseModel

from igq.agent.queues.tags import serving_among
from igq.operations.queue_figures import figures_of
from igq.operations.shutdown import UP, state_now
from recovery.claim import from_record, in_order
from sharedq.members.agreed_settings import with_record
from sharedq.members.formats import UNRECORDED, recorded_format
from sharedq.members.group import Group, Member
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.definitions.queues import NO_DEPTH_LIMIT
from sharedq.objects.store.failures import Failure, failure_of, parse_failure, structure_state
from sharedq.reading.figures import FigureReader, GroupFigures, NodeFigures, StructureFigures
from sharedq.redis.durability import read_weakest
from sharedq.redis.embedded import EmbeddedRedis
from sharedq.redis.keys import private_structure, qmgr_of
from sharedq.redis.link import IS_CLUSTER
from sharedq.settings.values import Settings

State = Literal["STARTING", "RUNNING", "QUIESCING", "STOPPED", "FAILED"]


class NodeStatus(BaseModel):
    """A server that has keys of the group. Null: it does not say."""

    node: str
    version: str
    used_memory: int | None
    #: Zero if it has no limit.
    max_memory: int | None
    replicas_online: int | None
    round_trip_ms: float


class RedisStatus(BaseModel):
    """The deployment. ``version``: empty if no manager has started the embedded server yet."""

    version: str
    durability: str
    #: The server loses messages, or may not keep the next one, and was not meant to.
    is_failing: bool = False
    #: Settings of the servers that lose messages, each with what to set instead.
    warnings: list[str] = []
    #: Replicas that must have a change before it is acknowledged.
    wait_replicas: int = 0
    nodes: list[NodeStatus] = []


class MoverStatus(BaseModel):
    """The mover of a conventional transmission queue."""

    queue: str
    state: Literal["STARTING", "RUNNING", "STANDBY", "RETRY"]
    short_retries: int
    long_retries: int
    next_retry_s: float | None
    delivered: int
    last_error: str


class AgentStatus(BaseModel):
    """An IGQ agent as it last reported."""

    state: Literal["RUNNING", "RETRY", "STOPPED"]
    #: Null if it has ended or its manager has stopped.
    pid: int | None
    short_retries: int
    long_retries: int
    #: Seconds to the next retry. Null unless the state is RETRY.
    next_retry_s: float | None
    restarts: int
    delivered: int
    #: Messages that it delivered a second, since the last look of a watch. Null if there was none.
    delivered_rate: float | None = None
    last_error: str
    #: A mover for each conventional transmission queue that the agent serves, or stands by to serve.
    movers: list[MoverStatus] = []


class ManagerStatus(BaseModel):
    """A member of the group, running or not."""

    name: str
    state: State
    #: Null if it has stopped. A FAILED manager may be alive, but paused or cut off.
    pid: int | None
    host: str
    incarnation: int
    #: Of igq. Empty if it last started with a version that did not tell.
    version: str = ""
    #: Seconds since it started. Null if it is not up, or started with a version that did not tell.
    up_s: float | None = None
    #: Seconds until its lease runs out, if nothing renews it. Null if it is not up.
    lease_left_s: float | None = None
    connections: int = 0
    #: The server of its own structure.
    node: str = ""
    igq: Literal["ENABLED", "DISABLED"]
    agent: AgentStatus
    #: Prepared units of work that wait for their coordinator or an operator.
    in_doubt: int = 0
    #: Messages for it on SYSTEM.QSG.TRANSMIT.QUEUE.
    to_deliver: int = 0
    #: DEADQ. Empty if it has none.
    dead_letter_queue: str = ""
    #: Its removal from the group has begun, and may have been interrupted.
    is_leaving: bool = False


class RecoveryStatus(BaseModel):
    """A recovery that is under way or was recently. ``detected_at``: when the failure was seen (UTC)."""

    detected_at: datetime
    failed: str
    by: str
    state: str
    units_of_work: int
    messages: int
    seconds: float


class StructureStatus(BaseModel):
    """An application structure, or a manager's own structure that is not ``ACTIVE``.

    ``UNREACHABLE``: its server does not answer. In a Cluster, other servers may.
    """

    name: str
    state: Literal["ACTIVE", "FAILED", "INRECOVER", "UNREACHABLE"]
    #: How many times it has failed, and when it last did (UTC); null unless it is failed now.
    failures: int
    failed_at: datetime | None
    #: Its server. Empty if none serves it.
    node: str = ""


class QueueStatus(BaseModel):
    """A local queue: private ones have an ``owner``, shared ones a ``structure``."""

    name: str
    disposition: str
    owner: str | None
    structure: str | None
    depth: int
    uncommitted: int
    max_depth: int = NO_DEPTH_LIMIT
    #: Seconds since the oldest available message was put. Null if there is none, or it does not say.
    oldest_age_s: float | None = None
    open_input: int = 0
    open_output: int = 0
    #: Gets that wait for a message.
    waiters: int = 0
    #: Whether it is the DEADQ of a manager: its messages wait for an operator.
    is_dead_letter_queue: bool = False
    #: Messages put and got since the latest reset. Null if nothing counts them: they are counted for PERFMEV.
    puts: int | None = None
    gets: int | None = None
    #: Puts, gets and deliveries a second, since the last look of a watch. Null at the first look.
    put_rate: float | None = None
    get_rate: float | None = None


class GroupStatus(BaseModel):
    """The status of the whole group."""

    group: str
    redis: RedisStatus
    #: Format of the key space.
    format: int = UNRECORDED
    managers: list[ManagerStatus]
    recoveries: list[RecoveryStatus]
    structures: list[StructureStatus]
    queues: list[QueueStatus]


class StatusReader:
    """Reads the status of a group as often as it is asked, over the same connections. A context manager.

    Raises:
        DeploymentError, MQIError: Redis cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # A status only reads, so it must work without replicas.
        self.group = Group(settings.model_copy(update={"wait_replicas": 0}))
        self._reader = FigureReader(self.group)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.group.leave()

    def read(self) -> GroupStatus:
        """Read the status as it is now."""
        if self._settings.is_embedded and not EmbeddedRedis.has_data(self._settings.data_dir):
            # Do not start a server, or make its directory, only to find nothing.
            return _nothing(self._settings)
        return self.status_of(self.figures())

    def figures(self) -> GroupFigures:
        """Read the figures that a status is made of."""
        return self._reader.read()

    def status_of(self, figures: GroupFigures) -> GroupStatus:
        """Make the status of figures that were just read."""
        group = self.group
        return GroupStatus(
            group=group.name,
            redis=self._redis(figures.nodes),
            managers=list(_managers(group, figures)),
            format=recorded_format(group) or UNRECORDED,
            recoveries=[
                RecoveryStatus.model_validate(each.as_status())
                for each in reversed(in_order(map(from_record, figures.recoveries)))
            ],
            structures=list(_structures(group, figures)),
            queues=_queues(figures),
        )

    def _redis(self, nodes: list[NodeFigures]) -> RedisStatus:
        group = self.group
        first = nodes[0]
        if first.is_cluster and not group.deployment().is_cluster:
            raise error_for(MQRC.CF_NOT_AVAILABLE, "", "", IS_CLUSTER)
        record = group.read_record()
        wait_replicas = (with_record(self._settings, record) if record else self._settings).wait_replicas
        durability = read_weakest(group.clients(), wait_replicas=wait_replicas, may_be_silent=True)
        if why := group.deployment().why_away():
            durability = replace(durability, level="none", statement=f"none: {why}", is_failing=True)
        return RedisStatus(
            version=first.version,
            durability=durability.statement,
            is_failing=durability.is_failing,
            warnings=list(durability.warnings),
            wait_replicas=wait_replicas,
            nodes=[
                NodeStatus(
                    node=each.name,
                    version=each.version,
                    used_memory=each.used_memory,
                    max_memory=each.max_memory,
                    replicas_online=each.replicas_online,
                    round_trip_ms=round(each.round_trip_s * 1000, 3),
                )
                for each in nodes
            ],
        )


def _nothing(settings: Settings) -> GroupStatus:
    redis = RedisStatus(version="", durability=f"nothing is stored yet in {settings.data_dir}")
    return GroupStatus(group=settings.group, redis=redis, managers=[], recoveries=[], structures=[], queues=[])


def _managers(group: Group, figures: GroupFigures) -> Iterator[ManagerStatus]:
    in_doubt = Counter(str(unit["nid"]).rpartition(".")[0] for unit in figures.prepared)
    connections = Counter(map(qmgr_of, figures.connections))
    for member in figures.members:
        state = _state(group, figures, member)
        attributes = figures.attributes.get(member.name) or QueueManagerAttributes(name=member.name)
        reported = figures.agents.get(member.name, {})
        started_ms = member.details.get("started_ms")
        yield ManagerStatus(
            name=member.name,
            state=cast(State, state),
            pid=None if state == "STOPPED" else member.pid,
            host=member.host,
            incarnation=member.incarnation,
            version=str(member.details.get("version", "")),
            up_s=(figures.now_ms - int(started_ms)) / 1000 if started_ms and state in UP else None,
            lease_left_s=round(figures.lease_left_ms(member) / 1000, 3) if state in UP else None,
            connections=connections[member.name],
            node=group.node(private_structure(member.name)),
            igq=attributes.igq,
            agent=_agent(reported, figures.moved_by_puts.get(member.name, 0), state),
            in_doubt=in_doubt[member.name],
            to_deliver=figures.to_deliver[member.name],
            dead_letter_queue=attributes.dead_letter_queue,
            is_leaving=member.is_leaving,
        )


def _state(group: Group, figures: GroupFigures, member: Member) -> str:
    """The state of a manager. It may have begun or ended between the look at its lease and that at its state."""
    state = figures.state_of(member)
    return state_now(group, member) if state != member.state else state


def _agent(reported: dict[str, Any], by_puts: int, of_manager: str) -> AgentStatus:
    state = reported.get("state", "STOPPED")
    pid = reported.get("pid") if state != "STOPPED" and of_manager != "STOPPED" else None
    if of_manager not in UP or state not in ("RUNNING", "RETRY"):
        # A starting agent counts as stopped: it delivers nothing yet.
        state = "STOPPED"
    movers = [
        MoverStatus.model_validate({**each, "next_retry_s": _next_retry_s(each, each["state"])})
        for each in reported.get("movers", ())
        if state != "STOPPED"
    ]
    return AgentStatus(
        state=state,
        pid=pid,
        short_retries=reported.get("short_retries", 0),
        long_retries=reported.get("long_retries", 0),
        next_retry_s=_next_retry_s(reported, state),
        restarts=reported.get("restarts", 0),
        delivered=reported.get("delivered", 0) + by_puts,
        last_error=reported.get("last_error", ""),
        movers=movers,
    )


def _next_retry_s(reported: dict[str, Any], state: str) -> float | None:
    at_ms = reported.get("next_retry_ms")
    return round(max(0.0, at_ms / 1000 - time.time()), 1) if state == "RETRY" and at_ms is not None else None


def _structures(group: Group, figures: GroupFigures) -> Iterator[StructureStatus]:
    in_order = sorted(figures.structures, key=lambda each: (each.name not in figures.applications, each.name))
    for structure in in_order:
        state, failure = structure_state_of(group, structure, figures.failures.get(structure.name, ""))
        if state == "ACTIVE" and structure.name not in figures.applications:
            continue
        failed_at = datetime.fromtimestamp(failure.since_ms / 1000, UTC) if failure and failure.is_failed else None
        yield StructureStatus(
            name=structure.name,
            state=state,
            failures=failure.count if failure else 0,
            failed_at=failed_at,
            node=structure.node,
        )


def structure_state_of(
    group: Group, structure: StructureFigures, told: str
) -> tuple[Literal["ACTIVE", "FAILED", "INRECOVER", "UNREACHABLE"], Failure | None]:
    """The state of a structure, and the news that the group has of it. *told*: its record of failures."""
    failure = parse_failure(told)
    if not structure.is_reachable:
        return "UNREACHABLE", failure
    if structure.is_recovering:
        return "INRECOVER", failure
    if structure.has_begun and not (failure is not None and failure.is_failed):
        return "ACTIVE", failure
    # It was never used, or has failed, which is told to the group if that is news.
    return structure_state(group, structure.name), failure_of(group, structure.name)


def _queues(figures: GroupFigures) -> list[QueueStatus]:
    found, serving = [], serving_among(figures.agents, figures.connections)
    for queue in figures.queues:
        is_shared = queue.definition.disposition == "SHARED"
        _, puts, gets = queue.counts or (None, None, None)
        age_ms = None if queue.oldest_ms is None else max(0, figures.now_ms - queue.oldest_ms)
        found.append(
            QueueStatus(
                name=queue.name,
                disposition=queue.definition.disposition,
                owner=None if is_shared else queue.qmgr,
                structure=queue.structure if is_shared else None,
                max_depth=queue.definition.max_depth,
                oldest_age_s=None if age_ms is None else age_ms / 1000,
                is_dead_letter_queue=figures.is_dead_letter_queue(queue),
                puts=puts,
                gets=gets,
                **figures_of(queue, serving),
            )
        )
    return sorted(found, key=lambda queue: (queue.name, queue.owner or "", queue.structure or ""))
