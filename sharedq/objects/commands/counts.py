"""The data of RESET QSTATS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharedq.objects.commands.display import DisplayedQueue
from sharedq.objects.store.finder import Finder
from sharedq.scripts.events import reset_counts_call

_QUEUES_PER_CALL = 100


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a queue since they were reset.

    Attributes:
        seconds: how long that is ago.
        highest_depth: the most messages that were on it at a time.
        puts, gets: messages put and got, by uncommitted and backed out work too.
    """

    seconds: int
    highest_depth: int
    puts: int
    gets: int


def reset_counts(finder: Finder, queues: Sequence[DisplayedQueue]) -> dict[DisplayedQueue, Counts]:
    """Take the counts of these local queues, and begin them anew. Nothing is counted of a queue that has parts."""
    by_structure: dict[str, list[DisplayedQueue]] = {}
    for queue in queues:
        if queue.structure:
            by_structure.setdefault(queue.structure, []).append(queue)
    found: dict[DisplayedQueue, Counts] = {}
    for structure, there in by_structure.items():
        keys = finder.group.structure(structure)
        for start in range(0, len(there), _QUEUES_PER_CALL):
            chunk = there[start : start + _QUEUES_PER_CALL]
            reply = finder.group.call(*reset_counts_call([keys.queue(queue.name) for queue in chunk]))
            found |= {queue: Counts(*counts) for queue, counts in zip(chunk, reply, strict=True) if counts}
    return found
