"""Destinations of messages on the agent's part of the transmit queue: codes, and the queues that they mean."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from sharedq.messages.record import score_base
from sharedq.redis.keys import QueueKeys
from sharedq.scripts.reads import destination_name, queue_definition
from sharedq.session.connection import Connection
from sharedq.session.facts import QueueFacts
from sharedq.session.handle import StructureAccess

#: The number of destinations to remember. Puts may move messages to these while the agent waits.
ACTIVE_MAX = 16
#: A move names the destinations that received something in this many moves before it. Each name costs time.
RECENT_MOVES = 8
#: In the text for puts, the prefix of the version of a queue that takes no persistent messages.
_NO_PERSISTENT = "~"


@dataclass(slots=True)
class Destination:
    """A local queue of the agent's own structure: messages for it move without being read."""

    name: str
    code: str
    queue: QueueKeys
    version: str
    facts: QueueFacts

    def arguments(self, length_max_at_source: int) -> tuple[str | int | float, ...]:
        """Return this destination as arguments of a transfer call."""
        base = "G" if self.facts.is_group_indexed else self._base
        length_max = self._length_max(length_max_at_source)
        if self.facts.is_temporary:
            # A negative length: the queue takes no persistent messages.
            length_max = -self.facts.max_msg_length - 1
        return (self.name, self.code, self.version, self.facts.max_depth, base, length_max)

    def move(self, length_max_at_source: int) -> str:
        """Return what a put may do with a plain single message for this queue while the agent waits; "": nothing."""
        if self._length_max(length_max_at_source) or not self.facts.max_depth:
            return ""
        taken = _NO_PERSISTENT if self.facts.is_temporary else ""
        return f"{self.code} {taken}{self.version} {self._base}\n"

    @property
    def _base(self) -> str:
        """The priority place of every message. "": each message keeps its own priority."""
        return score_base(self.facts.default_priority) if self.facts.is_fifo else ""

    def _length_max(self, length_max_at_source: int) -> int:
        """The longest body. 0: whatever fits the transmission queue fits here, and need not be measured."""
        return self.facts.max_msg_length if self.facts.max_msg_length < length_max_at_source else 0


class Destinations:
    """The latest `ACTIVE_MAX` destinations in use. Iteration yields those that the next call names."""

    def __init__(self, connection: Connection, access: StructureAccess) -> None:
        self._connection, self._access = connection, access
        self._active: OrderedDict[str, Destination] = OrderedDict()
        self._elsewhere: set[bytes] = set()
        #: The number of moves so far, and by code the latest one that used the destination.
        self._moves, self._used_in = 0, dict[str, int]()

    def __iter__(self) -> Iterator[Destination]:
        oldest = self._moves - RECENT_MOVES
        return (each for code, each in self._active.items() if self._used_in[code] >= oldest)

    def moved_to(self, codes: Iterable[bytes]) -> None:
        """Note that a move has reached the destinations with these codes."""
        self._moves += 1
        for code in codes:
            self._use(code.decode())

    def _use(self, code: str) -> None:
        if code in self._active:
            self._used_in[code] = self._moves

    def moves(self, length_max_at_source: int) -> str:
        """Return what puts may move while the agent waits: see structure/transfer."""
        return "".join([destination.move(length_max_at_source) for destination in self._active.values()])

    def learn(self, codes: Collection[bytes]) -> bool:
        """Look up unknown codes. True if all of them are queues to which messages can be moved.

        Messages for the others (in another structure, aliases, remote, put-inhibited, missing) are delivered by puts.
        """
        for code in codes:
            if code.decode() in self._active:
                self._use(code.decode())
            elif code not in self._elsewhere:
                name = self._name_of(code)
                if name is None or not self._load(name, code.decode()):
                    self._elsewhere.add(code)
        return self._elsewhere.isdisjoint(codes)

    def look_again(self) -> None:
        """Forget the codes that led elsewhere: each may be a queue of this structure by now."""
        self._elsewhere.clear()

    def reload(self, names: Iterable[bytes]) -> None:
        """Read changed definitions again."""
        for name in names:
            for destination in list(self._active.values()):
                if destination.name == name.decode():
                    del self._active[destination.code], self._used_in[destination.code]
                    self._load(destination.name, destination.code)

    def _name_of(self, code: bytes) -> str | None:
        name = destination_name(self._connection, self._access.keys, code)
        return None if name is None else name.decode()

    def _load(self, name: str, code: str) -> bool:
        queue = self._access.keys.queue(name)
        found = queue_definition(self._connection, queue)
        if found is None:
            return False
        version, definition = found
        facts = QueueFacts.of(definition)
        if facts.is_put_inhibited or facts.is_transmission:
            return False
        self._active[code] = Destination(name, code, queue, version.decode(), facts)
        self._use(code)
        if len(self._active) > ACTIVE_MAX:
            del self._used_in[self._active.popitem(last=False)[0]]
        return True
