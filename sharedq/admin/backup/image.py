"""What a backup knows of a structure that goes on being used: which messages are on its queues. Pure.

It is told three things, each true of one moment: pages of queues, journal entries in their order, and how messages and
units of work stand that it asked about. The journal says what has changed, never how it stands now: for that a message
becomes *doubtful*, and is looked up. A message that a unit of work has got is still on its queue here, and one that it
has put is not yet: both until its end.

An end is applied in chunks, so a unit of work is looked at until it is gone from the structure; only then is known
what became of its messages. When nothing is doubtful, no unit of work is to be looked at, and the journal has no entry
more, all in one moment, this is what the structure holds at that moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class Sink(Protocol):
    """Where messages go: `sharedq.admin.backup.file.BackupWriter`."""

    def message(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        """A message that is on a queue."""

    def gone(self, ids: list[bytes]) -> None:
        """Messages that are not there any more."""


class Operation(NamedTuple):
    """What a unit of work did in one call: ``kind`` is P for puts, else gets."""

    kind: bytes
    queue: bytes
    messages: tuple[tuple[bytes, int], ...]


@dataclass(slots=True)
class Unit:
    """A unit of work that has not ended yet, as far as is known.

    Attributes:
        known: operations of its list that were read.
        is_shorter: its list has become shorter since it was last asked for.
        puts, gets: message -> queue.
        end: how it ends, once it does: ``commit`` or ``backout``.
    """

    id: bytes
    owner: bytes
    known: int = 0
    is_shorter: bool = False
    puts: dict[bytes, bytes] = field(default_factory=dict)
    gets: dict[bytes, bytes] = field(default_factory=dict)
    end: bytes = b""


class Image:
    """The messages of a structure, written to *sink* as they are found."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._live: set[bytes] = set()
        self._doubtful: dict[bytes, bytes] = {}
        self._units: dict[bytes, Unit] = {}
        self._to_look_at: dict[bytes, None] = {}
        #: Messages that open units of work have got: queue, place, unit of work.
        self._held: dict[bytes, tuple[bytes, int, bytes]] = {}

    def __len__(self) -> int:
        return len(self._live)

    @property
    def is_certain(self) -> bool:
        """Whether nothing is left to ask."""
        return not self._doubtful and not self._to_look_at

    @property
    def is_waiting(self) -> bool:
        """Whether all that is left is the end of units of work, which others have begun."""
        return not self._doubtful and bool(self._to_look_at)

    def is_to_look_at(self, unit_ids: Iterable[bytes]) -> bool:
        """Whether one of these units of work was not read up to its latest operation, nor is gone."""
        return any(unit_id in self._to_look_at for unit_id in unit_ids)

    # -- what to ask -------------------------------------------------------------------------------------------

    def doubtful(self, count: int) -> dict[bytes, list[bytes]]:
        """Messages to look up, at most *count*, by queue."""
        found: dict[bytes, list[bytes]] = {}
        for _, (message_id, queue) in zip(range(count), self._doubtful.items(), strict=False):
            found.setdefault(queue, []).append(message_id)
        return found

    def units_to_look_at(self, count: int) -> list[Unit]:
        """Units of work to look at, at most *count*."""
        return [self._units[unit_id] for _, unit_id in zip(range(count), self._to_look_at, strict=False)]

    def open_units(self, messages: int) -> list[Unit]:
        """Units of work that are open: those that have put or got no more than so many messages altogether."""
        found: list[Unit] = []
        for unit in self._units.values():
            count = len(unit.puts) + len(unit.gets)
            if count <= messages:
                messages -= count
                found.append(unit)
        return found

    # -- what is told ------------------------------------------------------------------------------------------

    def on_queue(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        """A message that is on *queue*, at its place."""
        self._live.add(message_id)
        self._sink.message(queue, message_id, score, record)

    def unit(self, unit_id: bytes, owner: bytes) -> None:
        """There is a unit of work."""
        self._unit(unit_id, owner)
        self._to_look_at[unit_id] = None

    def entry(self, fields: dict[bytes, bytes]) -> None:
        """The next journal entry."""
        event, queue, ids = fields[b"e"], fields.get(b"q", b""), fields.get(b"i", b"").split()
        unit_id = fields.get(b"u", b"")
        if event in (b"commit", b"backout"):
            # One that is not known had ended before the queues were read.
            if unit_id in self._units:
                self._units[unit_id].end = event
                self._to_look_at[unit_id] = None
        elif unit_id and event in (b"put", b"get", b"expire"):
            # To be reported what has expired is taken as by a get.
            unit = self._unit(unit_id, fields[b"o"])
            mine = unit.puts if event == b"put" else unit.gets
            mine.update(dict.fromkeys(ids, queue))
            if event != b"put" and not self._live.issuperset(ids):
                # Where these stood only its list says.
                self._to_look_at[unit_id] = None
        elif event == b"undo":
            # A put was refused in its middle. What is behind it in the list is not where it was counted to be.
            unit = self._unit(unit_id, fields[b"o"])
            unit.known, unit.is_shorter = 0, True
            self._to_look_at[unit_id] = None
            for message_id in ids:
                unit.puts.pop(message_id, None)
        elif event == b"put":
            self._doubt(ids, queue)
        elif event == b"transfer":
            self._are_gone(ids)
            self._doubt(ids, fields[b"t"])
        else:
            self._are_gone(ids)
            if event == b"return":
                self._doubt(ids, queue)

    def looked_up(self, queue: bytes, message_id: bytes, score: int | None, record: bytes) -> None:
        """How a message stands.

        Args:
            score: None where it is neither available nor locked nor waits to be reported.
            record: empty where it is gone, or not persistent.
        """
        if self._doubtful.get(message_id, queue) != queue:
            # It has been moved since it was asked for: how it stands there is still to be asked.
            return
        was_doubtful = self._doubtful.pop(message_id, None) is not None
        if score is None and message_id in self._held:
            queue, score, _ = self._held[message_id]
        if record and score is not None and (was_doubtful or message_id not in self._live):
            self.on_queue(queue, message_id, score, record)

    def looked_at(self, unit_id: bytes, state: bytes, operations: Sequence[Operation], is_all: bool) -> None:
        """How a unit of work stands.

        Args:
            state: ``A``, ``B`` or ``C``; empty when it is not there.
            operations: what it has done beyond what is known.
            is_all: *operations* go up to its latest.
        """
        unit = self._units.get(unit_id)
        if unit is None:
            return
        if state in (b"B", b"C"):
            # Its list gets shorter: it is looked at until it is gone.
            self._to_look_at[unit_id] = None
            return
        if not state:
            self._to_look_at.pop(unit_id, None)
            if unit.end:
                self._ended(unit)
            return
        if unit.is_shorter:
            # These operations were counted from a place that was. Once more, from the beginning.
            unit.is_shorter = False
            self._to_look_at[unit_id] = None
            return
        unit.known += len(operations)
        for kind, queue, messages in operations:
            if kind == b"P":
                unit.puts.update({message_id: queue for message_id, _ in messages})
                continue
            for message_id, score in messages:
                unit.gets[message_id] = queue
                if message_id not in self._live:
                    self._held[message_id] = queue, score, unit_id
                    self._doubtful[message_id] = queue
        if is_all:
            self._to_look_at.pop(unit_id, None)
        else:
            self._to_look_at[unit_id] = None

    # -- inside ------------------------------------------------------------------------------------------------

    def _unit(self, unit_id: bytes, owner: bytes) -> Unit:
        return self._units.setdefault(unit_id, Unit(unit_id, owner))

    def _ended(self, unit: Unit) -> None:
        del self._units[unit.id]
        for message_id in unit.gets:
            # Another one may have got it since.
            if message_id in self._held and self._held[message_id][2] == unit.id:
                del self._held[message_id]
        stays, goes = (unit.puts, unit.gets) if unit.end == b"commit" else (unit.gets, unit.puts)
        self._are_gone(goes)
        # What it both put and got is gone: a get finds only what was committed before.
        for message_id, queue in stays.items():
            # One that has been moved since is doubtful where it is by now.
            if message_id not in goes:
                self._doubtful.setdefault(message_id, queue)

    def _are_gone(self, ids: Iterable[bytes]) -> None:
        ids = list(ids)
        for message_id in ids:
            self._doubtful.pop(message_id, None)
        known = [message_id for message_id in ids if message_id in self._live]
        if known:
            self._live.difference_update(known)
            self._sink.gone(known)

    def _doubt(self, ids: Iterable[bytes], queue: bytes) -> None:
        self._doubtful.update(dict.fromkeys(ids, queue))


def read_operation(element: bytes) -> Operation:
    """An element of a unit of work's list; see docs/reference/key-space.md.

    Raises:
        ValueError: it is none.
    """
    head, queue, ids_text, scores_text = element.split(b"\n")
    ids, scores = ids_text.split(), [int(score) for score in scores_text.split()]
    if len(scores) == 1:
        scores = [scores[0] + position for position in range(len(ids))]
    return Operation(head[:1], queue, tuple(zip(ids, scores, strict=True)))
