"""Checks whether a structure has lost what the directory says is in it.

The first definition in a structure creates its counter, which nothing ever deletes. A deleted queue leaves its
structure before it leaves the directory. So if the directory has queues in a structure without a counter, they are
lost.
"""

from __future__ import annotations

from sharedq.objects.store.directory import Directory
from sharedq.objects.store.local_queues import LocalQueues

#: An operator can do this. RECOVER CFSTRUCT refuses if there is no backup, or none is possible.
LOST_QUEUES_REMEDY = "RECOVER CFSTRUCT brings them back from a backup, DEFINE with REPLACE without their messages"


def queues_in(directory: Directory, structure: str) -> list[str]:
    """Return the names of the directory's queues in a structure."""
    found = (entry for entry in directory.scan() if entry.scope != "G" and entry.is_in_structure)
    return sorted({entry.name for entry in found if entry.structure == structure})


def lost_queues(directory: Directory, queues: LocalQueues, structure: str) -> list[str]:
    """Return the names of the queues that the structure lacks."""
    lost = _missing(directory, queues, structure)
    # A queue that was deleted after it was listed is in the directory no more.
    still = _missing(directory, queues, structure) if lost else []
    return [name for name in lost if name in still]


def _missing(directory: Directory, queues: LocalQueues, structure: str) -> list[str]:
    names = queues_in(directory, structure)
    there = queues.read(structure, names)
    return [name for name in names if name not in there]


def has_lost_all(directory: Directory, queues: LocalQueues, structure: str) -> bool:
    """Whether queues are defined in the structure and it has none of them."""
    names = queues_in(directory, structure)
    return bool(names) and not queues.read(structure, names)
