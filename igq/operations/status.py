"""The data of `igq status`: one object, read from Redis without taking part in the group."""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel

from igq.agent.progress.report import moved_by_puts
from igq.operations.shutdown import UP, state_now
from recovery.report import status_rows
from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.members.agreed_settings import with_record
from sharedq.members.group import Group, Member
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.repository import Repository
from sharedq.objects.store.failures import failure_of, structure_state
from sharedq.redis.durability import read_server, read_weakest
from sharedq.redis.embedded import EmbeddedRedis
from sharedq.redis.keys import private_structure
from sharedq.redis.link import IS_CLUSTER
from sharedq.settings.values import Settings

State = Literal["STARTING", "RUNNING", "QUIESCING", "STOPPED", "FAILED"]


class RedisStatus(BaseModel):
    """The deployment. ``version``: empty if no manager has started the embedded server yet."""

    version: str
    durability: str


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
    last_error: str
    #: One for each conventional transmission queue that it serves, or stands by to serve.
    movers: list[MoverStatus] = []


class ManagerStatus(BaseModel):
    """A member of the group, running or not."""

    name: str
    state: State
    #: Null if it has stopped. A FAILED manager may be alive, but paused or cut off.
    pid: int | None
    host: str
    incarnation: int
    igq: Literal["ENABLED", "DISABLED"]
    agent: AgentStatus
    #: Prepared units of work that wait for their coordinator or an operator.
    in_doubt: int = 0
    #: Its removal from the group has begun, and may have been interrupted.
    is_leaving: bool = False


class RecoveryStatus(BaseModel):
    """A recovery that is under way or was recently."""

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


class QueueStatus(BaseModel):
    """A local queue: private ones have an ``owner``, shared ones a ``structure``."""

    name: str
    disposition: str
    owner: str | None
    structure: str | None
    depth: int
    uncommitted: int


class GroupStatus(BaseModel):
    """The status of the whole group."""

    group: str
    redis: RedisStatus
    managers: list[ManagerStatus]
    recoveries: list[RecoveryStatus]
    structures: list[StructureStatus]
    queues: list[QueueStatus]


def read_status(settings: Settings) -> GroupStatus:
    """Read the group's status.

    Raises:
        DeploymentError, MQIError: Redis cannot be used.
    """
    if settings.is_embedded and not EmbeddedRedis.has_data(settings.data_dir):
        # Do not start a server, or make its directory, only to find nothing.
        return _nothing(settings)
    # A status only reads, so it must work without replicas.
    group = Group(settings.model_copy(update={"wait_replicas": 0}))
    try:
        members = group.members()
        version, is_node = read_server(group.client())
        if is_node and not group.deployment().is_cluster:
            raise error_for(MQRC.CF_NOT_AVAILABLE, "", "", IS_CLUSTER)
        in_doubt = Counter(unit.prepared_at for unit in prepared_units(group))
        record = group.read_record()
        wait_replicas = (with_record(settings, record) if record else settings).wait_replicas
        durability = read_weakest(group.clients(), wait_replicas=wait_replicas, may_be_silent=True)
        return GroupStatus(
            group=group.name,
            redis=RedisStatus(version=version, durability=durability.statement),
            managers=[_manager(group, member, in_doubt[member.name]) for member in members],
            recoveries=[RecoveryStatus.model_validate(row) for row in status_rows(group)],
            structures=_structures(group, members),
            queues=_queues(group, members),
        )
    finally:
        group.leave()


def _nothing(settings: Settings) -> GroupStatus:
    redis = RedisStatus(version="", durability=f"nothing is stored yet in {settings.data_dir}")
    return GroupStatus(group=settings.group, redis=redis, managers=[], recoveries=[], structures=[], queues=[])


def _manager(group: Group, member: Member, in_doubt: int) -> ManagerStatus:
    state = state_now(group, member)
    key = group.keys.agents
    text = group.command(key, "HGET", key, member.name)
    attributes = Repository(group, member.name).qmgr_attributes(member.name)
    return ManagerStatus.model_validate(
        {
            "name": member.name,
            "state": state,
            "pid": None if state == "STOPPED" else member.pid,
            "host": member.host,
            "incarnation": member.incarnation,
            "igq": attributes.igq,
            "agent": _agent(json.loads(text) if text else {}, moved_by_puts(group, member.name), state),
            "in_doubt": in_doubt,
            "is_leaving": member.is_leaving,
        }
    )


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


def _structures(group: Group, members: list[Member]) -> list[StructureStatus]:
    applications = [structure.name for structure in Repository(group, None).structures()]
    found: list[StructureStatus] = []
    for name in (*applications, *(private_structure(member.name) for member in members)):
        state, known = _structure_state(group, name), failure_of(group, name)
        if state == "ACTIVE" and name not in applications:
            continue
        failed_at = datetime.fromtimestamp(known.since_ms / 1000, UTC) if known and known.is_failed else None
        found.append(StructureStatus(name=name, state=state, failures=known.count if known else 0, failed_at=failed_at))
    return found


def _structure_state(group: Group, name: str) -> Literal["ACTIVE", "FAILED", "INRECOVER", "UNREACHABLE"]:
    return structure_state(group, name) if group.can_reach(name) else "UNREACHABLE"


def _queues(group: Group, members: list[Member]) -> list[QueueStatus]:
    found: dict[tuple[str, str, str], QueueStatus] = {}
    names: list[str | None] = [member.name for member in members]
    for qmgr in names or [None]:
        shown, _ = Repository(group, qmgr).display_queues_and_left_out("*", ("QLOCAL",))
        for queue in shown:
            if queue.state is None:
                continue
            is_shared = queue.definition.disposition == "SHARED"
            found[queue.name, queue.qmgr, queue.structure] = QueueStatus(
                name=queue.name,
                disposition=queue.definition.disposition,
                owner=None if is_shared else queue.qmgr,
                structure=queue.structure if is_shared else None,
                depth=queue.state.depth,
                uncommitted=queue.state.uncommitted,
            )
    return sorted(found.values(), key=lambda queue: (queue.name, queue.owner or "", queue.structure or ""))
