"""Plans how to read a queue without opening it (``sharedq.reading.queue``): places of its messages, and ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from sharedq.members.group import Group
from sharedq.messages.record import PRIORITY_STEP
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import MAX_PRIORITY
from sharedq.objects.commands.display import ages_ms
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal
from sharedq.objects.repository import Located, Repository
from sharedq.objects.store.parts import parts_of
from sharedq.reading.queue import QueuePart, ReadFilter, ReadRange

#: After every position.
_POSITION_MAX: Final = (MAX_PRIORITY + 1) * PRIORITY_STEP


def find_parts(group: Group, queue: str, qmgr: str = "") -> list[QueuePart]:
    """Return where the messages of *queue* are. *qmgr* is the manager that knows the name; without it only shared ones.

    For SYSTEM.QSG.TRANSMIT.QUEUE that is all its parts, or those of *qmgr* if given.

    Raises:
        MQIError: 2085, no such queue; 2058, no such manager; 2059, no such group; 2045, neither a local queue nor an
            alias of one; 2082, an alias without a target; 2016, it is inhibited for gets; 2035; 2009.
    """
    if not group.structure_names():
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", group.name, "no manager of this group ever started there")
    if qmgr and group.member(qmgr) is None:
        raise error_for(MQRC.Q_MGR_NAME_ERROR, "", qmgr)
    repository = Repository(group, qmgr or None)
    named, located = repository.lookup(queue), list[Located | None]()
    if named is not None and isinstance(named.definition, QueueAlias):
        if named.definition.target_type == "TOPIC":
            raise error_for(MQRC.OPTION_NOT_VALID_FOR_TYPE, "", queue, "it stands for a topic, which has no messages")
        _check_may_get(queue, named.definition)
        for target in named.definition.targets:
            located.append(repository.lookup(target))
            if located[-1] is None:
                raise error_for(MQRC.UNKNOWN_ALIAS_BASE_Q, "", queue, f"its target is {target!r}")
    else:
        located.append(named)
    places = list[tuple[str, str]]()
    for each in located:
        if each is None:
            where = f"at {qmgr}" if qmgr else "among the shared ones; a private queue needs its manager's name too"
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", queue, f"no such queue {where}")
        if not isinstance(each.definition, QueueLocal):
            raise error_for(MQRC.OPTION_NOT_VALID_FOR_TYPE, "", queue, "only local queues can be read")
        _check_may_get(queue, each.definition)
        is_parted = each.name == SYSTEM_QSG_TRANSMIT_QUEUE
        places += parts_of(group, qmgr) if is_parted else [(each.structure, each.name)]
    return [QueuePart(name, structure, group.structure_number(structure)) for structure, name in places]


def _check_may_get(name: str, definition: QueueLocal | QueueAlias) -> None:
    if definition.get == "DISABLED":
        raise error_for(MQRC.GET_INHIBITED, "", name, "GET(DISABLED)")


def plan_ranges(group: Group, places: Sequence[QueuePart], wanted: ReadFilter, per_range: int) -> list[ReadRange]:
    """Return ranges that together hold every position once, in delivery order, with about *per_range* messages each.

    If an identifier leads to the messages, one range for each place is enough.

    Raises:
        MQIError: 2009, Redis cannot be reached; 2035.
    """
    ranges: list[ReadRange] = []
    for place in places:
        cuts = [] if wanted.has_identifier else _cuts(group, place, per_range)
        newest = int(group.command(_queue_key(group, place), "GET", group.structure(place.structure).sequence) or 0)
        edges = [0, *cuts, _POSITION_MAX]
        ranges += [ReadRange(place, *edge, newest) for edge in pairwise(edges)]
    return ranges


def _cuts(group: Group, place: QueuePart, per_range: int) -> list[int]:
    """Return positions at which to cut, rising. Any cuts are correct; these make the ranges even."""
    (fewer, _), (more, key) = sorted(zip(_sizes(group, [place])[place], _sets(group, place), strict=True))
    parts = -(-(fewer + more) // per_range)
    scores = [
        group.command(key, "ZRANGE", key, rank, rank, "WITHSCORES")
        for rank in (more * part // parts for part in range(1, parts))
    ]
    return sorted({int(float(found[1])) for found in scores if found})


def counts_available(group: Group, places: Iterable[QueuePart]) -> dict[QueuePart, int]:
    """Return about how many messages can be read now at each place. Raises MQIError: 2009; 2035.

    It costs one round trip for each structure.
    """
    return {place: sum(sizes) for place, sizes in _sizes(group, places).items()}


def _sizes(group: Group, places: Iterable[QueuePart]) -> dict[QueuePart, tuple[int, int]]:
    """Return the sizes of the two sets with the messages of each place."""
    found: dict[QueuePart, tuple[int, int]] = {}
    for there in _by_structure(places).values():
        keys = [key for place in there for key in _sets(group, place)]
        sizes = [int(size) for size in group.commands(keys[0], [(b"ZCARD", key.encode()) for key in keys])]
        found |= dict(zip(there, zip(sizes[::2], sizes[1::2], strict=True), strict=True))
    return found


def oldest_ages_ms(group: Group, places: Iterable[QueuePart]) -> dict[QueuePart, int]:
    """Return how long ago the oldest message at each place was put, by Redis' clock. Raises MQIError: 2009; 2035.

    A place without messages, or whose oldest one does not say when it was put, is not in the result.
    """
    found: dict[QueuePart, int] = {}
    for structure, there in _by_structure(places).items():
        ages = ages_ms(group, structure, [place.queue for place in there])
        found |= {place: age for place, age in zip(there, ages, strict=True) if age is not None}
    return found


def _by_structure(places: Iterable[QueuePart]) -> dict[str, list[QueuePart]]:
    """Return places by their structure."""
    found: dict[str, list[QueuePart]] = {}
    for place in places:
        found.setdefault(place.structure, []).append(place)
    return found


def _sets(group: Group, place: QueuePart) -> tuple[str, str]:
    """Return the sets with the messages of a queue. Members of groups have a set of their own."""
    queue = group.structure(place.structure).queue(place.queue)
    return queue.available, queue.members


def _queue_key(group: Group, place: QueuePart) -> str:
    return group.structure(place.structure).queue(place.queue).queue


def is_stored(group: Group, structure: str, message_id: str) -> bool:
    """Return whether a structure holds a message, in whatever state. Raises MQIError: 2009; 2035."""
    key = group.structure(structure).messages
    return bool(group.command(key, "HEXISTS", key, message_id))


def redis_ms(group: Group) -> int:
    """Return the time by Redis' clock, milliseconds since 1970. Raises MQIError: 2009; 2035."""
    seconds, micros = group.command(group.keys.group, "TIME")
    return int(seconds) * 1000 + int(micros) // 1000
