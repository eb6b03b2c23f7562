"""The troubles of a group, one line each: for `igq status --check`, a console and alerts. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from igq.operations.status import GroupStatus, ManagerStatus, QueueStatus, StructureStatus
from igq.output.plural import counted
from sharedq.objects.definitions.queues import NO_DEPTH_LIMIT

#: The part of a server's memory limit from which on it is nearly full.
NEARLY_FULL = 0.9


def troubles(status: GroupStatus, *, is_whole: bool = True) -> list[str]:
    """Return what an operator must look at.

    Args:
        is_whole: it is the whole group: a manager that was stopped in good order is no trouble, unless messages
            wait for it.
    """
    found = list(_of_redis(status))
    if is_whole and not any(manager.state in ("STARTING", "RUNNING") for manager in status.managers):
        found.append("no queue manager is running")
    for manager in status.managers:
        found += _of_manager(manager)
        if manager.state == "STOPPED":
            waiting = manager.to_deliver + sum(queue.depth for queue in status.queues if _waits(queue, manager.name))
            if waiting:
                what = counted(waiting, "message waits", "messages wait")
                found.append(f"queue manager {manager.name}: STOPPED, {what} for it")
            elif not is_whole:
                found.append(f"queue manager {manager.name}: STOPPED")
    for structure in status.structures:
        found += _of_structure(structure)
    for recovery in status.recoveries:
        if recovery.state != "RESOLVED":
            found.append(f"recovery of {recovery.failed} by {recovery.by}: {recovery.state}")
    for queue in status.queues:
        found += _of_queue(queue)
    return found


def _of_redis(status: GroupStatus) -> Iterator[str]:
    if status.redis.is_failing:
        yield f"Redis: durability {status.redis.durability}"
    wanted = status.redis.wait_replicas
    for node in status.redis.nodes:
        if node.replicas_online is not None and node.replicas_online < wanted:
            replicas = counted(wanted, "replica must", "replicas must")
            yield f"Redis {node.node}: {replicas} have a message, but {node.replicas_online} online"
        if node.max_memory and node.used_memory is not None and node.used_memory >= NEARLY_FULL * node.max_memory:
            yield f"Redis {node.node}: {node.used_memory} of {node.max_memory} bytes of memory are used"


def _of_manager(manager: ManagerStatus) -> Iterator[str]:
    name = manager.name
    if manager.state == "FAILED":
        yield f"queue manager {name}: FAILED, its lease has run out"
    if manager.is_leaving:
        yield f"queue manager {name}: its removal from the group is not complete"
    if manager.in_doubt:
        units = counted(manager.in_doubt, "unit of work", "units of work")
        yield f"queue manager {name}: {units} in doubt"
    if manager.state == "RUNNING":
        agent = manager.agent
        if agent.state != "RUNNING":
            yield f"IGQ agent of {name}: {agent.state}{_why(agent.last_error)}"
        for mover in agent.movers:
            if mover.state == "RETRY":
                yield f"mover of {mover.queue} at {name}: RETRY{_why(mover.last_error)}"


def _waits(queue: QueueStatus, manager: str) -> bool:
    """Whether messages of a queue wait for its manager; events and dead letters on SYSTEM queues wait for people."""
    return queue.owner == manager and not queue.name.startswith("SYSTEM.")


def _of_structure(structure: StructureStatus) -> Iterator[str]:
    if structure.state != "ACTIVE":
        yield f"structure {structure.name}: {structure.state}"


def _of_queue(queue: QueueStatus) -> Iterator[str]:
    where = queue.owner or queue.structure
    name = f"queue {queue.name}{f' at {where}' if where else ''}"
    if queue.max_depth < NO_DEPTH_LIMIT and queue.depth >= queue.max_depth:
        yield f"{name}: full, {counted(queue.depth, 'message')}"
    if queue.is_dead_letter_queue and queue.depth:
        yield f"{name}: {counted(queue.depth, 'dead letter')}"


def _why(error: str) -> str:
    return f", {error}" if error else ""
