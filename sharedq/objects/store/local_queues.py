"""The definition of a local queue in its structure, where the scripts of the MQI check it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import Literal

from sharedq.members.group import Group
from sharedq.members.news import tell_managers
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.names import queue_of
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.parts import Place
from sharedq.redis.keys import StructureKeys
from sharedq.scripts.events import tell_change_call
from sharedq.scripts.queues import (
    alter_queue_call,
    define_queue_call,
    delete_queue_call,
    discard_call,
    forget_made_call,
    queue_states_call,
    set_partition_call,
    wake_all_call,
)
from sharedq.scripts.reads import trigger_holder

_CHANGED = 1
#: structure/define_queue answers this about a structure in which nothing was ever defined, or that has lost all.
_NOT_BEGUN = 1
#: structure/delete_queue answers this about a queue that is deleted logically.
_LOGICALLY = 1
#: The one attribute that changes only while the queue is empty and closed.
_IDLE_FIELD = "index_type"
_STATES_PER_CALL = 100
_DISCARDS_PER_CALL = 200
_WAKES_PER_CALL = 100


@dataclass(frozen=True, slots=True)
class QueueState:
    """The counts of a queue, or of several added up."""

    available: int = 0
    uncommitted_puts: int = 0
    uncommitted_gets: int = 0
    locked: int = 0
    waiters: int = 0
    open_input: int = 0
    open_output: int = 0
    handles: int = 0

    @property
    def depth(self) -> int:
        """CURDEPTH: messages that are available, put but not committed, or locked."""
        return self.available + self.uncommitted_puts + self.locked

    @property
    def uncommitted(self) -> int:
        """Messages that undecided units of work have put or got."""
        return self.uncommitted_puts + self.uncommitted_gets

    def __add__(self, other: QueueState) -> QueueState:
        return QueueState(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class StoredQueue:
    """A queue as its structure stores it."""

    version: str
    definition: QueueLocal
    state: QueueState
    #: The definition as it is stored. An event about the depth changes it without a new version.
    text: bytes


class LocalQueues:
    """Defines, alters, empties and reads queues in their structures. It does not use the directory."""

    def __init__(self, group: Group, qmgr: str | None, caller: str) -> None:
        self._group = group
        #: The connection whose call this is. Scripts check it before they change anything. "": a command.
        self._caller = caller
        #: The caller's name in the journal, where it clears a queue.
        self._author = caller or f"{qmgr or group.name}.0.0.0"

    def define(
        self,
        structure: str,
        queue: QueueLocal,
        *,
        replace: bool,
        maker: str = "",
        before_first: Callable[[], None] | None = None,
    ) -> tuple[bool, bool]:
        """Create the queue, or replace its definition.

        Args:
            maker: the connection whose MQOPEN of a model makes it. The queue goes with the maker until `forget_made`.
            before_first: called where nothing was ever defined in the structure, or all of it is lost. It raises if the
                queue must not be the first.

        Returns:
            Whether it was created, and whether gets wait on it, which have to be woken once the command is done.

        Raises:
            MQIError: 2009, the maker was shut out; 2100, it exists; 2042 or 2055, INDXTYPE would change on a queue in
                use.
        """
        keys = self._group.structure(structure)
        mode = "replace" if replace else "new"
        call = partial(define_queue_call, keys, keys.queue(queue.name), mode, queue.to_json(), _IDLE_FIELD, maker=maker)
        reply = self._group.call(*call(may_begin=before_first is None))
        if reply[0] == _NOT_BEGUN and before_first is not None:
            before_first()
            reply = self._group.call(*call(may_begin=True))
        if reply[0]:
            raise _refusal(reply[0], queue.name)
        self._tell_triggered(structure, queue)
        return bool(reply[2]), bool(reply[4])

    def alter(self, structure: str, stored: StoredQueue, queue: QueueLocal) -> bool:
        """Replace the definition *stored* by *queue*. False if it is no longer in force.

        Raises:
            MQIError: 2085, it is gone; 2042 or 2055, INDXTYPE would change on a queue in use.
        """
        keys = self._group.structure(structure)
        names, definition = keys.queue(queue.name), queue.to_json()
        reply = self._group.call(
            *alter_queue_call(keys, names, (stored.version, stored.text), definition, _IDLE_FIELD, caller=self._caller)
        )
        if reply[0] == _CHANGED:
            return False
        if reply[0]:
            raise _refusal(reply[0], queue.name)
        self._tell_triggered(structure, queue)
        return True

    def _tell_triggered(self, structure: str, queue: QueueLocal) -> None:
        """Tell the managers of the first queue of a structure that is triggered: one of them writes its messages."""
        if queue.is_triggered and not trigger_holder(self._group, self._group.structure(structure)):
            self._group.call(*tell_change_call(self._group.keys))
            tell_managers(self._group)

    def renew_version(self, structure: str, name: str) -> None:
        """Give the queue's definition a new version, so that gets that wait on the queue look at it again."""
        while True:
            stored = self.read(structure, [name]).get(name)
            if stored is None:
                return
            if self.alter(structure, stored, stored.definition):
                break
        self.wake_waiters(structure, name)

    def set_partition(self, place: Place, version: int, queue: QueueLocal, *, is_back: bool = False) -> bool | None:
        """Bring a part of a partitioned queue to *version*, unless it has a later one or was closed since.

        Args:
            is_back: do it even if the part was closed at this version.

        Returns:
            Whether it was changed. None: there can be no part in that structure, which has no queues.
        """
        keys = self._group.structure(place.structure)
        part, definition = keys.queue(place.queue), queue.to_json()
        _, changed = self._group.call(*set_partition_call(keys, part, queue.name, version, definition, is_back=is_back))
        return None if int(changed) < 0 else bool(changed)

    def read(self, structure: str, names: Iterable[str]) -> dict[str, StoredQueue]:
        """Return those of the named queues that the structure has."""
        keys = self._group.structure(structure)
        found: dict[str, StoredQueue] = {}
        wanted = list(names)
        for start in range(0, len(wanted), _STATES_PER_CALL):
            chunk = wanted[start : start + _STATES_PER_CALL]
            reply = self._group.call(*queue_states_call([keys.queue(name) for name in chunk]))
            for name, (version, definition, *counts) in zip(chunk, reply, strict=True):
                if version:
                    found[name] = StoredQueue(
                        version.decode(), _definition_of(definition), QueueState(*map(int, counts)), definition
                    )
        return found

    def read_at(self, places: Iterable[Place]) -> dict[Place, StoredQueue]:
        """Return the queues at these places."""
        names: dict[str, list[str]] = {}
        for place in places:
            names.setdefault(place.structure, []).append(place.queue)
        return {
            Place(structure, name): stored
            for structure, there in names.items()
            for name, stored in self.read(structure, there).items()
        }

    def remove(
        self,
        structure: str,
        name: str,
        mode: Literal["delete", "purge", "clear", "rest"],
        *,
        version: str = "",
        closed_at: int | None = None,
        maker: str = "",
        is_closing: bool = False,
    ) -> bool:
        """Delete the queue or empty it. It is no error to delete a queue that is not there.

        Args:
            mode: ``rest`` deletes a part that was closed, with its messages.
            closed_at: only close a part of a partitioned queue, for definitions up to this version.
            maker: delete only a queue that an MQOPEN of this connection made. If others have it open, it is deleted
                logically.
            is_closing: delete it logically. The caller has a handle of it open, which it closes then.

        Returns:
            Whether it is gone. It stays until its last handle is closed if it is deleted logically.

        Raises:
            MQIError: 2042, it is open; 2055, it is not empty, or has uncommitted messages; 2041, it has another
                *version* or *maker*; 2085, there is nothing to clear.
        """
        keys = self._group.structure(structure)
        reason, *numbers = self._group.call(
            *delete_queue_call(
                *(keys, keys.queue(name), mode, version, closed_at, self._caller, maker),
                is_closing=is_closing,
                author=self._author,
            )
        )
        if reason == _LOGICALLY:
            self.wake_waiters(structure, name)
            return False
        if reason:
            raise _refusal(reason, queue_of(name))
        for number in numbers:
            self._discard(keys, str(number))
        return True

    def is_deleted(self, structure: str, name: str) -> bool:
        """Whether the queue is deleted logically: it is not defined any more, and is still open."""
        key = self._group.structure(structure).queue(name).queue
        return bool(self._group.command(key, "HEXISTS", key, "del"))

    def forget_made(self, structure: str, maker: str, names: Sequence[str], *, are_orphans: bool = False) -> None:
        """Keep these queues when *maker* goes.

        Args:
            are_orphans: they are to be deleted later, as queues that *maker* made.

        Raises:
            MQIError: 2009, the caller was shut out.
        """
        keys = self._group.structure(structure)
        (reason,) = self._group.call(*forget_made_call(keys, maker, self._caller, names, are_orphans=are_orphans))
        if reason:
            raise error_for(MQRC(reason), "MQCLOSE", names[0])

    def finish_discards(self, structure: str) -> None:
        """Delete what an interrupted clear or delete set aside."""
        keys = self._group.structure(structure)
        for number in self._group.command(keys.trash, "HKEYS", keys.trash):
            self._discard(keys, number.decode())

    def wake_waiters(self, structure: str, name: str) -> None:
        """Wake the gets that wait on the queue, so that they look at its definition again."""
        keys = self._group.structure(structure)
        begun_at = last = b""
        while True:
            begun_at, last = self._group.call(*wake_all_call(keys, keys.queue(name), _WAKES_PER_CALL, last, begun_at))
            if not last:
                return

    def handles(self, structure: str, name: str) -> list[tuple[str, str]]:
        """Return the open handles of a queue: owner token with handle number, and mode."""
        queue = self._group.structure(structure).queue(name)
        flat: Sequence[bytes] = self._group.command(queue.handles, "HGETALL", queue.handles)
        return sorted((token.decode(), text.decode()) for token, text in zip(flat[::2], flat[1::2], strict=True))

    def _discard(self, keys: StructureKeys, number: str) -> None:
        call = discard_call(keys, number, _DISCARDS_PER_CALL, self._group.journal_max, self._author)
        while self._group.call(*call):
            pass


@lru_cache(maxsize=1024)
def _definition_of(text: bytes) -> QueueLocal:
    """Read a definition. Programs open the same queues again and again, most of all by MQPUT1."""
    return QueueLocal.from_json(text)


def _refusal(reason: int, name: str) -> Exception:
    details = {
        MQRC.OBJECT_IN_USE: "it is open",
        MQRC.Q_NOT_EMPTY: "it holds messages or uncommitted work",
        MQRC.NAME_IN_USE: "a dynamic queue of that name is deleted, and still open",
    }
    return error_for(MQRC(reason), "", name, details.get(MQRC(reason), ""))
