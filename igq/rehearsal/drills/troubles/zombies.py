"""The journals' proof that a process did nothing after it was declared dead."""

from __future__ import annotations

from sharedq.members.group import Group
from sharedq.reading.journal import read_entries


def deeds_since(group: Group, incarnation: str, since_ms: int) -> list[str]:
    """List what was done under *incarnation*, or a program of it, after *since_ms* of the Redis clock: a line each."""
    client = group.client()
    found: list[str] = []
    for name in group.structure_names():
        for entry in read_entries(client, group.structure(name), f"{since_ms + 1}-0"):
            owner = entry.fields[b"o"].decode()
            if owner.startswith(f"{incarnation}."):
                found.append(f"{entry.fields[b'e'].decode()} by {owner} in {name} at {entry.stream_id}")
    return found
