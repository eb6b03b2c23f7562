"""The limit of a journal in bytes. The limit in entries is the business of the scripts that append to it."""

from __future__ import annotations

from sharedq.members.group import Group

#: The most entries that one call drops, so that Redis does not stand still.
_PER_CALL = 10_000
#: How much of the limit stays after a trim, so that the next look has nothing to do.
_KEPT = 0.95


def trim_journal(group: Group, structure: str, max_bytes: int) -> bool:
    """Drop the oldest entries of a journal that takes more than *max_bytes*. True if there may be more to drop.

    Redis estimates the bytes of a stream from a few of its nodes.

    Raises:
        MQIError: 2009, Redis cannot be reached; 2035, the user may not run MEMORY USAGE, XLEN or XTRIM.
    """
    key = group.structure(structure).journal
    taken = int(group.command(key, "MEMORY", "USAGE", key) or 0)
    if taken <= max_bytes:
        return False
    keep = int(int(group.command(key, "XLEN", key)) * max_bytes / taken * _KEPT)
    return int(group.command(key, "XTRIM", key, "MAXLEN", "~", keep, "LIMIT", _PER_CALL)) > 0
