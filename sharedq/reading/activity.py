"""The latest activity of queues, by the journal's own times: last put, last get, time on the queue, time of a hop.

A put and a get write the journal anyway, so they pay nothing for this. It reaches as far back as the entries that are
read; an activity that was earlier, or was not recorded because the journal is off, is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sharedq.members.group import Group
from sharedq.objects.definitions.names import queue_of

#: The latest entries of a journal that are looked at: half a millisecond of Redis.
ENTRIES = 500
#: The parts that one more message has in the short-term and in the long-term average.
_SHORT, _LONG = 4, 32


@dataclass(slots=True)
class QueueActivity:
    """A queue's latest activity. None: there was none among the entries.

    Attributes:
        last_put_ms, last_get_ms: ms of the Redis clock.
        short_s, long_s: averages of the time that messages were on the queue before they were got, seconds.
    """

    last_put_ms: int | None = None
    last_get_ms: int | None = None
    short_s: float | None = None
    long_s: float | None = None

    def note_stay(self, seconds: float) -> None:
        """Take the time that one more message was on the queue into the averages."""
        self.short_s = seconds if self.short_s is None else self.short_s + (seconds - self.short_s) / _SHORT
        self.long_s = seconds if self.long_s is None else self.long_s + (seconds - self.long_s) / _LONG


@dataclass(slots=True)
class Activity:
    """The latest activity in a structure: by queue, and the seconds that each hop took from put to transfer."""

    queues: dict[str, QueueActivity] = field(default_factory=dict)
    hops: list[float] = field(default_factory=list)


def read_activity(group: Group, structure: str) -> Activity:
    """Return the latest activity in a structure.

    Raises:
        MQIError: 2009, its server cannot be reached; 2035, this user may not read the journal.
    """
    key = group.structure(structure).journal
    return activity_of(reversed(group.command(key, "XREVRANGE", key, "+", "-", "COUNT", ENTRIES)))


def activity_of(entries: Iterable[tuple[bytes, list[bytes]]]) -> Activity:
    """Return what journal entries, the oldest first, tell. Pure."""
    found = Activity()
    #: Message id -> when it came to where it is.
    arrived_ms: dict[bytes, int] = {}
    for stream_id, flat in entries:
        at_ms = int(stream_id.partition(b"-")[0])
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        event, ids = fields[b"e"], fields.get(b"i", b"").split()
        if event == b"put":
            _queue(found, fields[b"q"]).last_put_ms = at_ms
            arrived_ms.update(dict.fromkeys(ids, at_ms))
        elif event == b"get":
            _note_gets(_queue(found, fields[b"q"]), ids, at_ms, arrived_ms)
        elif event == b"transfer":
            found.hops += [(at_ms - arrived_ms[each]) / 1000 for each in ids if each in arrived_ms]
            _note_gets(_queue(found, fields[b"q"]), ids, at_ms, arrived_ms)
            _queue(found, fields[b"t"]).last_put_ms = at_ms
            arrived_ms.update(dict.fromkeys(ids, at_ms))
    return found


def _queue(found: Activity, name: bytes) -> QueueActivity:
    return found.queues.setdefault(queue_of(name.decode()), QueueActivity())


def _note_gets(queue: QueueActivity, ids: Iterable[bytes], at_ms: int, arrived_ms: dict[bytes, int]) -> None:
    queue.last_get_ms = at_ms
    for each in ids:
        if each in arrived_ms:
            queue.note_stay((at_ms - arrived_ms[each]) / 1000)
