"""Queues: without a reader, nearly full, with dead letters."""

from __future__ import annotations

from collections.abc import Iterator

from igq.operations.doctor.finding import Diagnosis, error, note, warning
from igq.operations.doctor.seen import GroupSeen
from igq.operations.status import QueueStatus
from igq.operations.troubles import NEARLY_FULL
from igq.output.plural import counted, short_time
from sharedq.objects.definitions.queues import NO_DEPTH_LIMIT

#: A message that waited so long, on a queue that nobody reads, waits for somebody: seconds.
_WAITED_S = 300


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
