"""The queues that a query reads: names separated by commas, or a pattern for the names of local queues.

A pattern has ``*`` for any characters and ``?`` for one. It does not find transmission queues, nor, unless it begins
so, queues whose names begin with ``SYSTEM.``. At one manager it finds that manager's private queues too.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from igq.pipeline.claims.members import names_in
from igq.pipeline.errors import PipelineError
from sharedq.members.group import Group
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_parts
from sharedq.reading.queue import QueuePart

_SYSTEM = "SYSTEM."


def is_pattern(queues: str) -> bool:
    """Whether these are the queues that fit a pattern."""
    return "*" in queues or "?" in queues


def places_of(group: Group, queues: str, qmgr: str, here: str) -> list[QueuePart]:
    """Where the messages of *queues* are now, each place once.

    Args:
        qmgr: the managers at which the query may read.
        here: the manager whose definitions count; "" for shared queues only.

    Raises:
        PipelineError: no queue fits the pattern; or a queue is private, and the query may read at other managers, too.
        MQIError: as for ``find_parts``.
    """
    found: dict[QueuePart, None] = {}
    for name in _fitting(group, queues, qmgr, here) if is_pattern(queues) else names_in(queues):
        places = find_parts(group, name, here)
        # A structure of a manager has a mark and its name.
        if qmgr != here and any(place.structure.startswith("@") for place in places):
            raise PipelineError(f"queue {name}: is a private queue of {here}: say qmgr={here}")
        found |= dict.fromkeys(places)
    return list(found)


def _fitting(group: Group, pattern: str, qmgr: str, here: str) -> list[str]:
    """The names of the local queues that fit a pattern. Raises PipelineError: there are none."""
    beginning = re.split("[*?]", pattern)[0]
    shown = Repository(group, here or None).display_queues(
        f"{beginning}*",
        (QueueLocal.kind,),
        "LIVE" if qmgr == here else "SHARED",
        without=(SYSTEM_QSG_TRANSMIT_QUEUE,),
    )
    found = {
        each.name
        for each in shown
        if fnmatchcase(each.name, pattern)
        and isinstance(each.definition, QueueLocal)
        and each.definition.usage == "NORMAL"
        and (beginning.startswith(_SYSTEM) or not each.name.startswith(_SYSTEM))
    }
    if not found:
        raise PipelineError(f"queuePattern={pattern}: no local queue has such a name")
    return sorted(found)
