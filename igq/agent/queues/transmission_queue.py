"""A transmission queue that an agent or a mover serves: it opens the queue, takes batches, and waits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from igq.agent.progress.retry import Trouble
from sharedq.calls.get import get as getting
from sharedq.calls.unit.commit import backout, commit
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.objects.store.failures import why_not_there
from sharedq.redis.link import Argument, Reply
from sharedq.scripts.reads import queue_definition
from sharedq.scripts.transfer import look_again_call
from sharedq.session.connection import Connection
from sharedq.session.handle import Definition, ServedHandle

_T = TypeVar("_T")
#: Messages in a batch: a fixed number of IBM's.
BATCH_MESSAGES = 50
#: The greatest allowed MAXUMSGS and MAXHANDS.
NO_LIMIT = 999_999_999
#: Seconds that a wait for messages lasts. Then a new one begins, which costs an idle agent a few calls; a wait without
#: an end would look like a hang.
WAIT_S = 180
#: Failures of the transmission queue that put the agent into the state of retry.
_TROUBLES = frozenset(
    {
        MQRC.UNKNOWN_OBJECT_NAME,
        MQRC.Q_DELETED,
        MQRC.GET_INHIBITED,
        MQRC.OBJECT_IN_USE,
        MQRC.STORAGE_MEDIUM_FULL,
        MQRC.CF_NOT_AVAILABLE,
        MQRC.CF_STRUC_ERROR,
        MQRC.CF_STRUC_FAILED,
        MQRC.CF_STRUC_IN_USE,
        MQRC.CF_STRUC_LIST_HDR_IN_USE,
    }
)


class TransmissionQueue:
    """One queue of one structure, with USAGE(XMITQ).

    Raises (from every method):
        Trouble: the queue cannot be used now.
        MQIError: 2009, the connection is lost.
    """

    def __init__(self, connection: Connection, structure: str, name: str) -> None:
        self._connection, self._access = connection, connection.access(structure)
        # A batch has IBM's fixed size and may go to as many queues, whatever the limits for programs are.
        connection.max_uncommitted = connection.max_handles = NO_LIMIT
        self.handle = ServedHandle.of(self._access, name)
        self.reload()

    def reload(self) -> None:
        """Read the definition in force."""
        found = queue_definition(self._connection, self.handle.queue)
        if found is None:
            gone = why_not_there(self._connection.group, self._access.keys.name, self.handle.name)
            raise Trouble(str(gone or f"{self.handle.name} is not defined"))
        self.handle.go_by(Definition.of(*found))
        self._check_usable()

    def look_for(self, members: Callable[[], Collection[str]]) -> None:
        """From now on pass over what is for other managers than these, where *members* tells any; look at all anew."""
        self.handle.members = members
        try:
            self.look_again(self._connection.call)
        except MQIError as error:
            raise as_trouble(error) from error

    def look_again(self, call: Callable[[str, Sequence[str], Sequence[Argument]], Reply]) -> None:
        """Have its agent or mover look again at what that passed over, at once where it waits; *call* calls a script.

        Raises:
            MQIError: Redis cannot be reached.
        """
        call(*look_again_call(self._access.keys, self.handle.queue, self.handle.members_text()))

    @property
    def is_quiescing(self) -> bool:
        """Whether the agent or mover must end."""
        return self._connection.is_quiescing

    @property
    def has_taken(self) -> bool:
        """Whether a batch is in hand."""
        return bool(self._connection.unit.parts)

    def take(self, count: int = BATCH_MESSAGES) -> list[Message]:
        """Get a batch under syncpoint, to be delivered by puts. Empty if there are no messages."""
        gmo = MQGMO(options=int(GetOption.SYNCPOINT))
        self._meet_marks()
        return self._taken(partial(getting.get_many, self._connection, self.handle, gmo, count))

    def commit(self) -> None:
        """Commit the batch in hand. If that fails, the batch goes back."""
        self._or_nothing(partial(commit, self._connection))

    def commit_and_take(self) -> list[Message]:
        """Commit the batch in hand and get the next one. If that fails, nothing stays uncommitted."""
        gmo = MQGMO(options=int(GetOption.SYNCPOINT))
        get = partial(getting.commit_and_get, self._connection, self.handle, gmo, BATCH_MESSAGES)
        return self._or_nothing(partial(self._taken, get))

    def _or_nothing(self, end: Callable[[], _T]) -> _T:
        try:
            return end()
        except (MQIError, Trouble) as error:
            if isinstance(error, MQIError) and error.reason == MQRC.CONNECTION_BROKEN:
                raise
            if self._connection.has_unit:
                backout(self._connection)
            raise Trouble(str(error)) from error

    def _taken(self, get: Callable[[], list[Message]]) -> list[Message]:
        try:
            messages = get()
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                raise as_trouble(error) from error
            messages = []
        if not self.handle.definition.facts.is_transmission:
            # The queue was altered since it was last read: these messages are not for us any more.
            backout(self._connection)
            self._check_usable()
        return messages

    def wait(self) -> bool:
        """Wait until a message is there, at most `WAIT_S`, and take nothing. False when the agent is told to stop."""
        gmo = MQGMO(
            options=int(
                GetOption.BROWSE_FIRST | GetOption.WAIT | GetOption.FAIL_IF_QUIESCING | GetOption.ACCEPT_TRUNCATED_MSG
            ),
            wait_interval=WAIT_S * 1000,
            match_options=0,
        )
        self._meet_marks()
        try:
            getting.get(self._connection, self.handle, MQMD(), gmo, max_length=0)
        except MQIError as error:
            if error.reason == MQRC.Q_MGR_QUIESCING:
                return False
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return True
            raise as_trouble(error) from error
        return True

    def _meet_marks(self) -> None:
        """Mark the messages that are passed over."""
        self.handle.gets.may_meet_marks = self.handle.gets.may_meet_marks or self.handle.members is not None

    def _check_usable(self) -> None:
        facts = self.handle.definition.facts
        if not facts.is_transmission:
            raise Trouble(f"{self.handle.name} has USAGE(NORMAL)")
        if facts.is_get_inhibited:
            raise Trouble(f"{self.handle.name} is GET(DISABLED)")


def as_trouble(error: MQIError) -> Exception:
    """Return the error as `Trouble` if it is about the transmission queue, else unchanged."""
    return Trouble(str(error)) if error.reason in _TROUBLES else error
