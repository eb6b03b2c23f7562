"""The figures of the queues over the last hour: one look a minute, which a console notes for the group.

A ring of sixty places in the administration structure: each is the figures of a minute, compressed, and the next hour's
take its place. A queue that was empty and not counted takes no room. Two thousand queues take some 3 MB. Of the
queues of the system only the dead-letter queues are noted.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sharedq.members.group import Group
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.reading.figures import GroupFigures, QueueFigures
from sharedq.redis.keys import private_structure
from sharedq.scripts.trails import figures_at, note_figures_call

#: Places of the ring, and the seconds between two looks.
PLACES: Final = 60
PERIOD_S: Final = 60
#: The most queues of one look; those with the fewest messages are left out.
MOST_QUEUES: Final = 10_000
_KEPT_S: Final = PLACES * PERIOD_S
#: Bytes of a look that are read: more than any can have.
_LONGEST: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Look:
    """The figures of a queue at one time, ms since 1970. None: puts and gets were not counted (PERFMEV)."""

    at_ms: int
    depth: int
    puts: int | None
    gets: int | None


def is_noted(queue: str) -> bool:
    """Whether the figures of a queue are noted."""
    return queue == SYSTEM_DEAD_LETTER_QUEUE or not queue.startswith("SYSTEM.")


def note_figures(group: Group, figures: GroupFigures) -> None:
    """Note a look. Raises MQIError: 2009, 2071."""
    queues = sorted(figures.queues, key=lambda each: -each.state.depth)[:MOST_QUEUES]
    noted = {_name(each.name, each.structure): _counts(each) for each in queues if each.state.depth or each.counts}
    text = json.dumps({"at_ms": figures.now_ms, "queues": noted}, separators=(",", ":"))
    place = figures.now_ms // 1000 // PERIOD_S % PLACES
    group.call(*note_figures_call(group.keys, place, zlib.compress(text.encode()), _KEPT_S))


def read_history(group: Group, queue: str, qmgr: str) -> list[Look]:
    """Return the looks at a queue, by time. *qmgr*: of a private queue; empty for a shared one.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    found = []
    for noted in figures_at(group, group.keys, range(PLACES)):
        if noted is not None:
            look = json.loads(zlib.decompressobj().decompress(noted, _LONGEST))
            depth, puts, gets = _of_queue(look["queues"], queue, qmgr)
            found.append(Look(int(look["at_ms"]), depth, puts, gets))
    return sorted(found, key=lambda each: each.at_ms)


def _of_queue(queues: Mapping[str, list[int | None]], queue: str, qmgr: str) -> tuple[int, int | None, int | None]:
    if qmgr:
        found = queues.get(_name(queue, private_structure(qmgr)))
    else:
        shared = (name for name in queues if name.startswith(f"{queue}\n") and "\n@" not in name)
        found = queues.get(next(shared, ""))
    depth, puts, gets = found or (0, None, None)
    return depth or 0, puts, gets


def _name(queue: str, structure: str) -> str:
    return f"{queue}\n{structure}"


def _counts(each: QueueFigures) -> list[int | None]:
    _, puts, gets = each.counts or (None, None, None)
    return [each.state.depth, puts, gets]
