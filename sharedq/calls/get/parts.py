"""MQGET from SYSTEM.QSG.TRANSMIT.QUEUE: its parts one after another, as one queue to its programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Generic, TypeVar

from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import UNLIMITED_WAIT
from sharedq.mqi.structures import MQGMO
from sharedq.objects.store.failures import why_not_there
from sharedq.objects.store.parts import Place, own_part, parts_of
from sharedq.session.connection import Connection
from sharedq.session.handle import BrowseCursor, Definition, Handle, PartHandle, StructureAccess

_T = TypeVar("_T")
#: A get waits at one part. After this many milliseconds it looks at the other parts.
LOOK_MS = 5000
_WAIT = int(GetOption.WAIT)
_FIRST, _NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
_UNDER_CURSOR = int(GetOption.MSG_UNDER_CURSOR | GetOption.BROWSE_MSG_UNDER_CURSOR)
#: For these reasons a get skips another manager's part: it has gone, or its structure cannot be used now.
_GONE = frozenset({MQRC.Q_DELETED, MQRC.UNKNOWN_OBJECT_NAME})
_IN_TROUBLE = frozenset({MQRC.CF_STRUC_FAILED, MQRC.CF_STRUC_IN_USE, MQRC.CF_NOT_AVAILABLE})


def get_from_parts(connection: Connection, handle: Handle, gmo: MQGMO, get: Callable[[Handle], _T]) -> _T:
    """Call *get* on the parts in order. Return the first result.

    Args:
        get: makes an MQGET with *gmo* by the handle of one part.

    Raises:
        MQIError: as *get* does; 2033 no part has a message; 2373, 2346, 2345 no other part has one, and this one cannot
            be looked at now.
    """
    given = gmo.options, gmo.wait_interval
    try:
        return _Look(connection, handle, gmo, get, int(gmo.options)).run()
    finally:
        gmo.options, gmo.wait_interval = given
        gmo.resolved_q_name = handle.name.encode()


@dataclass(slots=True)
class _Look(Generic[_T]):
    """A look at the parts; arguments as of `get_from_parts`.

    Attributes:
        trouble: of a part that could not be looked at.
    """

    connection: Connection
    handle: Handle
    gmo: MQGMO
    get: Callable[[Handle], _T]
    options: int
    trouble: MQIError | None = None

    def run(self) -> _T:
        if self.options & _UNDER_CURSOR:
            if self.handle.gets.cursor_part is None:
                raise error_for(MQRC.NO_MSG_UNDER_CURSOR, "MQGET", self.handle.object_name)
            return self.get(self.handle.gets.cursor_part)
        wait_ms = self.gmo.wait_interval if self.options & _WAIT else 0
        end_s = float("inf") if wait_ms == UNLIMITED_WAIT else time.monotonic() + wait_ms / 1000
        while True:
            self.trouble, waits_at = None, list[Handle]()
            for part in self._parts():
                waits_at.append(part)
                if (found := self._look(part)) is not None:
                    return found
            left_ms = min((end_s - time.monotonic()) * 1000, LOOK_MS)
            is_canceled = self.connection.is_wait_canceled
            if wait_ms == 0 or left_ms <= 0 or not waits_at or (is_canceled is not None and is_canceled()):
                raise self._nothing()
            if (found := self._look(waits_at[0], max(1, int(left_ms)))) is not None:
                return found

    def _nothing(self) -> MQIError:
        return self.trouble or error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", self.handle.object_name)

    def _look(self, part: Handle, wait_ms: int = 0) -> _T | None:
        """Get from one part. Return None if the part has no message, is gone, or cannot be read now."""
        options = self.options if wait_ms else self.options & ~_WAIT
        if options & _NEXT and part is not self.handle.gets.cursor_part:
            options = options & ~_NEXT | _FIRST
        self.gmo.options, self.gmo.wait_interval = options, wait_ms
        place = part.gets.cursor.score, part.gets.cursor.message_id
        try:
            found = self.get(part)
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return None
            if self._is_own(part) or error.reason not in _GONE | _IN_TROUBLE:
                raise
            if error.reason in _IN_TROUBLE:
                self.trouble = error
            return None
        self.handle.gets.saved_context = part.gets.saved_context
        # If the buffer is too short for the message, the cursor does not move.
        if options & (_FIRST | _NEXT) and place != (part.gets.cursor.score, part.gets.cursor.message_id):
            self.handle.gets.cursor_part = part
        return found

    def _parts(self) -> Iterator[Handle]:
        """The parts to look at, in their order: this manager's own is the first. A browse goes on where it was."""
        own = own_part(self.connection.qmgr_name)
        places = [own, *(place for place in parts_of(self.connection.group) if place != own)]
        at = self.handle.gets.cursor_part
        if self.options & _NEXT and at is not None:
            place = Place(at.structure.keys.name, at.name)
            places = places[places.index(place) :] if place in places else []
        for structure, there in groupby(places, key=lambda place: place.structure):
            yield from self._open(structure, list(there))

    def _open(self, structure: str, places: list[Place]) -> list[Handle]:
        """Handles of the parts that this structure has."""
        try:
            access = self.connection.access(structure)
            queues = [access.keys.queue(place.queue) for place in places]
            asked = [(b"HMGET", queue.queue.encode(), b"ver", b"def") for queue in queues]
            states = self.connection.commands(queues[0].queue, asked)
            if not any(version for version, _ in states):
                self.trouble = why_not_there(self.connection.group, structure, self.handle.name) or self.trouble
        except MQIError as error:
            if error.reason not in _IN_TROUBLE:
                raise
            self.trouble = error
            return []
        return [
            self._part(access, place, version, definition)
            for place, (version, definition) in zip(places, states, strict=True)
            if version is not None
        ]

    def _part(self, access: StructureAccess, place: Place, version: bytes, definition: bytes) -> Handle:
        assert self.handle.gets.parts is not None
        part = self.handle.gets.parts.get(place)
        if part is None or part.structure is not access:
            goes_by, gets = self.handle.definition, self.handle.gets
            if access is not self.handle.structure:
                # Only the own part goes by the handle's definition: an alias with GET(DISABLED) refuses there.
                goes_by = Definition.of(version, definition)
            part = self.handle.gets.parts[place] = PartHandle(
                number=0,
                options=self.handle.options,
                object_name=self.handle.object_name,
                object_q_mgr_name=self.handle.object_q_mgr_name,
                opened_at=self.handle.opened_at,
                name=place.queue,
                structure=access,
                queue=access.keys.queue(place.queue),
                definition=goes_by,
                gets=replace(gets, cursor=BrowseCursor(), parts=None, cursor_part=None, source=None),
            )
        return part

    def _is_own(self, part: Handle) -> bool:
        return part.structure is self.handle.structure
