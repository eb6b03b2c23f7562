"""A model of queues: MQPUT, MQGET, MQCMIT and MQBACK of several connections, in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

#: A cursor that is on no message yet.
BEFORE_ALL = (-1, -1)


@dataclass
class Message:
    """A message and its place: highest priority first, then by arrival, for ever."""

    body: bytes
    queue: str
    priority: int
    correl_id: bytes
    arrival: int = -1
    backout_count: int = 0
    #: An asynchronous put by a definition that is no longer in force: the message will not arrive.
    is_doomed: bool = False
    properties: dict[str, str | int] = field(default_factory=dict)

    @property
    def place(self) -> tuple[int, int]:
        """The smallest one is got first."""
        return (9 - self.priority, self.arrival)


Fits = Callable[[Message], bool]


def any_message(_: Message) -> bool:
    """A get without a selection asks for this."""
    return True


@dataclass
class Program:
    """A connection: its unit of work, its unsent puts, and its browse cursors."""

    put: list[Message] = field(default_factory=list)
    got: list[Message] = field(default_factory=list)
    pending: list[Message] = field(default_factory=list)
    #: A put of its unit of work has failed, so the commit will fail.
    has_failed: bool = False
    #: Queues that were altered since it asked for them; those that it knows as inhibited; and those where an
    #: asynchronous put of its has failed. Of the last two its next one asks.
    stale: set[str] = field(default_factory=set)
    inhibited: set[str] = field(default_factory=set)
    asks: set[str] = field(default_factory=set)
    cursors: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)


class Model:
    """Queues as IBM describes them."""

    def __init__(self, programs: int) -> None:
        self.available: list[Message] = []
        self.programs = [Program() for _ in range(programs)]
        self._arrivals = 0

    def on_queue(self, queue: str) -> list[Message]:
        """The available messages, in delivery order."""
        return sorted((m for m in self.available if m.queue == queue), key=lambda m: m.place)

    def alter(self, queue: str) -> None:
        """ALTER QLOCAL of an attribute that makes no difference here."""
        for program in self.programs:
            program.stale.add(queue)
            for message in program.pending:
                message.is_doomed = message.is_doomed or message.queue == queue

    def ask(self, number: int, queue: str, handle: str = "") -> None:
        """An answered call learns the definition in force, for its handle. The handle without a name puts."""
        self.send_pending(number)
        if not handle:
            self.learn(number, queue)

    def learn(self, number: int, queue: str) -> None:
        """The definition in force allows everything."""
        self.programs[number].stale.discard(queue)
        self.programs[number].inhibited.discard(queue)

    def put(self, number: int, message: Message, *, in_unit: bool) -> None:
        """MQPUT."""
        self.ask(number, message.queue)
        self._arrive(message)
        (self.programs[number].put if in_unit else self.available).append(message)

    def put_later(self, number: int, message: Message) -> None:
        """MQPUT with MQPMO_ASYNC_RESPONSE under syncpoint."""
        program = self.programs[number]
        if message.queue in program.asks | program.inhibited:
            self.learn(number, message.queue)
            program.asks.discard(message.queue)
        message.is_doomed = message.queue in program.stale
        program.pending.append(message)

    def send_pending(self, number: int) -> None:
        """Buffered puts arrive with the next call that needs an answer."""
        program = self.programs[number]
        for message in program.pending:
            if message.is_doomed:
                program.has_failed = True
                program.asks.add(message.queue)
            else:
                self._arrive(message)
                program.put.append(message)
        program.pending = []

    def _arrive(self, message: Message) -> None:
        self._arrivals += 1
        message.arrival = self._arrivals

    def get(
        self, number: int, queue: str, *, in_unit: bool, handle: str = "", fits: Fits = any_message
    ) -> Message | None:
        """MQGET of the first message that fits."""
        self.ask(number, queue, handle)
        for message in self.on_queue(queue):
            if fits(message):
                self.available.remove(message)
                if in_unit:
                    self.programs[number].got.append(message)
                return message
        return None

    def browse(
        self, number: int, queue: str, *, is_first: bool, handle: str = "", fits: Fits = any_message
    ) -> Message | None:
        """MQGET with MQGMO_BROWSE_FIRST or _NEXT. Each handle of a queue has a cursor of its own."""
        self.ask(number, queue, handle)
        cursors = self.programs[number].cursors
        start = BEFORE_ALL if is_first else cursors.get((queue, handle), BEFORE_ALL)
        for message in self.on_queue(queue):
            if message.place > start and fits(message):
                cursors[queue, handle] = message.place
                return message
        return None

    def commit(self, number: int) -> bool:
        """MQCMIT. False if it ends with 2003."""
        program = self.programs[number]
        if program.has_failed:
            # Nothing more is sent. The next put asks for the definitions that it would have used.
            program.asks |= {message.queue for message in program.pending}
        else:
            self.send_pending(number)
        if program.has_failed:
            self.backout(number)
            return False
        self.available += program.put
        program.put, program.got = [], []
        return True

    def backout(self, number: int) -> None:
        """MQBACK, by the program or its recoverer."""
        program = self.programs[number]
        self.available += [replace(message, backout_count=message.backout_count + 1) for message in program.got]
        program.put, program.got, program.pending, program.has_failed = [], [], [], False

    def replace_program(self, number: int) -> None:
        """Another program takes its place. Its unfinished work is backed out."""
        self.backout(number)
        self.programs[number] = Program()
