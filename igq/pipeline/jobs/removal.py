"""Takes messages that a job chose from a table off their queue, each by its own key."""

from __future__ import annotations

from types import TracebackType

from sharedq.api import QueueManagerConnection, connect, group_for
from sharedq.messages.message import Message
from sharedq.messages.record import message_token
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.settings.values import Settings

#: A message that is taken is kept, or put elsewhere: with all its properties.
_WHOLE = GetOption.SYNCPOINT | GetOption.PROPERTIES_FORCE_MQRFH2


class Taker:
    """A connection with the queue open for input. It commits at the end of its ``with``, or backs out after an error.

    Raises:
        MQIError: the manager is not running, or the queue cannot be opened.
    """

    def __init__(self, settings: Settings, queue: str, qmgr: str) -> None:
        self.connection: QueueManagerConnection = connect(qmgr, settings=settings, appl_name="igq pipeline")
        self._group = group_for(settings)
        self._queue = self.connection.open(queue, OpenOption.INPUT_SHARED)
        self._numbers: dict[str, int] = {}

    def take(self, structure: str, message_id: str) -> Message | None:
        """Get that message under syncpoint. None if it is gone or in another program's unit of work."""
        token = message_token(message_id.encode(), self._number(structure))
        try:
            return self._queue.get(
                _WHOLE, match_options=MatchOption.MATCH_MSG_TOKEN, match=MQMD(version=2), msg_token=token
            )
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return None
            raise

    def _number(self, structure: str) -> int:
        if structure not in self._numbers:
            self._numbers[structure] = self._group.structure_number(structure)
        return self._numbers[structure]

    def __enter__(self) -> Taker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.connection.__exit__(kind, error, traceback)
