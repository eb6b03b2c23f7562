"""Whether a structure has lost what the directory says is in it.

A queue is defined in its structure first, and deleted there last: one that only the directory has is lost.
"""

from __future__ import annotations

from sharedq.objects.directory import Directory
from sharedq.objects.local_queues import LocalQueues


def shared_queues(directory: Directory, structure: str) -> list[str]:
    """Names of the shared queues that the directory has in a structure."""
    return sorted(
        {
            entry.name
            for entry in directory.scan()
            if entry.scope == "S" and entry.is_in_structure and entry.structure == structure
        }
    )


def lost_queues(directory: Directory, queues: LocalQueues, structure: str) -> list[str]:
    """Names of those that the structure does not have."""
    names = shared_queues(directory, structure)
    there = queues.read(structure, names)
    return [name for name in names if name not in there]


def has_lost_all(directory: Directory, queues: LocalQueues, structure: str) -> bool:
    """Whether queues are defined in the structure, and it has none of them."""
    names = shared_queues(directory, structure)
    return bool(names) and not queues.read(structure, names)
