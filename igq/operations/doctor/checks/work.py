"""The group at work: managers, agents, structures, queues, recoveries, units in doubt, unexplained keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from igq import __version__
from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, note, warning
from igq.operations.status import QueueStatus
from igq.operations.troubles import NEARLY_FULL
from igq.output.plural import counted, short_time
from recovery.accounting.account import account
from sharedq.members.formats import FORMAT
from sharedq.objects.definitions.queues import NO_DEPTH_LIMIT

#: Seconds after the start of a manager in which its agent may still be starting.
_AGENT_STARTS_S = 10.0
#: A message that waited so long, on a queue that nobody reads, waits for somebody: seconds.
_WAITED_S = 300


def check_managers(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Managers that failed, were stopped or are leaving; agents and movers that cannot work."""
    managers = seen.status.managers
    if not any(manager.state in ("STARTING", "RUNNING") for manager in managers):
        yield error("no queue manager is running", "igq group start -m QM1 -m QM2, with the names of the members")
    for manager in managers:
        name = manager.name
        if manager.state == "FAILED":
            yield error(
                f"queue manager {name} FAILED: its lease has run out", f"look at {name}.log, then igq qmgr start {name}"
            )
        if manager.state == "STOPPED" and manager.to_deliver:
            what = counted(manager.to_deliver, "message waits", "messages wait")
            yield warning(f"queue manager {name} is stopped, and {what} for it", f"igq qmgr start {name}")
        if manager.is_leaving:
            yield warning(f"the removal of queue manager {name} is not complete", f"igq group remove {name}")
        if manager.state != "RUNNING" or manager.igq != "ENABLED":
            continue
        is_starting = manager.agent.state == "STOPPED" and (manager.up_s or _AGENT_STARTS_S) < _AGENT_STARTS_S
        if manager.agent.state != "RUNNING" and not is_starting:
            why = f": {manager.agent.last_error}" if manager.agent.last_error else ""
            yield error(f"the IGQ agent of {name} is {manager.agent.state}{why}", f"see {name}.log: CSQM065E, CSQM067E")
        for mover in manager.agent.movers:
            if mover.state == "RETRY":
                why = f": {mover.last_error}" if mover.last_error else ""
                yield warning(f"the mover of {mover.queue} at {name} is in RETRY{why}", f"see {name}.log: CSQX599E")


def check_structures(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Structures that have failed, and recoveries that have not ended."""
    for structure in seen.status.structures:
        if structure.state == "FAILED":
            yield error(
                f"structure {structure.name} has FAILED: its messages are lost until it is recovered",
                f"RECOVER CFSTRUCT({structure.name}), from its latest backup",
            )
        elif structure.state != "ACTIVE":
            yield error(f"structure {structure.name} is {structure.state}", f"DISPLAY CFSTATUS({structure.name})")
    for each in seen.status.recoveries:
        if each.state != "RESOLVED":
            yield warning(
                f"the recovery of {each.failed} by {each.by} is {each.state}",
                "it ends by itself; if not, see CSQE015I in the log of the manager that recovers",
            )


def check_units_in_doubt(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Units of work that wait for a coordinator."""
    for manager in seen.status.managers:
        if manager.in_doubt:
            units = counted(manager.in_doubt, "unit of work", "units of work")
            yield error(
                f"queue manager {manager.name} has {units} in doubt: their messages are locked",
                "DISPLAY THREAD(*) TYPE(INDOUBT); end them by their coordinator, or by RESOLVE INDOUBT",
            )


def check_orphans(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Keys that nothing explains, as `igq fsck` finds them. It reads every key."""
    if seen.group is None:
        return
    kinds = Counter(found.kind.value for found in account(seen.group))
    if kinds:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        yield warning(f"keys that nothing explains: {told}", "igq fsck shows them; igq fsck --repair gives them back")


def check_versions(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Versions that differ: of members, of this command, of the key space."""
    status = seen.status
    running = {each.name: each.version for each in status.managers if each.version and each.pid is not None}
    if len(set(running.values())) > 1:
        told = ", ".join(f"{name} {version}" for name, version in running.items())
        yield warning(f"running members have several versions of igq: {told}", "upgrade them, one after the other")
    elif running and __version__ not in running.values():
        yield note(f"this command is igq {__version__}, the members are {next(iter(running.values()))}", "upgrade both")
    if status.managers and status.format < FORMAT:
        yield note(f"the key space has format {status.format}, this version makes {FORMAT}", "igq upgrade")
    versions = sorted({node.version for node in status.redis.nodes if node.version})
    if len(versions) > 1:
        yield warning(f"the servers have several versions: {', '.join(versions)}", "upgrade them, replicas first")


def check_readers(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Queues with messages that nobody reads."""
    for queue in seen.status.queues:
        age_s = queue.oldest_age_s or 0.0
        if queue.name.startswith("SYSTEM.") or queue.is_dead_letter_queue or queue.open_input or not queue.depth:
            continue
        if age_s >= _WAITED_S:
            what = counted(queue.depth, "message waits", "messages wait")
            yield warning(
                f"{_named(queue)} has no reader: {what}, the oldest for {short_time(age_s)}",
                f"start the program that reads it, or look: igq browse QMGR {queue.name} --short",
            )


def check_depths(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Queues that are full, or nearly."""
    for queue in seen.status.queues:
        if queue.max_depth >= NO_DEPTH_LIMIT or not queue.max_depth or queue.depth < NEARLY_FULL * queue.max_depth:
            continue
        is_full = queue.depth >= queue.max_depth
        text = f"{_named(queue)} has {queue.depth} of MAXDEPTH({queue.max_depth}) messages"
        todo = f"read it, or ALTER QLOCAL({queue.name}) MAXDEPTH"
        yield error(f"{text}: puts fail with 2053", todo) if is_full else warning(text, todo)


def check_dead_letters(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Dead letters, and managers that have no queue for them."""
    for queue in seen.status.queues:
        if queue.is_dead_letter_queue and queue.depth:
            qmgr = queue.owner or "QMGR"
            yield warning(
                f"{_named(queue)} has {counted(queue.depth, 'dead letter')}",
                f"igq dlq list {qmgr} --queue {queue.name} --summary, then requeue or discard them",
            )
    names = {queue.name for queue in seen.status.queues}
    for manager in seen.status.managers:
        if not manager.dead_letter_queue:
            yield note(
                f"queue manager {manager.name} has no dead-letter queue: its agent stops where it cannot deliver",
                "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)",
            )
        elif manager.dead_letter_queue not in names and names:
            yield warning(
                f"queue manager {manager.name}: its DEADQ {manager.dead_letter_queue} is no local queue",
                f"DEFINE QLOCAL({manager.dead_letter_queue}) at {manager.name}, or alter DEADQ",
            )


def _named(queue: QueueStatus) -> str:
    where = queue.owner or queue.structure
    return f"queue {queue.name}{f' at {where}' if where else ''}"
