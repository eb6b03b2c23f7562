"""A part of SYSTEM.QSG.TRANSMIT.QUEUE, from which messages are moved without being read; and its destinations."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from igq.agent.progress.retry import Trouble
from igq.agent.queues.transmission_queue import BATCH_MESSAGES, WAIT_S, TransmissionQueue, as_trouble
from sharedq.calls.get import get as getting
from sharedq.calls.get.wait import BLOCK_MAX_S, give_up_wait
from sharedq.calls.requests.get import ANY
from sharedq.calls.unit.commit import backout
from sharedq.messages.message import Message
from sharedq.messages.record import score_base
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.store.authorities import Authorities
from sharedq.objects.store.parts import Place, parts_of
from sharedq.redis.keys import QueueKeys
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.reads import destination_name, destination_names, queue_definition
from sharedq.scripts.transfer import forget_destinations_call, transfer_call
from sharedq.session.connection import Connection
from sharedq.session.handle import StructureAccess
from sharedq.session.route import QueueFacts

#: The number of destinations to remember. Puts may move messages to these while the agent waits.
ACTIVE_MAX = 16
#: A move names the destinations that received something in this many moves before it. Each name costs time.
RECENT_MOVES = 8
#: In the text for puts, the prefix of the version of a queue that takes no persistent messages.
_NO_PERSISTENT = "~"
#: Batches that are sent in one write while there is a backlog, and the most writes of one move. Without the second and
#: further ones, Redis and the agent wait for each other (`python -m bench --only hop`).
BATCHES_PER_WRITE = 8
WRITES_MAX = 8
#: Seconds between two looks for destinations to forget, and the most that one script call forgets.
FORGETS_EACH_S = 60
FORGOTTEN_AT_ONCE = 100
#: The structure cannot be used now. No other getter waits at this part, so the agent waits on until it can.
_AWAY = (MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE)
_CHANGED = 1
#: The agent waits like a get of any message.
_WAITER = ANY.waiter_text(is_browse=False)


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


@dataclass(slots=True)
class Moved:
    """The result of a write of transfer calls.

    ``left`` counts the messages still there. ``is_stuck``: the first of them must be delivered by puts. ``is_waiting``:
    there were none, and the next put wakes the agent, which must call ``TransmitPart.wait``.
    """

    count: int = 0
    left: int = 0
    is_stuck: bool = False
    is_waiting: bool = False
    unknown: set[bytes] = field(default_factory=set)
    stale: set[bytes] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a part between two moves.

    Attributes:
        left: the messages that the last move left there.
        is_plain: the last move met nothing that it could not move.
        uncounted: messages that a failed move has moved. They count with the next move.
        unlearned: codes of destinations to look up before the next move.
    """

    left: int = 0
    is_plain: bool = True
    uncounted: int = 0
    unlearned: frozenset[bytes] = frozenset()

    def moved(self, last: Moved) -> Progress:
        """A move has ended."""
        return replace(self, left=last.left, is_plain=not (last.is_stuck or last.unknown or last.stale))

    def counted(self) -> Progress:
        """The messages of a failed move were added to another one."""
        return replace(self, uncounted=0)

    def failed(self, count: int) -> Progress:
        """A move has failed after it had moved *count* messages."""
        return replace(self, uncounted=count)

    def met(self, codes: Iterable[bytes]) -> Progress:
        """Unknown destinations were met while there was no time to look them up."""
        return replace(self, unlearned=self.unlearned.union(codes))

    def learned(self) -> Progress:
        """The unknown destinations were looked up."""
        return replace(self, unlearned=frozenset())

    def calls(self) -> tuple[int, int]:
        """The calls that the next move makes for the backlog: how many a write, and how many writes at most."""
        batches = 1 + self.left // BATCH_MESSAGES
        # Each call looks in vain at messages that it cannot move.
        writes = WRITES_MAX if self.is_plain and batches > BATCHES_PER_WRITE else 1
        return min(BATCHES_PER_WRITE, batches), writes


class TransmitPart(TransmissionQueue):
    """A part of the transmit queue, opened at the manager that it is for."""

    def __init__(self, connection: Connection, part: Place) -> None:
        self._authorities, self._authority_version, self._is_checked = Authorities(connection.group), "", False
        super().__init__(connection, *part)
        self.destinations = Destinations(connection, self._access)
        self._progress = Progress()
        self._forgets_at_s = 0.0

    def reload(self) -> None:
        """Read the definition in force, and whether authorities must be checked."""
        super().reload()
        # Read the version first: a record created later changes the version, which the next transfer notices.
        self._authority_version = self._authorities.version(self._access.keys)
        self._is_checked = self._authorities.exist()

    @property
    def unchecked_version(self) -> str | None:
        """The version of the authority records while there are none. None: authorities must be checked."""
        return None if self._is_checked else self._authority_version

    def take(self, count: int = BATCH_MESSAGES) -> list[Message]:
        # A message that is stuck now may have a queue here the next time.
        self.destinations.look_again()
        return super().take(count)

    def move(self) -> Moved:
        """Move what can be moved without being read: nothing while authorities must be checked."""
        if self.handle.definition.facts.is_get_inhibited or self._is_checked:
            self.reload()
        if self._is_checked:
            return Moved(is_stuck=True)
        self.destinations.learn(self._progress.unlearned)
        self._progress = self._progress.learned()
        call = self._transfer_call(_WAITER)
        try:
            replies = self._connection.call_repeatedly(call, *self._progress.calls(), _moves_all)
        except MQIError as error:
            raise as_trouble(error) from error
        moved = self._moved(replies)
        self._progress = self._progress.moved(moved)
        return moved

    def wait_and_move(self, *, may_take: bool = False) -> tuple[Moved, list[Message]]:
        """Wait after a `move` that found nothing, at most `WAIT_S`, and move messages at the moment they arrive.

        Args:
            may_take: in the same moment, also get under syncpoint what cannot be moved.

        Returns:
            The counts of the move, and the batch that was got.
        """
        connection, wake_key = self._connection, self._access.keys.wake + self._connection.token
        end_s = time.monotonic() + WAIT_S
        while True:
            # Puts may move everything and never wake the agent, so check here, too.
            if time.monotonic() > self._forgets_at_s:
                self.forget_destinations()
                self._forgets_at_s = time.monotonic() + FORGETS_EACH_S
            # Publish the wake key before checking for a stop, so that a later stop can wake us.
            connection.waits_on(wake_key, WAIT_S)
            try:
                left_s = end_s - time.monotonic()
                if connection.is_quiescing or left_s <= 0:
                    give_up_wait(connection, self.handle)
                    return Moved(), []
                # The wait and the move are one write: see Link.block_then_call.
                block_s = min(left_s, BLOCK_MAX_S)
                if may_take:
                    return self._moved_and_taken(wake_key, block_s)
                _, (reply,) = connection.block_then_call(wake_key, block_s, self._transfer_call(_WAITER))
            except MQIError as error:
                give_up_wait(connection, self.handle)
                raise as_trouble(error) from error
            finally:
                connection.waits_on(None)
            moved = self._moved([reply])
            if moved.count or not moved.is_waiting:
                return moved, []

    def forget_destinations(self) -> None:
        """Forget the codes of destinations that are not queues here, if no message carries them.

        Raises:
            Trouble: the codes could not be forgotten.
        """
        keys, connection = self._access.keys, self._connection
        try:
            parts = [keys.queue(part.queue) for part in self._parts_here()]
            for names in destination_names(connection, keys, FORGOTTEN_AT_ONCE):
                for start in range(0, len(names), FORGOTTEN_AT_ONCE):
                    chunk = names[start : start + FORGOTTEN_AT_ONCE]
                    connection.checked_call(*forget_destinations_call(keys, connection.token, parts, chunk))
        except MQIError as error:
            raise as_trouble(error) from error

    def _parts_here(self) -> list[Place]:
        """Return every part in this structure."""
        return [part for part in parts_of(self._connection.group) if part.structure == self._access.keys.name]

    def _moved_and_taken(self, wake_key: str, block_s: float) -> tuple[Moved, list[Message]]:
        get, made_messages = getting.get_later(self._connection, self.handle, BATCH_MESSAGES)
        # Do not register as a waiter again; the get that follows would cancel it.
        _, (moved, got) = self._connection.block_then_call(wake_key, block_s, self._transfer_call(b""), get)
        messages = self._taken(partial(made_messages, got))
        try:
            return self._moved([moved], learns_later=bool(messages)), messages
        except Trouble:
            if messages:
                backout(self._connection)
            raise

    def _moved(self, replies: list[Reply], *, learns_later: bool = False) -> Moved:
        moved, self._progress = Moved(self._progress.uncounted), self._progress.counted()
        try:
            return self._noted(moved, replies, learns_later=learns_later)
        except (MQIError, Trouble):
            self._progress = self._progress.failed(moved.count)
            raise

    def _noted(self, moved: Moved, replies: list[Reply], *, learns_later: bool) -> Moved:
        used = set[bytes]()
        for reply in replies:
            moved.is_waiting = reply[0] == MQRC.NO_MSG_AVAILABLE
            if moved.is_waiting:
                moved.count += reply[1]
                moved.left, moved.is_stuck = 0, False
                continue
            if reply[0] and reply[0] not in _AWAY:
                # This agent may have been woken to look, and does not look now: pass the wake-up on.
                give_up_wait(self._connection, self.handle)
            if reply[0] == _CHANGED:
                self.reload()
                return Moved(moved.count, max(1, moved.left))
            if reply[0]:
                raise as_trouble(self._connection.error(reply[0], "MQGET", self.handle.name))
            moved.count += reply[1]
            moved.left = reply[2]
            moved.unknown.update(reply[3])
            moved.stale.update(reply[4])
            moved.is_stuck = bool(reply[5])
            used.update(reply[7])
        self.destinations.moved_to(used)
        self.destinations.reload(moved.stale)
        if learns_later:
            # The messages are in hand already, and another program may be waiting for them.
            self._progress = self._progress.met(moved.unknown)
        elif moved.unknown and not self.destinations.learn(moved.unknown):
            moved.is_stuck = True
        return moved

    def _transfer_call(self, waiter: bytes) -> ScriptCall:
        entry = waiter and waiter + self._connection.token.encode()
        handle, facts = self.handle, self.handle.definition.facts
        arguments = (
            *(handle.definition.version, BATCH_MESSAGES, self._connection.journal_max, int(facts.is_fifo)),
            *(self._authority_version, entry, self.destinations.moves(facts.max_msg_length)),
        )
        targets = [(each.queue, each.arguments(facts.max_msg_length)) for each in self.destinations]
        return transfer_call(self._access.keys, handle.queue, self._connection.token, arguments, targets)


def _moves_all(replies: Sequence[Reply]) -> bool:
    """Whether each call has moved what it found, and has met nothing that it could not move."""
    return all(reply[0] == MQRC.NONE and reply[1] and not any(reply[3:6]) for reply in replies)
