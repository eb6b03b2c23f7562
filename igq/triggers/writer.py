"""Writes trigger messages: takes what scripts have noted of one structure's queues, and looks at the conditions.

A mark says that a condition of TRIGTYPE may hold. The writer looks at what IBM MQ asks for besides: TRIGGER is on, gets
are not inhibited, the process definition exists, a program has the initiation queue open for input. While the process
definition or the initiation queue is missing, the mark stays, so that a later look finds it. Of a shared queue each
manager whose own initiation queue is open gets a trigger message; a shared initiation queue gets one in all.

The script that claims a trigger looks at the queue once more. From then on the message is owed (`marks.WRITE`): the
state of the queue has changed before anybody can see the message.

Source: IBM MQ, "Conditions for a trigger event", "Message descriptor of a trigger message", "MQTM".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from igq.triggers import marks
from igq.triggers.marks import Mark, parsed
from sharedq.calls.handles.open import close_handle, open_queue
from sharedq.calls.put.put import put
from sharedq.members.group import Group
from sharedq.members.news import tell_managers
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
from sharedq.redis.keys import StructureKeys, private_structure, qmgr_of
from sharedq.redis.link import ScriptCall
from sharedq.scripts.events import (
    claim_trigger_call,
    mark_initiation_call,
    owe_trigger_call,
    settle_trigger_call,
    take_triggers_call,
    tell_change_call,
)
from sharedq.session.connection import Connection

#: Marks that one call reads, about.
MARKS_PER_CALL: Final = 100
#: Seconds in which a program that has set TRIGGER may open the queue, before an ALTER or MQSET triggers another.
_PAUSE_S: Final = 0.5
#: Trigger messages of EVERY for one queue in one look: the others have their turn.
_MESSAGES_PER_LOOK: Final = 100
_ACTIVE: Final = ("STARTING", "RUNNING", "QUIESCING")
#: Reasons that pass: a message that was refused for one is not put on the dead-letter queue.
_PASSING: Final = (MQRC.CF_STRUC_IN_USE, MQRC.CF_STRUC_FAILED, MQRC.CF_NOT_AVAILABLE, MQRC.STORAGE_MEDIUM_FULL)
_OF_CONDITION: Final = ("FIRST", "DEPTH")


@dataclass(frozen=True, slots=True)
class _Targets:
    """Initiation queues, each with the manager that it is for, and whether one is open that takes nothing now."""

    usable: tuple[tuple[str, Entry], ...]
    is_delayed: bool


@dataclass(slots=True)
class _Known:
    """The facts that one look has read: they serve all marks of the look."""

    queues: dict[tuple[str, str], StoredQueue] = field(default_factory=dict)
    managers: list[str] | None = None
    #: How an initiation queue is: ``usable``, ``delayed`` (open, and inhibited or not looked at yet), ``closed``.
    initiation: dict[Entry, str] = field(default_factory=dict)
    #: Initiation queues of the structure whose MQOPEN was looked at: what that has marked comes in the next look.
    opened: set[str] = field(default_factory=set)
    #: Queues, with the managers that were told in this look.
    told: set[tuple[str, str]] = field(default_factory=set)
    targets: dict[tuple[str, str], _Targets] = field(default_factory=dict)


class TriggerWriter:
    """Writes the trigger messages for the queues of one structure. It is used in one thread.

    Args:
        connection: of this manager; it takes marks only while it is the one that may.
        pause_s: seconds before what an ALTER or MQSET has changed is looked at.
    """

    def __init__(self, group: Group, structure: str, connection: Connection, *, pause_s: float = _PAUSE_S) -> None:
        self._group, self._structure, self._connection = group, structure, connection
        self._qmgr = connection.qmgr_name
        self._keys = group.structure(structure)
        self._repository = Repository(group, self._qmgr)
        self._directory, self._queues = Directory(group), LocalQueues(group, self._qmgr, "")
        self._known = _Known()
        self._pause_s = pause_s
        #: When the marks of ALTER and MQSET were seen first. Each alteration has its own.
        self._seen_s: dict[Mark, float] = {}
        self._warned: set[tuple[str, int]] = set()
        self._ways: Mapping[str, Callable[[Mark], bool]] = {
            marks.OPENED: self._opened,
            marks.HERE: self._here,
            marks.WRITE: self._write,
            marks.LOOK: self._look,
            marks.ALTERED: self._altered,
            marks.OTHERS: self._others,
            marks.EVERY: self._every,
        }
        #: The latest ring of the stream before the look.
        self.last = b"0-0"
        #: Marks that the latest look has kept, because something outside the queue is missing.
        self.kept = 0

    def take(self) -> int | None:
        """Look at every mark, and write trigger messages.

        Returns:
            How many marks are done, or done in part. None: another connection writes for this structure.

        Raises:
            MQIError: 2009; 2373, 2346, 2345: the structure cannot be used now.
        """
        self._connection.access(self._structure)
        found = self._read()
        if found is None:
            return None
        self._known = _Known()
        for structure, names in _by_structure(found, self._structure).items():
            stored = self._queues.read(structure, names)
            self._known.queues.update({(structure, name): each for name, each in stored.items()})
        still = set(found)
        self._seen_s = {mark: at_s for mark, at_s in self._seen_s.items() if mark in still}
        order = list(self._ways)
        done = 0
        for mark in sorted(found, key=lambda mark: (order.index(mark.kind) if mark.kind in order else 0, mark.of)):
            done += self._deal_with(mark)
        self.kept = len(found) - done
        return done

    def _read(self) -> list[Mark] | None:
        """Return every mark. None: another connection writes for this structure."""
        found, cursor = dict[bytes, bytes](), b""
        while cursor != b"0":
            reply = self._call(take_triggers_call(self._keys, self._connection.token, cursor or b"0", MARKS_PER_CALL))
            if reply is None:
                return None
            is_new, following, last, flat = reply
            if is_new:
                self._look_at_all()
                continue
            if not cursor:
                self.last = last
            cursor = following
            found.update(zip(flat[::2], flat[1::2], strict=True))
        return [parsed(name, count) for name, count in found.items()]

    def _call(self, call: ScriptCall) -> list[Any] | None:
        """Return what a script answers after its reason. None: another connection writes for this structure."""
        status, *rest = self._connection.call(*call)
        if status > 1:
            raise self._connection.error(status)
        return None if status else rest

    def _look_at_all(self) -> None:
        """Mark each queue whose conditions hold: whatever the one before has missed is found here."""
        there = (entry for entry in self._directory.scan() if entry.structure == self._structure)
        for name, stored in self._queues.read(self._structure, [entry.name for entry in there]).items():
            if _may_be_due(stored):
                self._owe(self._keys, Mark(marks.LOOK, name))

    def _deal_with(self, mark: Mark) -> bool:
        """Do what a mark asks for. False: it has to be looked at again."""
        is_done = False
        with self._warning_of(mark.queue):
            if mark.kind not in self._ways:
                structlog.get_logger().warning("trigger_mark_not_understood", mark=mark.field)
            is_done = self._ways.get(mark.kind, self._settle)(mark)
        return is_done  # noqa: RET504 - what is warned of has not come so far

    @contextmanager
    def _warning_of(self, queue: str) -> Iterator[None]:
        """Warn of what fails for a queue, and go on. A lost connection ends the writer's turn."""
        try:
            yield
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            self._warn(queue, error)

    def _settle(self, mark: Mark, count: int | None = None) -> bool:
        """Forget a mark, or *count* of its times. True."""
        count = mark.count if count is None else count
        self._call(settle_trigger_call(self._keys, self._connection.token, mark.field, count))
        return True

    def _owe(self, keys: StructureKeys, mark: Mark, count: int | None = None) -> None:
        """Leave a mark in a structure; *count*: add so many times."""
        if self._group.call(*owe_trigger_call(keys, mark.field, count)):
            self._group.call(*tell_change_call(self._group.keys))
            tell_managers(self._group)

    def _warn(self, queue: str, error: MQIError) -> None:
        """Say once why a trigger message could not be written."""
        if (queue, int(error.reason)) not in self._warned:
            self._warned.add((queue, int(error.reason)))
            structlog.get_logger().warning("not_triggered", queue=queue, error=str(error))

    # -- marks -----------------------------------------------------------------------------------------------------

    def _opened(self, mark: Mark) -> bool:
        """A program has opened an initiation queue: have each queue that names it looked at."""
        of_manager = self._structure.startswith(private_structure(""))
        of = self._structure.removeprefix(private_structure("")) if of_manager else marks.ALL
        queues, _ = self._repository.display_queues_and_left_out("*", (QueueLocal.kind,), every_manager=not of_manager)
        for queue in queues:
            definition = queue.definition
            if isinstance(definition, QueueLocal) and definition.initiation_q_name == mark.queue:
                stored = self._queues.read(queue.structure, [queue.name]).get(queue.name)
                if stored is not None and _may_be_due(stored):
                    self._owe(self._group.structure(queue.structure), Mark(marks.LOOK, queue.name, of))
        self._known.opened.add(mark.queue)
        return self._settle(mark)

    def _look(self, mark: Mark) -> bool:
        """The conditions of FIRST or DEPTH may hold."""
        stored = self._known.queues.get((self._structure, mark.queue))
        if stored is None or not _may_be_due(stored) or self._is_told(mark):
            return self._settle(mark)
        of = mark.of if mark.kind == marks.LOOK else ""
        if self._body(stored.definition) is None or not self._targets(stored.definition, of).usable:
            return False
        claimed = Mark(marks.WRITE, mark.queue, of)
        queue, is_again = self._keys.queue(mark.queue), of != ""
        call = claim_trigger_call(
            *(self._keys, queue, self._connection.token, mark.field, mark.count, claimed.field), is_again=is_again
        )
        if (reply := self._call(call)) is not None and reply[0]:
            self._write(claimed)
        return True

    def _altered(self, mark: Mark) -> bool:
        """An ALTER or MQSET may have made the conditions hold. A program that serves the queue opens it after that."""
        now_s = time.monotonic()
        return now_s >= self._seen_s.setdefault(mark, now_s) + self._pause_s and self._look(mark)

    def _is_told(self, mark: Mark) -> bool:
        """Whether the managers that are meant have been told in this look, for another mark of the queue."""
        return bool(mark.of) and any(
            name == mark.queue and mark.of in (qmgr, marks.ALL) for name, qmgr in self._known.told
        )

    def _write(self, mark: Mark) -> bool:
        """A trigger message of FIRST or DEPTH is owed."""
        stored = self._known.queues.get((self._structure, mark.queue))
        if stored is None or _is_over(stored):
            return self._settle(mark)
        body, targets = self._body(stored.definition), self._targets(stored.definition, mark.of)
        if body is None or not targets.usable:
            return False
        if min(self._tell(target, stored.definition, body, 1) for target in targets.usable) < 1:
            return False
        return self._settle(mark)

    def _others(self, mark: Mark) -> bool:
        """The first message has come to a queue that some managers have open: tell the others."""
        stored = self._known.queues.get((self._structure, mark.queue))
        handles = self._queues.handles(self._structure, mark.queue)
        opened = {qmgr_of(token) for token, mode in handles if set(mode.split(" ")[0]) & set("IX")}
        if not opened:
            # They have closed it meanwhile.
            return self._look(mark)
        body = self._body(stored.definition) if stored is not None and _is_triggered(stored) else None
        if stored is not None and body is not None:
            for qmgr, entry in self._targets(stored.definition, "").usable:
                if qmgr not in opened and entry.scope != "S":
                    self._tell((qmgr, entry), stored.definition, body, 1)
        return self._settle(mark)

    def _every(self, mark: Mark) -> bool:
        """So many messages came to a queue of EVERY. Those that came while nobody served it are not made up for."""
        stored = self._known.queues.get((self._structure, mark.queue))
        if stored is None or not _is_triggered(stored) or stored.definition.trigger_type != "EVERY":
            return self._settle(mark)
        body, targets = self._body(stored.definition), self._targets(stored.definition, "")
        if not targets.usable and not targets.is_delayed:
            return self._settle(mark)
        if body is None or targets.is_delayed:
            return False
        count = min(mark.count, _MESSAGES_PER_LOOK)
        written = min(self._tell(target, stored.definition, body, count) for target in targets.usable)
        return written > 0 and self._settle(mark, written)

    def _here(self, mark: Mark) -> bool:
        """Another manager has looked, and this one writes for its own initiation queue."""
        stored = self._known.queues.get((mark.of, mark.queue))
        if stored is None:
            return self._settle(mark)
        body, targets = self._body(stored.definition), self._targets(stored.definition, self._qmgr)
        if not targets.usable and not targets.is_delayed and stored.definition.trigger_type != "DEPTH":
            # The program has gone. The next MQOPEN of the initiation queue has the conditions of FIRST looked at.
            return self._settle(mark)
        if body is None or not targets.usable:
            return False
        count = min(mark.count, _MESSAGES_PER_LOOK)
        written = min(self._tell(target, stored.definition, body, count) for target in targets.usable)
        return written > 0 and self._settle(mark, written)

    # -- conditions ------------------------------------------------------------------------------------------------

    def _managers(self) -> list[str]:
        """Return the managers at which the queues of the structure trigger."""
        if self._structure.startswith(private_structure("")):
            return [self._structure.removeprefix(private_structure(""))]
        if self._known.managers is None:
            self._known.managers = [member.name for member in self._group.members() if member.state in _ACTIVE]
        return self._known.managers

    def _targets(self, definition: QueueLocal, of: str) -> _Targets:
        """Return the initiation queues to write to: at one manager, or at all."""
        name = definition.initiation_q_name
        if (name, of) not in self._known.targets:
            usable, is_delayed = list[tuple[str, Entry]](), False
            for qmgr in self._managers() if of in ("", marks.ALL) else [of]:
                entry = self._initiation_queue(name, qmgr)
                if entry is None or (entry.scope == "S" and any(entry == other for _, other in usable)):
                    continue
                state = self._state_of(entry)
                is_delayed = is_delayed or state == "delayed"
                if state == "usable":
                    usable.append((qmgr, entry))
            self._known.targets[name, of] = _Targets(tuple(usable), is_delayed)
        return self._known.targets[name, of]

    def _initiation_queue(self, name: str, qmgr: str) -> Entry | None:
        private, shared = self._directory.find(name, qmgr)
        entry = private or shared
        return entry if entry is not None and entry.kind == QueueLocal.kind and entry.is_in_structure else None

    def _state_of(self, entry: Entry) -> str:
        """Return whether an initiation queue takes trigger messages. From now on the first MQOPEN of it is noted."""
        if entry not in self._known.initiation:
            keys = self._group.structure(entry.structure)
            is_unknown, is_opening = self._group.call(*mark_initiation_call(keys, keys.queue(entry.name)))
            if is_unknown:
                self._group.call(*tell_change_call(self._group.keys))
                tell_managers(self._group)
            stored = self._queues.read(entry.structure, [entry.name]).get(entry.name)
            if stored is None or not stored.state.open_input or stored.definition.usage != "NORMAL":
                state = "closed"
            else:
                is_inhibited = "DISABLED" in (stored.definition.get, stored.definition.put)
                state = "delayed" if is_inhibited else "usable"
                if is_opening or (entry.structure == self._structure and entry.name in self._known.opened):
                    state = "delayed"
            self._known.initiation[entry] = state
        return self._known.initiation[entry]

    # -- messages --------------------------------------------------------------------------------------------------

    def _tell(self, target: tuple[str, Entry], definition: QueueLocal, body: bytes, count: int) -> int:
        """Write trigger messages to an initiation queue. Returns how many are written, or left to another manager."""
        qmgr, entry = target
        self._known.told.add((definition.name, qmgr))
        if entry.scope == "S" or qmgr == self._qmgr:
            return self._put(definition, body, count)
        # Only the programs of a manager use its private queues: it writes this message itself.
        mark = Mark(marks.HERE, definition.name, self._structure)
        self._owe(self._group.structure(entry.structure), mark, count if definition.trigger_type == "EVERY" else None)
        return count

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

    def _put(self, definition: QueueLocal, body: bytes, count: int) -> int:
        """Put trigger messages; on the dead-letter queue where the initiation queue refuses one.

        Returns:
            How many are there. The rest is refused, and tried again.
        """
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
        initiation = definition.initiation_q_name
        for written in range(count):
            is_put = False
            with self._warning_of(definition.name):
                try:
                    self._put_one(initiation, md, body)
                except MQIError as error:
                    dead_letters = self._repository.qmgr_attributes(self._qmgr).dead_letter_queue
                    if error.reason in (MQRC.CONNECTION_BROKEN, *_PASSING) or not dead_letters:
                        raise
                    where = (initiation.encode(), self._qmgr.encode())
                    letter = dead_lettered(md, body, *where, int(error.reason), self._qmgr.encode()[:28], date, time)
                    self._put_one(dead_letters, *letter)
                is_put = True
            if not is_put:
                return written
        return count

    def _put_one(self, queue: str, md: MQMD, body: bytes) -> None:
        connection = self._connection
        with connection.lock:
            od = MQOD(object_name=queue.encode())
            handle = open_queue(connection, od, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT, may_create=False)
            try:
                options = int(PutOption.NO_SYNCPOINT | PutOption.SET_ALL_CONTEXT | PutOption.NEW_MSG_ID)
                put(connection, handle, md, MQPMO(options=options), body)
            finally:
                close_handle(connection, handle, CloseOption.NONE)


def _is_triggered(stored: StoredQueue) -> bool:
    """Whether a queue triggers at all now, and programs may get from it."""
    return stored.definition.is_triggered and stored.definition.get == "ENABLED"


def _may_be_due(stored: StoredQueue) -> bool:
    """Whether the conditions of FIRST or DEPTH may hold. The script that claims a trigger looks at priorities, too."""
    definition, state = stored.definition, stored.state
    if not _is_triggered(stored) or definition.trigger_type not in _OF_CONDITION or state.open_input:
        return False
    return state.available >= (definition.trigger_depth if definition.trigger_type == "DEPTH" else 1)


def _is_over(stored: StoredQueue) -> bool:
    """Whether a trigger message of FIRST would say nothing any more: the queue is served, or empty."""
    is_idle = bool(stored.state.open_input) or not stored.state.available
    return stored.definition.trigger_type == "FIRST" and is_idle


def _by_structure(found: Iterable[Mark], own: str) -> dict[str, list[str]]:
    """Return the names of the queues that marks are about, by their structures."""
    names: dict[str, list[str]] = {}
    for mark in found:
        if mark.kind != marks.OPENED:
            names.setdefault(mark.of if mark.kind == marks.HERE else own, []).append(mark.queue)
    return names
