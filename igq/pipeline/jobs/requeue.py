"""Gets messages from a dead-letter queue and puts them back where they were meant to go, in units of work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from types import TracebackType
from typing import Any

from igq.pipeline.jobs.removal import Taker
from sharedq.api import Queue
from sharedq.messages.dead_letter import without_header
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.settings.values import Settings

#: Messages that are put back in one unit of work.
UNIT_MESSAGES = 50
PUT_BACK, GONE, NO_HEADER = "put back", "gone", "no dead-letter header"

_OUTPUT = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
_PUT = int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT)
#: Row of a dead letter: structure, message_id, dest_queue, dest_qmgr; the last two are None where it has no header.
Letter = dict[str, Any]
Destination = tuple[str, str]


class Requeuer:
    """One worker's part of the job: a connection, and the outcomes of its messages so far."""

    def __init__(self, settings: Settings, queue: str, qmgr: str) -> None:
        self._taker = Taker(settings, queue, qmgr)
        self._connection = self._taker.connection
        self._destinations: dict[Destination, Queue | str] = {}
        self._outcomes: Counter[tuple[str, str | None, str | None]] = Counter()

    def put_back(self, letters: Sequence[Letter]) -> None:
        """Put messages back, in order.

        Raises:
            MQIError: 2009 the connection is lost; the group backs its last unit of work out.
        """
        iterator = iter(letters)
        while unit := list(islice(iterator, UNIT_MESSAGES)):
            try:
                outcomes = [self._move(letter) for letter in unit]
                self._connection.commit()
            except MQIError as error:
                self._give_up_unless_refused(error)
                # A put was refused. Move each message in a unit of its own, so that the others are not held up.
                outcomes = [self._move_alone(letter) for letter in unit]
            for letter, outcome in zip(unit, outcomes, strict=True):
                self._outcomes[outcome, letter["dest_queue"], letter["dest_qmgr"]] += 1

    def told(self) -> list[dict[str, Any]]:
        """The outcomes as rows of ``igq.pipeline.schemas.REQUEUED``."""
        return [
            {"outcome": outcome, "dest_queue": queue, "dest_qmgr": qmgr, "messages": count}
            for (outcome, queue, qmgr), count in self._outcomes.items()
        ]

    def _move_alone(self, letter: Letter) -> str:
        try:
            outcome = self._move(letter)
            self._connection.commit()
        except MQIError as error:
            self._give_up_unless_refused(error)
            return _refusal(error)
        return outcome

    def _give_up_unless_refused(self, error: MQIError) -> None:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise error
        self._connection.backout()

    def _move(self, letter: Letter) -> str:
        """Get a message and put it on its queue, without a commit. Return the outcome: put, gone, or the refusal."""
        if letter["dest_queue"] is None:
            return NO_HEADER
        destination = self._opened((letter["dest_queue"], letter["dest_qmgr"]))
        if isinstance(destination, str):
            return destination
        message = self._taker.take(letter["structure"], letter["message_id"])
        if message is None:
            return GONE
        md, body = without_header(message.md, message.body)
        destination.put(body, md, options=_PUT)
        return PUT_BACK

    def _opened(self, where: Destination) -> Queue | str:
        if where not in self._destinations:
            name, qmgr = where
            try:
                self._destinations[where] = self._connection.open(name, _OUTPUT, qmgr_name=qmgr)
            except MQIError as error:
                if error.reason == MQRC.CONNECTION_BROKEN:
                    raise
                self._destinations[where] = _refusal(error)
        return self._destinations[where]

    def __enter__(self) -> Requeuer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._taker.__exit__(kind, error, traceback)


def _refusal(error: MQIError) -> str:
    return f"MQRC_{error.reason.name} ({error.reason:d})"
