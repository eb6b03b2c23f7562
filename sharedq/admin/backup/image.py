"""A backup's knowledge of a structure that stays in use: which messages are on its queues. Pure.

It is told three things, each true at one moment: pages of queues, journal entries in their order, and the state of
messages and units of work that it asked about. The journal says what has changed, never the present state: a changed
message becomes *doubtful* and is looked up. A message that a unit of work has got is still on its queue here, and one
that it has put is not yet: both until the unit of work ends.

An end is applied in chunks, so a unit of work is looked at until the structure no longer has it; only then the fate of
its messages is known. If at one moment nothing is doubtful, no unit of work must be looked at, and the journal has no
further entry, then this is what the structure holds at that moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class MessageReceiver(Protocol):
    """The receiver of messages: `sharedq.admin.backup.file.BackupWriter`."""

    def message(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        """Take a message that is on a queue."""

    def gone(self, ids: list[bytes]) -> None:
        """Take the ids of messages that are no longer there."""


class Operation(NamedTuple):
    """The part of a unit of work that one call did. ``kind`` is P for puts, else gets."""

    kind: bytes
    queue: bytes
    messages: tuple[tuple[bytes, int], ...]


@dataclass(slots=True)
class Unit:
    """A unit of work that has not ended yet, as far as is known.

    Attributes:
        known: the number of operations of its list that were read.
        is_shorter: its list has become shorter since it was last requested.
        puts, gets: message -> queue.
        end: how it ends, once that is known: ``commit`` or ``backout``.
    """

    id: bytes
    owner: bytes
    known: int = 0
    is_shorter: bool = False
    puts: dict[bytes, bytes] = field(default_factory=dict)
    gets: dict[bytes, bytes] = field(default_factory=dict)
    end: bytes = b""


class Image:
    """The messages of a structure, which it writes to *sink* as they are found."""

    def __init__(self, sink: MessageReceiver) -> None:
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
    def doubts(self) -> int:
        """The number of doubtful messages."""
        return len(self._doubtful)

    @property
    def is_certain(self) -> bool:
        """Whether there is nothing left to ask."""
        return not self._doubtful and not self._to_look_at

    @property
    def is_waiting(self) -> bool:
        """Whether only ends of units of work are left to wait for, which others have begun."""
        return not self._doubtful and bool(self._to_look_at)

    def is_to_look_at(self, unit_ids: Iterable[bytes]) -> bool:
        """Whether one of these units of work still exists and was not read up to its latest operation."""
        return any(unit_id in self._to_look_at for unit_id in unit_ids)

    # -- what to ask -------------------------------------------------------------------------------------------

    def doubtful(self, count: int) -> dict[bytes, list[bytes]]:
        """Return messages to look up, at most *count*, by queue: the latest, because queues lose the oldest first."""
        found: dict[bytes, list[bytes]] = {}
        for _, (message_id, queue) in zip(range(count), reversed(self._doubtful.items()), strict=False):
            found.setdefault(queue, []).append(message_id)
        return found

    def units_to_look_at(self, count: int) -> list[Unit]:
        """Return units of work to look at, at most *count*."""
        return [self._units[unit_id] for _, unit_id in zip(range(count), self._to_look_at, strict=False)]

    def open_units(self, messages: int) -> list[Unit]:
        """Return open units of work that together have put or got at most *messages* messages."""
        found: list[Unit] = []
        for unit in self._units.values():
            count = len(unit.puts) + len(unit.gets)
            if count <= messages:
                messages -= count
                found.append(unit)
        return found

    # -- what is told ------------------------------------------------------------------------------------------

    def on_queue(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        """Note a message on *queue*, with its place."""
        self._live.add(message_id)
        self._sink.message(queue, message_id, score, record)

    def unit(self, unit_id: bytes, owner: bytes) -> None:
        """Note that a unit of work exists."""
        self._unit(unit_id, owner)
        self._to_look_at[unit_id] = None

    def entry(self, fields: dict[bytes, bytes]) -> None:
        """Take in the next journal entry."""
        event, queue, ids = fields[b"e"], fields.get(b"q", b""), fields.get(b"i", b"").split()
        unit_id = fields.get(b"u", b"")
        if event in (b"commit", b"backout"):
            # A unit of work that is not known had ended before the queues were read.
            if unit_id in self._units:
                self._units[unit_id].end = event
                self._to_look_at[unit_id] = None
        elif unit_id and event in (b"put", b"get", b"expire"):
            # An expired message is taken for its report as by a get.
            unit = self._unit(unit_id, fields[b"o"])
            mine = unit.puts if event == b"put" else unit.gets
            mine.update(dict.fromkeys(ids, queue))
            if event != b"put" and not self._live.issuperset(ids):
                # Only the list of the unit of work says where these messages were.
                self._to_look_at[unit_id] = None
        elif event == b"undo":
            # A put was refused halfway, so later operations in the list have moved.
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
        """Take in the state of a message.

        Args:
            score: None if the message is neither available, nor locked, nor waiting to be reported.
            record: empty if the message is gone, or not persistent.
        """
        if self._doubtful.get(message_id, queue) != queue:
            # It has moved since it was requested: ask for its state there.
            return
        was_doubtful = self._doubtful.pop(message_id, None) is not None
        if score is None and message_id in self._held:
            queue, score, _ = self._held[message_id]
        if record and score is not None and (was_doubtful or message_id not in self._live):
            self.on_queue(queue, message_id, score, record)

    def looked_at(self, unit_id: bytes, state: bytes, operations: Sequence[Operation], is_all: bool) -> None:
        """Take in the state of a unit of work.

        Args:
            state: ``A``, ``B`` or ``C``. Empty if the unit of work does not exist.
            operations: its operations beyond the known ones.
            is_all: whether *operations* include its latest.
        """
        unit = self._units.get(unit_id)
        if unit is None:
            return
        if state in (b"B", b"C"):
            # Its list is getting shorter: look at it until it is gone.
            self._to_look_at[unit_id] = None
            return
        if not state:
            self._to_look_at.pop(unit_id, None)
            if unit.end:
                self._ended(unit)
            return
        if unit.is_shorter:
            # These operations were counted from a wrong place. Read again from the beginning.
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
        # A message that it both put and got is gone: a get finds only committed messages.
        for message_id, queue in stays.items():
            # A message that has moved since is doubtful at its present place.
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
    """Parse an element of a unit of work's list; see docs/reference/key-space.md.

    Raises:
        ValueError: it is not valid.
    """
    head, queue, ids_text, scores_text = element.split(b"\n")
    ids, scores = ids_text.split(), [int(score) for score in scores_text.split()]
    if len(scores) == 1:
        scores = [scores[0] + position for position in range(len(ids))]
    return Operation(head[:1], queue, tuple(zip(ids, scores, strict=True)))
