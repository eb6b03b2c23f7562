"""The agent's part of SYSTEM.QSG.TRANSMIT.QUEUE: opening it, moving messages off it, waiting for the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from igq.agent.destinations import Destinations
from igq.agent.retry import Trouble
from sharedq import getting
from sharedq.connection import Connection, ScriptCall
from sharedq.facts import QueueFacts
from sharedq.handle import Handle
from sharedq.keys import private_structure
from sharedq.message import Message
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import UNLIMITED_WAIT
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE

#: Messages in a batch: IBM's, fixed.
BATCH_MESSAGES = 50
#: Batches sent in one write while there is a backlog.
BATCHES_PER_WRITE = 4
#: The greatest MAXUMSGS there is.
MAX_UNCOMMITTED = 999_999_999
_OPTIONS = int(OpenOption.INPUT_SHARED | OpenOption.BROWSE)
_CHANGED = 1
_NOT_READ = QueueFacts(
    is_put_inhibited=False,
    is_get_inhibited=False,
    is_fifo=False,
    is_group_indexed=False,
    is_transmission=False,
    default_priority=0,
    default_persistence=0,
    max_depth=0,
    max_msg_length=0,
)
#: Failures of the transmission queue that put the agent into the state of retry.
_TROUBLES = frozenset(
    {
        MQRC.UNKNOWN_OBJECT_NAME,
        MQRC.Q_DELETED,
        MQRC.GET_INHIBITED,
        MQRC.OBJECT_IN_USE,
        MQRC.STORAGE_MEDIUM_FULL,
        MQRC.CF_STRUC_ERROR,
        MQRC.CF_STRUC_IN_USE,
        MQRC.CF_STRUC_LIST_HDR_IN_USE,
    }
)


@dataclass(slots=True)
class Moved:
    """What a write of transfer calls did.

    ``left`` counts messages still there. ``is_stuck``: the first of them must be delivered by puts.
    """

    count: int = 0
    left: int = 0
    is_stuck: bool = False
    unknown: set[bytes] = field(default_factory=set)
    stale: set[bytes] = field(default_factory=set)


class TransmitQueue:
    """This manager's part of the shared transmission queue, open.

    Raises (from every method):
        Trouble: it cannot be used now.
        MQIError: 2009, the connection is lost.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # MAXUMSGS is for programs: what the agent has uncommitted is one batch, of which IBM has fixed the size.
        connection.max_uncommitted = MAX_UNCOMMITTED
        self._access = connection.access(private_structure(connection.qmgr_name))
        self.destinations = Destinations(connection, self._access)
        self.handle = self._open()
        self._backlog = 0

    def _open(self) -> Handle:
        keys = self._access.keys
        # No handle is registered: the queue can be altered and deleted under the agent, which then retries.
        handle = Handle(
            number=0,
            options=_OPTIONS,
            object_name=SYSTEM_QSG_TRANSMIT_QUEUE,
            name=SYSTEM_QSG_TRANSMIT_QUEUE,
            structure=self._access,
            queue=keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE),
            facts=_NOT_READ,
            version="",
            shows_headers=False,
        )
        self._reload(handle)
        return handle

    def move(self) -> Moved:
        """Move what can be moved without reading it."""
        if self.handle.facts.is_get_inhibited:
            self._reload(self.handle)
        moved = Moved()
        for reply in self._connection.call_many([self._transfer_call()] * self._writes()):
            if reply[0] == _CHANGED:
                self._reload(self.handle)
                return Moved(moved.count, max(1, moved.left))
            if reply[0]:
                raise as_trouble(self._connection.error(reply[0], "MQGET", SYSTEM_QSG_TRANSMIT_QUEUE))
            moved.count += reply[1]
            moved.left = reply[2]
            moved.unknown.update(reply[3])
            moved.stale.update(reply[4])
            moved.is_stuck = bool(reply[5])
        self._backlog = moved.left
        self.destinations.reload(moved.stale)
        if moved.unknown and not self.destinations.learn(sorted(moved.unknown)):
            moved.is_stuck = True
        return moved

    def _writes(self) -> int:
        return min(BATCHES_PER_WRITE, 1 + self._backlog // BATCH_MESSAGES)

    def _transfer_call(self) -> ScriptCall:
        keys, handle = self._access.keys, self.handle
        queue, facts = handle.queue, handle.facts
        script_keys = [
            keys.owners,
            keys.sequence,
            keys.messages,
            queue.queue,
            queue.available,
            queue.index,
            keys.expiry,
            keys.wake,
            keys.journal,
        ]
        arguments: list[str | bytes | int | float] = [
            self._connection.token,
            handle.name,
            handle.version,
            BATCH_MESSAGES,
            self._connection.group.journal_max,
            int(facts.is_fifo),
        ]
        for destination in self.destinations:
            target = destination.queue
            script_keys += [target.queue, target.available, target.index, target.waiters, target.groups, target.members]
            arguments += destination.arguments(facts.max_msg_length)
        return "structure/transfer", script_keys, arguments

    def _reload(self, handle: Handle) -> None:
        key = handle.queue.queue
        version, definition = self._connection.command(key, "HMGET", key, "ver", "def")
        if version is None:
            raise Trouble(f"{SYSTEM_QSG_TRANSMIT_QUEUE} is not defined")
        handle.version, handle.facts = version.decode(), QueueFacts.of(definition)
        _check_usable(handle.facts)

    def take(self) -> list[Message]:
        """Get a batch under syncpoint, to be delivered by puts; empty when there is nothing."""
        gmo = MQGMO(options=int(GetOption.SYNCPOINT))
        try:
            return getting.get_many(self._connection, self.handle, gmo, BATCH_MESSAGES)
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return []
            raise as_trouble(error) from error

    def wait(self) -> bool:
        """Wait until a message is there, taking nothing; false when the agent is told to stop."""
        gmo = MQGMO(
            options=int(
                GetOption.BROWSE_FIRST | GetOption.WAIT | GetOption.FAIL_IF_QUIESCING | GetOption.ACCEPT_TRUNCATED_MSG
            ),
            wait_interval=UNLIMITED_WAIT,
            match_options=0,
        )
        try:
            getting.get(self._connection, self.handle, MQMD(), gmo, max_length=0)
        except MQIError as error:
            if error.reason == MQRC.Q_MGR_QUIESCING:
                return False
            raise as_trouble(error) from error
        return True


def as_trouble(error: MQIError) -> Exception:
    """The error as `Trouble` when it is about the transmission queue; itself otherwise."""
    return Trouble(str(error)) if error.reason in _TROUBLES else error


def _check_usable(facts: QueueFacts) -> None:
    if not facts.is_transmission:
        raise Trouble(f"{SYSTEM_QSG_TRANSMIT_QUEUE} has USAGE(NORMAL)")
    if facts.is_get_inhibited:
        raise Trouble(f"{SYSTEM_QSG_TRANSMIT_QUEUE} is GET(DISABLED)")
