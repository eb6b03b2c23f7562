"""Writes event messages: what a manager sees itself, and what programs, commands and scripts have noted for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from igq.events import formats
from sharedq.calls.handles.open import close_handle, open_queue
from sharedq.calls.put.put import put
from sharedq.members.event_notes import Giver, Note, take_notes
from sharedq.members.group import Group
from sharedq.messages.context import new_identifier
from sharedq.mqi.constants import MQRC, CloseOption, Format, OpenOption, PutOption
from sharedq.mqi.constants.pcf import PCFCommand
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import DEFAULT_CCSID, NULL_ID
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import PCFError, PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.inert_attributes import MODELS
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.names import matches
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import NAMED_OBJECTS, Repository
from sharedq.redis.keys import private_structure, qmgr_of
from sharedq.scripts.reads import stream_length
from sharedq.session.connection import Connection

#: Seconds between two looks for notes.
LOOK_S: Final = 15
#: Looks after which the names of the structures are read again.
_LOOKS_PER_READING = 4
_NOTES_PER_CALL = 100
#: Messages of the log that say that the manager ends.
_ENDS: Final = ("CSQY002I", "CSQY009I")


class EventWriter:
    """The events of one manager. It is used in the worker's thread.

    Args:
        connection: returns the worker's connection.
        say: called with a message id of `igq.output.messages` and its fields.
    """

    def __init__(self, group: Group, qmgr: str, connection: Callable[[], Connection], say: Callable[..., None]) -> None:
        self._group, self._qmgr, self._connection, self._say = group, qmgr, connection, say
        self._repository = Repository(group, qmgr)
        self._structures: list[str] = []
        self._looks = 0
        self._is_end_told = False

    def tell(self, message_id: str, fields: Mapping[str, Any], at_ms: int) -> None:
        """Write the event that the log's message *message_id* is about (`is_told_of`), with STRSTPEV(ENABLED)."""
        if message_id == "CSQE131I":
            # A structure that was lost knows nothing of what this manager asks for.
            self._quietly(lambda: self._repository.announce_events(self._qmgr))
        if message_id in _ENDS:
            # Write the noted events now, such as the command that stops the manager. No later look comes.
            self.look()
            if self._is_end_told:
                return
            self._is_end_told = True
        self._write_all([_from_log(message_id, self._qmgr, fields)], at_ms, is_noted=False)

    def look(self) -> None:
        """Take what was noted, and write the events. A structure that cannot be reached is left for the next look."""
        if self._looks % _LOOKS_PER_READING == 0:
            own, others = private_structure(self._qmgr), private_structure("")
            names = self._quietly(self._group.structure_names) or ()
            self._structures = [name for name in names if name == own or not name.startswith(others)]
        self._looks += 1
        for structure in self._structures:
            self._take(structure)

    def _take(self, structure: str) -> None:
        key = self._group.structure(structure).events
        # An idle manager asks for no more than this.
        while self._quietly(lambda: stream_length(self._group, key)):
            notes = self._quietly(lambda: take_notes(self._group, structure, _NOTES_PER_CALL))
            if not notes:
                return
            for note in notes:
                self._write_note(note)

    def _write_note(self, note: Note) -> None:
        try:
            if note.kind == "command" and note.fields.get("is_logged", True):
                self._say("IGQ0031I", **{name: note.fields[name] for name in ("user", "host", "command", "result")})
            if note.kind == "refresh":
                self._quietly(lambda: self._refresh(note))
                return
            messages = list(_from_note(note, self._qmgr))
        except (KeyError, TypeError, ValueError, PCFError) as error:
            structlog.get_logger().warning("event_note_not_understood", kind=note.kind, error=str(error))
            return
        self._write_all(messages, note.at_ms, is_noted=True)

    def _refresh(self, note: Note) -> None:
        """Tell of each object that there is now. The manager reads them: there may be more than the group's notes."""
        wanted, pattern = str(note.fields["wanted"]), str(note.fields["pattern"])
        objects: list[ObjectDefinition] = []
        if wanted in ("ALL", QueueManagerAttributes.kind):
            objects.append(self._repository.qmgr_attributes(self._qmgr))
        if wanted in ("ALL", "QUEUE", *QUEUE_KINDS):
            kinds = (wanted,) if wanted in QUEUE_KINDS else ()
            queues, _ = self._repository.display_queues_and_left_out(pattern, kinds, "ALL")
            objects += [queue.definition for queue in queues]
        if wanted in ("ALL", CFStruct.kind):
            objects += [each for each in self._repository.structures() if matches(pattern, each.name)]
        if wanted in ("ALL", Topic.kind):
            named = self._repository.topics.tree().by_name.values()
            objects += [each for each in named if matches(pattern, each.name)]
        for kind in NAMED_OBJECTS:
            if wanted in ("ALL", kind):
                found = self._repository.named_objects(kind).all()
                objects += [each for each in found if matches(pattern, each.name)]
        giver = Giver.of(note.fields)
        for each in objects:
            told = formats.configuration("refresh", self._qmgr, giver, None, each)
            self._write_all(told, note.at_ms, is_noted=True)

    def _write_all(self, messages: Sequence[PCFMessage], at_ms: int, *, is_noted: bool) -> None:
        """Put messages that belong together. The writer drops a message that the queue refuses.

        Args:
            is_noted: the note was left because the manager asked for it then. Other messages are of this moment.
        """
        if not messages:
            return
        kind = PCFCommand(messages[0].header.command)
        if not is_noted:
            attributes = self._quietly(lambda: self._repository.qmgr_attributes(self._qmgr))
            if attributes is None or attributes.start_stop_event == "DISABLED":
                return
        correl_id = new_identifier(self._qmgr.encode()) if len(messages) > 1 else NULL_ID
        self._quietly(lambda: self._put(formats.QUEUES[kind], messages, correl_id, at_ms))

    def _put(self, queue: str, messages: Sequence[PCFMessage], correl_id: bytes, at_ms: int) -> None:
        connection = self._connection()
        with connection.lock:
            od = MQOD(object_name=queue.encode())
            handle = open_queue(connection, od, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT, may_create=False)
            try:
                for message in messages:
                    options = int(PutOption.NO_SYNCPOINT | PutOption.SET_ALL_CONTEXT)
                    put(connection, handle, self._descriptor(correl_id, at_ms), MQPMO(options=options), write(message))
            finally:
                close_handle(connection, handle, CloseOption.NONE)

    def _descriptor(self, correl_id: bytes, at_ms: int) -> MQMD:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        return MQMD(
            format=Format.EVENT,
            coded_char_set_id=DEFAULT_CCSID,
            correl_id=correl_id,
            put_appl_type=formats.APPL_TYPE_QMGR,
            put_appl_name=self._qmgr.encode()[:28],
            put_date=at.strftime("%Y%m%d").encode(),
            put_time=at.strftime("%H%M%S%f")[:8].encode(),
        )

    def _quietly(self, call: Callable[[], Any]) -> Any:
        """Return what *call* returns; None if it fails: an event never fails a call, and is not tried again."""
        try:
            return call()
        except MQIError as error:
            structlog.get_logger().debug("event_dropped", error=str(error), pid=os.getpid())
            return None


def is_told_of(message_id: str, fields: Mapping[str, Any]) -> bool:
    """Whether an event tells of this message of the log."""
    return message_id in _OF_LOG and not (message_id == "CSQM065E" and str(fields.get("retry", "1")) != "1")


def _from_log(message_id: str, qmgr: str, fields: Mapping[str, Any]) -> PCFMessage:
    if message_id == "CSQY022I":
        return formats.active(qmgr)
    if message_id in _ENDS:
        return formats.not_active(qmgr, is_immediate=fields["mode"] != "quiesce")
    reason, name, detail = _OF_LOG[message_id]
    return formats.of_group(reason, qmgr, str(fields.get(name, "")), detail.format(**fields))


#: Message of the log -> reason, the field with the name of what it is about, and details.
_OF_LOG: Final[Mapping[str, tuple[int, str, str]]] = {
    "CSQY022I": (MQRC.Q_MGR_ACTIVE, "", ""),
    **dict.fromkeys(_ENDS, (MQRC.Q_MGR_NOT_ACTIVE, "", "")),
    "CSQE011I": (formats.OwnReason.RECOVERY_BEGUN, "target", ""),
    "CSQE014I": (
        formats.OwnReason.RECOVERY_ENDED,
        "target",
        "units of work: {units_of_work}, messages: {messages}",
    ),
    "CSQM065E": (formats.OwnReason.AGENT_IN_RETRY, "", "{error}"),
    "IGQ0021I": (formats.OwnReason.AGENT_LEFT_RETRY, "", ""),
    "CSQE035E": (MQRC.CF_STRUC_FAILED, "structure", ""),
    "CSQE036I": (MQRC.CF_STRUC_FAILED, "structure", ""),
    "CSQE131I": (formats.OwnReason.STRUCTURE_USABLE, "structure", ""),
}


def _from_note(note: Note, qmgr: str) -> Iterator[PCFMessage]:
    """Return the messages that a note is for.

    Raises:
        KeyError, TypeError, ValueError, PCFError: the note is of a version that is not known here.
    """
    fields = note.fields
    if note.kind in formats.PERFORMANCE:
        at = qmgr_of(str(fields["owner"]))
        counts = (int(fields[name]) for name in ("since", "depth", "in", "out"))
        yield formats.performance_event(note.kind, at, fields["queue"], *counts)
    elif note.kind == "refused":
        yield formats.refusal(qmgr, formats.RefusalEvent(**fields))
    elif note.kind == "channel":
        told = formats.channel_stopped_by_user if fields["is_stopped"] else formats.channel_started
        yield told(qmgr, fields["channel"])
    elif note.kind == "command":
        if fields["is_told"]:
            yield _of_command(qmgr, Giver.of(fields), fields)
    elif note.kind == "config":
        model = MODELS[fields["object"]]
        before, after = (model.from_json(text) if text else None for text in (fields["before"], fields["after"]))
        yield from formats.configuration(fields["action"], qmgr, Giver.of(fields), before, after)
    else:
        raise KeyError(note.kind)


def _of_command(qmgr: str, giver: Giver, fields: Mapping[str, Any]) -> PCFMessage:
    if "request" in fields:
        return formats.command_by_message(qmgr, giver, read(bytes.fromhex(fields["request"])))
    return formats.command_by_text(qmgr, giver, fields["command"], int(fields["number"]))
