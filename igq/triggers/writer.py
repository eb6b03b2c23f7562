"""Writes trigger messages: takes the notes that scripts leave of one structure's queues, and looks at the conditions.

A note says that a condition of TRIGTYPE may hold. The writer looks at what IBM MQ asks for besides: TRIGGER is on, gets
are not inhibited, the process definition exists, a program has the initiation queue open for input. Of a shared queue
each manager whose own initiation queue is open gets a trigger message; a shared initiation queue gets one in all.

Source: IBM MQ, "Conditions for a trigger event", "Message descriptor of a trigger message", "MQTM".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from sharedq.calls.handles.open import close_handle, open_queue
from sharedq.calls.put.put import put
from sharedq.members.group import Group
from sharedq.messages.dead_letter import dead_lettered
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, ApplType, CloseOption, Format, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.headers import MQTM
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.store.directory import Directory, Entry
from sharedq.objects.store.local_queues import LocalQueues, StoredQueue
from sharedq.redis.keys import private_structure, qmgr_of
from sharedq.scripts.events import (
    mark_initiation_call,
    note_trigger_call,
    take_triggers_call,
    tell_change_call,
    turn_trigger_off_call,
)
from sharedq.scripts.reads import count_up_to_place
from sharedq.session.connection import Connection

#: Notes that one call takes.
NOTES_PER_CALL: Final = 100
#: The distance of two priorities in the score of a message (sharedq/lua/pasted.lua).
_PRIORITY_STEP: Final = 2**48
_PRIORITIES: Final = 10
_ACTIVE: Final = ("STARTING", "RUNNING", "QUIESCING")
#: Such trouble of a structure passes: the note is looked at again.
_PASSING: Final = (MQRC.CF_STRUC_IN_USE, MQRC.CF_STRUC_FAILED, MQRC.CF_NOT_AVAILABLE, MQRC.STORAGE_MEDIUM_FULL)


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a script.

    Attributes:
        kind: ``first``, ``every``, ``depth``: that condition holds; ``others``: the first message came to a queue that
            some managers have open; ``look``: a condition may hold; ``open``: an initiation queue was opened;
            ``here``: another manager has looked, and this one is to write for its own initiation queue.
        queue: the queue with TRIGGER; of ``open`` the initiation queue.
        structure: where it is, if not in the structure of the note.
        count: trigger messages of ``every``.
    """

    kind: str
    queue: str
    structure: str = ""
    count: int = 1


class TriggerWriter:
    """Writes the trigger messages for the queues of one structure. It is used in one thread.

    Args:
        connection: of this manager; it takes notes only while it is the one that may.
    """

    def __init__(self, group: Group, structure: str, connection: Connection) -> None:
        self._group, self._structure, self._connection = group, structure, connection
        self._qmgr = connection.qmgr_name
        self._keys = group.structure(structure)
        self._repository = Repository(group, self._qmgr)
        self._directory, self._queues = Directory(group), LocalQueues(group, self._qmgr, "")
        self._done: list[bytes] = []
        #: The latest note that was read.
        self.last = b"0-0"

    def take(self) -> int | None:
        """Take the oldest notes, and write trigger messages. A note is forgotten with the next call.

        Returns:
            How many notes are done. None: another connection writes for this structure.

        Raises:
            MQIError: 2009; 2373, 2346, 2345: the structure cannot be used now.
        """
        self._connection.access(self._structure)
        call = take_triggers_call(self._keys, self._connection.token, NOTES_PER_CALL, self._done)
        status, *found = self._connection.call(*call)
        self._done = []
        if status:
            if status != 1:
                raise self._connection.error(status)
            return None
        done: set[Note] = set()
        for id_, flat in found[0]:
            self.last = max(self.last, id_, key=_as_numbers)
            note = _parsed(flat)
            # Each message of EVERY counts. Of other conditions one note of this moment is enough.
            if note is not None and (note.kind == "every" or note not in done):
                if not self._has_written_for(note):
                    continue
                done.add(note)
            self._done.append(id_)
        return len(self._done)

    def _has_written_for(self, note: Note) -> bool:
        """Do what a note asks for. False: it has to be looked at again."""
        try:
            if note.kind == "open":
                self._opened(note.queue)
            elif note.kind == "look":
                self._look(self._structure, note.queue)
            elif note.kind == "here":
                self._write(note.structure, note.queue, note.count, [self._qmgr])
            else:
                self._fulfilled(note)
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            structlog.get_logger().warning("not_triggered", queue=note.queue, error=str(error))
            return error.reason not in _PASSING
        return True

    # -- conditions ------------------------------------------------------------------------------------------------

    def _opened(self, initiation: str) -> None:
        """A program has opened an initiation queue: look at each queue that names it."""
        owner = self._structure.removeprefix(private_structure(""))
        of_manager = self._structure.startswith(private_structure(""))
        queues = self._repository.display_queues("*", (QueueLocal.kind,), every_manager=not of_manager)
        for queue in queues:
            definition = queue.definition
            if isinstance(definition, QueueLocal) and definition.initiation_q_name == initiation:
                self._look(queue.structure, queue.name, [owner] if of_manager else None)

    def _look(self, structure: str, name: str, only: list[str] | None = None) -> None:
        stored = self._stored(structure, name)
        if stored is None or stored.state.open_input or stored.definition.trigger_type == "EVERY":
            return
        definition = stored.definition
        held = stored.state.available
        if definition.trigger_msg_priority:
            below = (_PRIORITIES - definition.trigger_msg_priority) * _PRIORITY_STEP
            held = count_up_to_place(self._group, self._group.structure(structure).queue(name), below)
        if held >= (definition.trigger_depth if definition.trigger_type == "DEPTH" else 1):
            self._write(structure, name, 1, only)

    def _fulfilled(self, note: Note) -> None:
        if note.kind == "others":
            handles = self._queues.handles(self._structure, note.queue)
            opened = {qmgr_of(token) for token, mode in handles if set(mode.split(" ")[0]) & set("IX")}
            if not opened:
                # They have closed it meanwhile.
                self._look(self._structure, note.queue)
                return
            rest = [qmgr for qmgr in self._managers(self._structure) if qmgr not in opened]
            self._write(self._structure, note.queue, 1, rest, is_for_shared=False)
        else:
            self._write(self._structure, note.queue, note.count)

    def _managers(self, structure: str) -> list[str]:
        """Return the managers at which the queues of a structure trigger."""
        if structure.startswith(private_structure("")):
            return [structure.removeprefix(private_structure(""))]
        return [member.name for member in self._group.members() if member.state in _ACTIVE]

    def _stored(self, structure: str, name: str) -> StoredQueue | None:
        """Return a queue that is triggered, and from which programs may get. None: there is none of this name."""
        stored = self._queues.read(structure, [name]).get(name)
        if stored is None or not stored.definition.is_triggered or stored.definition.get != "ENABLED":
            return None
        return stored

    def _write(
        self,
        structure: str,
        name: str,
        count: int,
        managers: Iterable[str] | None = None,
        *,
        is_for_shared: bool = True,
    ) -> None:
        """Write trigger messages to every initiation queue that is open, and turn TRIGGER off where DEPTH says so.

        Args:
            managers: those that are meant; default: all at which the queue triggers.
            is_for_shared: whether a shared initiation queue is meant, too.
        """
        stored = self._stored(structure, name)
        if stored is None:
            return
        definition = stored.definition
        body = self._body(definition)
        if body is None:
            return
        is_written = is_shared_done = False
        for qmgr in self._managers(structure) if managers is None else managers:
            entry = self._initiation_queue(definition.initiation_q_name, qmgr)
            is_shared = entry is not None and entry.scope == "S"
            if entry is None or (is_shared and (is_shared_done or not is_for_shared)) or not self._is_open(entry):
                continue
            is_shared_done = is_shared_done or is_shared
            if is_shared or qmgr == self._qmgr:
                self._put(definition.initiation_q_name, body, count)
            else:
                # Only the programs of a manager use its private queues: it writes this message itself.
                note = {"kind": "here", "queue": name, "structure": structure, "count": str(count)}
                self._group.call(*note_trigger_call(self._group.structure(entry.structure), note))
            is_written = True
        if is_written and definition.trigger_type == "DEPTH" and is_for_shared:
            self._group.call(*turn_trigger_off_call(self._group.structure(structure).queue(name)))

    def _initiation_queue(self, name: str, qmgr: str) -> Entry | None:
        private, shared = self._directory.find(name, qmgr)
        entry = private or shared
        return entry if entry is not None and entry.kind == QueueLocal.kind and entry.is_in_structure else None

    def _is_open(self, entry: Entry) -> bool:
        """Whether a program has an initiation queue open for input. From now on the first MQOPEN of it is noted."""
        keys = self._group.structure(entry.structure)
        if self._group.call(*mark_initiation_call(keys, keys.queue(entry.name))):
            self._group.call(*tell_change_call(self._group.keys))
        stored = self._queues.read(entry.structure, [entry.name]).get(entry.name)
        if stored is None or not stored.state.open_input:
            return False
        definition = stored.definition
        return definition.get == "ENABLED" and definition.put == "ENABLED" and definition.usage == "NORMAL"

    # -- messages --------------------------------------------------------------------------------------------------

    def _body(self, definition: QueueLocal) -> bytes | None:
        """Return the MQTM for a queue. None: the process definition that it names does not exist."""
        process = self._repository.processes.named(definition.process_name) if definition.process_name else None
        if process is None and (definition.process_name or definition.usage != "XMITQ"):
            return None
        trigger = MQTM(
            q_name=definition.name.encode(),
            process_name=definition.process_name.encode(),
            trigger_data=definition.trigger_data.encode()[:64],
        )
        if process is not None:
            trigger.appl_type = process.appl_type
            trigger.appl_id = process.appl_id.encode()[:256]
            trigger.env_data = process.env_data.encode()[:128]
            trigger.user_data = process.user_data.encode()[:128]
        return wire.TM.pack(trigger)

    def _put(self, initiation: str, body: bytes, count: int) -> None:
        """Put a trigger message; on the dead-letter queue where the initiation queue refuses it."""
        now = datetime.now(UTC)
        date, time = now.strftime("%Y%m%d").encode(), now.strftime("%H%M%S%f")[:8].encode()
        md = MQMD(
            format=Format.TRIGGER,
            encoding=wire.ENCODING,
            coded_char_set_id=wire.CCSID,
            persistence=0,
            reply_to_q_mgr=self._qmgr.encode(),
            put_appl_type=int(ApplType.QMGR),
            put_appl_name=self._qmgr.encode()[:28],
            put_date=date,
            put_time=time,
        )
        messages = [(md, body)] * count
        try:
            self._put_all(initiation, messages)
        except MQIError as error:
            dead_letters = self._repository.qmgr_attributes(self._qmgr).dead_letter_queue
            if error.reason in (MQRC.CONNECTION_BROKEN, *_PASSING) or not dead_letters:
                raise
            where = (initiation.encode(), self._qmgr.encode())
            letter = dead_lettered(md, body, *where, int(error.reason), self._qmgr.encode()[:28], date, time)
            self._put_all(dead_letters, [letter])

    def _put_all(self, queue: str, messages: Iterable[tuple[MQMD, bytes]]) -> None:
        connection = self._connection
        with connection.lock:
            od = MQOD(object_name=queue.encode())
            handle = open_queue(connection, od, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT, may_create=False)
            try:
                for md, body in messages:
                    options = int(PutOption.NO_SYNCPOINT | PutOption.SET_ALL_CONTEXT | PutOption.NEW_MSG_ID)
                    put(connection, handle, md, MQPMO(options=options), body)
            finally:
                close_handle(connection, handle, CloseOption.NONE)


def _parsed(flat: list[bytes]) -> Note | None:
    words: Iterator[str] = (part.decode("utf-8", "backslashreplace") for part in flat)
    fields: dict[str, Any] = dict(zip(words, words, strict=True))
    try:
        return Note(fields["kind"], fields["queue"], fields.get("structure", ""), int(fields.get("count", 1)))
    except (KeyError, ValueError) as error:
        structlog.get_logger().warning("trigger_note_not_understood", error=str(error))
        return None


def _as_numbers(id_: bytes) -> tuple[int, ...]:
    return tuple(int(part) for part in id_.split(b"-"))
