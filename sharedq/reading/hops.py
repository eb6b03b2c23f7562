"""How long the latest hops took: from a message's put to its transfer, by the journal's own times."""

from __future__ import annotations

from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.reading.figures import GroupFigures

#: The latest entries of each journal that are looked at: a tenth of a millisecond of Redis.
_ENTRIES = 100


def recent_hops(group: Group, figures: GroupFigures) -> list[float]:
    """Return the seconds of each hop of which both ends are among the latest entries of a journal, in no order.

    A hop from one structure to another has its transfer in the journal of the first.
    """
    found: list[float] = []
    for structure in figures.structures:
        if structure.is_reachable and structure.journal_entries:
            key = group.structure(structure.name).journal
            try:
                entries = group.command(key, "XREVRANGE", key, "+", "-", "COUNT", _ENTRIES)
            except MQIError:
                # It went a moment ago, or this user may not read the journal.
                continue
            found += _hops(entries)
    return found


def _hops(entries: list[tuple[bytes, list[bytes]]]) -> list[float]:
    moved_ms: dict[bytes, int] = {}
    found = []
    for stream_id, flat in entries:
        at_ms = int(stream_id.partition(b"-")[0])
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        # The latest come first.
        for message_id in fields.get(b"i", b"").split():
            if fields[b"e"] == b"transfer":
                moved_ms[message_id] = at_ms
            elif fields[b"e"] == b"put" and message_id in moved_ms:
                found.append((moved_ms[message_id] - at_ms) / 1000)
    return found
