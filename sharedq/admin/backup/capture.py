"""BACKUP CFSTRUCT: writes a structure's persistent messages to a file while the structure is in use.

The backup notes the journal's end, then reads the open units of work and the queues page by page, and looks up what the
journal says has changed, until one script finds that nothing has changed: the backup is what the structure held at that
moment. If programs change more between two looks than one look takes in, the looks become larger, up to a limit. It
then reads the definitions of the queues, which may be a little younger.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sharedq.admin.backup.errors import failed, in_use, not_recoverable
from sharedq.admin.backup.file import BackupWriter, backup_path
from sharedq.admin.backup.glance import noting_failure
from sharedq.admin.backup.image import Image, MessageReceiver, read_operation
from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.members.group import Group
from sharedq.messages.record import RECORD_PERSISTENT, record_flags
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.managers import CFStruct
from sharedq.objects.store.directory import Directory
from sharedq.objects.store.failures import lost_queues, queues_in
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.objects.store.parts import parts_of
from sharedq.objects.store.structures import Structures
from sharedq.redis.link import Argument, Reply
from sharedq.scripts.backup import backup_changes_call, backup_page_call
from sharedq.scripts.reads import pairs_like
from sharedq.settings.directories import make_private

_PAGE_MESSAGES, _PAGE_BYTES = 100, 1 << 20
_ENTRIES, _LOOK_UPS, _UNITS, _OPERATIONS = 500, 500, 50, 50
#: The most messages of open units of work that are passed to a script.
_OPEN_MESSAGES = 4000
#: Looks at the journal's end in which the doubtful messages did not become fewer, before the looks become larger.
_VAIN_LOOKS = 5
#: The most that a look grows. It then takes in 8,000 messages or 8 MiB, for which Redis needs about 25 ms.
_LARGEST = 8
#: Bytes of records that are held in memory meanwhile, at most.
_HELD_BYTES = 1 << 27
#: With its place, the score of a message that waits to be reported in a structure's `expiry` (lua/prelude/place).
_WAITS_TO_BE_TOLD = -(1 << 52)
#: Seconds without progress after which a backup fails: it waits for units of work whose end others have begun, or for
#: discarded messages, or programs change more than it can follow.
PATIENCE_S = 60.0
_PAUSE_S = 0.01
#: Seconds that a command waits for a log, which has the backup for a moment.
LOG_PATIENCE_S = 1.0
#: Seconds after which definitions that a log has are read again.
_DESCRIBED_S = 2.0


@dataclass(frozen=True, slots=True)
class Taken:
    """A backup that was made. ``position`` is the journal entry at which it ends."""

    path: Path
    messages: int
    queues: int
    bytes: int
    position: str


def backup(group: Group, structure: str, born: str | None = None) -> Taken:
    """Back up the application structure *structure*. The new backup replaces the previous one.

    Args:
        born: what `Group.born` told of the group that is meant; None: the one that is there.

    Raises:
        BackupError: it is not recoverable, or being backed up; the journal is off, or was trimmed meanwhile.
        MQIError: 2349, there is no such structure; 2009, Redis cannot be reached.
    """
    taken, _ = take(group, structure, born)
    return taken


def take(group: Group, structure: str, born: str | None = None) -> tuple[Taken, Follower]:
    """Do the same as `backup`, and return what can follow the structure from then on."""
    definition = check_recoverable(group, structure)
    if not group.settings.journal:
        raise not_recoverable(structure, "the group has no journal (setting journal)")
    path = backup_path(group.settings, structure)
    try:
        with exclusively(path, structure), noting_failure(path):
            _refuse_what_is_lost(group, structure)
            begun = datetime.now(UTC).isoformat()
            born = group.born() if born is None else born
            about = {"group": group.name, "structure": structure, "begun": begun, "born": born}
            writer = BackupWriter(path, about)
            try:
                made = Follower(group, definition, writer, born)
                return made.make(path), made
            except BaseException:
                writer.give_up()
                raise
    except OSError as error:
        raise failed(structure, f"{error.filename or path}: {error.strerror}") from error


def check_recoverable(group: Group, structure: str) -> CFStruct:
    """Return the definition of a structure, after checking that it can be backed up and recovered.

    Raises:
        BackupError: it has RECOVER(NO), or its level allows no persistent messages.
        MQIError: 2349, there is no such structure.
    """
    known = {each.name: each for each in Structures(group, lambda: datetime.now(UTC)).list()}.get(structure)
    if known is None:
        raise error_for(MQRC.CF_STRUC_ERROR, "", structure, "there is no such structure")
    if not known.is_recoverable:
        raise not_recoverable(structure, "it needs RECOVER(YES) and CFLEVEL(3) at least")
    return known


@contextmanager
def exclusively(path: Path, structure: str, patience_s: float = LOG_PATIENCE_S) -> Iterator[None]:
    """Keep other processes on this machine from the backup *path*, until the block ends or this process dies.

    Args:
        patience_s: how long to wait for another one. A log has it for some milliseconds at a time.

    Raises:
        BackupError: another one has it.
    """
    make_private(path.parent)
    lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until_s = time.monotonic() + patience_s
        while not _try_lock(lock):
            if time.monotonic() >= until_s:
                raise in_use(structure, "another BACKUP or RECOVER of it runs")
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(lock)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def queues_of(group: Group, structure: str) -> list[str]:
    """Return the names of the directory's shared queues in a structure."""
    return queues_in(Directory(group), structure)


def parts_in(group: Group, structure: str) -> list[str]:
    """Return the names that parts of SYSTEM.QSG.TRANSMIT.QUEUE can have in a structure."""
    return [part.queue for part in parts_of(group) if part.structure == structure]


def _refuse_what_is_lost(group: Group, structure: str) -> None:
    """Refuse: a backup now would replace the one from which the lost queue can be recovered."""
    lost = lost_queues(Directory(group), LocalQueues(group, None, ""), structure)
    if lost:
        raise not_recoverable(structure, f"queue {lost[0]} is lost: RECOVER CFSTRUCT first, or DELETE it")


class Follower:
    """Knows what is on the queues of a structure, from a backup on.

    Attributes:
        digest: that of the backup.
    """

    def __init__(self, group: Group, definition: CFStruct, writer: BackupWriter, born: str) -> None:
        self._group, self._structure, self._writer, self._born = group, definition.name, writer, born
        self._sink: MessageReceiver = writer
        self._queues: set[bytes] = set()
        self._is_defined_anew = False
        self._ending: dict[str, Any] = {}
        self._described_s = 0.0
        self.digest = b""
        self._definition = definition
        self._keys = group.structure(self._structure)
        self._image = Image(self)
        #: Messages found while the journal is followed to its end: queue, place and record. They are written later:
        #: that takes longer than Redis needs for it, and much of it is gone by then.
        self._held: dict[bytes, tuple[bytes, int, bytes]] | None = None
        self._held_bytes = 0
        self._last, self._has_caught_up = b"0-0", False
        #: By what the looks are larger than at first.
        self._size = 1

    def make(self, path: Path) -> Taken:
        group = self._group
        found = group.command(self._keys.journal, "XREVRANGE", self._keys.journal, "+", "-", "COUNT", 1)
        self._last = found[0][0] if found else b"0-0"
        # After the journal's end: the journal has an entry for whatever arrives later.
        arrival = int(group.command(self._keys.sequence, "GET", self._keys.sequence) or 0)
        self._read_units()
        names = [*queues_of(group, self._structure), *parts_in(group, self._structure)]
        for name in names:
            queue = self._keys.queue(name)
            for messages in (queue.available, queue.members):
                self._read_queue(name, messages, queue.locks, arrival)
        self._read_unreported({name.encode() for name in names})
        ending = self._end(self._catch_up())
        self.digest = self._writer.end(ending)
        return Taken(path, len(self._image), len(ending["queues"]), self._writer.bytes, ending["position"])

    def follow(self, sink: MessageReceiver) -> dict[str, Any]:
        """Write to *sink* what has changed since the backup or the previous call. Returns the end of that.

        Raises:
            BackupError: the journal was trimmed meanwhile, or the structure has lost it.
            MQIError: 2009, Redis cannot be reached.
        """
        self._sink = sink
        return self._end(self._catch_up())

    def wait(self, limit_ms: int) -> None:
        """Return when the journal has another entry, or after *limit_ms*."""
        key = self._keys.journal
        self._group.command(key, "XREAD", "COUNT", 1, "BLOCK", limit_ms, "STREAMS", key, self._last)

    def message(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        """Pass on a message that is on a queue."""
        self._is_defined_anew |= queue not in self._queues
        if self._held is None:
            self._sink.message(queue, message_id, score, record)
            return
        if message_id in self._held:
            self._held_bytes -= len(self._held[message_id][2])
        self._held[message_id] = queue, score, record
        self._held_bytes += len(record)
        if self._held_bytes > _HELD_BYTES:
            self._write_held()

    def gone(self, ids: list[bytes]) -> None:
        """Pass on the ids of messages that are no longer there."""
        if self._held:
            for message_id in ids:
                if message_id in self._held:
                    self._held_bytes -= len(self._held.pop(message_id)[2])
        # A held message may also have been written before, on another queue or position.
        self._sink.gone(ids)

    def _write_held(self) -> None:
        for message_id, (queue, score, record) in (self._held or {}).items():
            self._sink.message(queue, message_id, score, record)
        self._held, self._held_bytes = {}, 0

    def _end(self, sequence: int) -> dict[str, Any]:
        """Return the definitions and the position. Definitions are read again if they may be old."""
        group = self._group
        if self._is_defined_anew or time.monotonic() > self._described_s + _DESCRIBED_S:
            self._described_s = time.monotonic()
            stored = LocalQueues(group, None, "").read(self._structure, queues_of(group, self._structure))
            flat = group.command(self._keys.destinations, "HGETALL", self._keys.destinations)
            self._ending = {
                "structure": self._definition.to_json(),
                "number": group.structure_number(self._structure),
                "queues": {name: queue.definition.to_json() for name, queue in stored.items()},
                "destinations": {
                    name.decode(): text.decode() for name, text in zip(flat[::2], flat[1::2], strict=True)
                },
            }
            self._queues = {name.encode() for name in (*stored, *parts_in(group, self._structure))}
            self._is_defined_anew = False
            self._refuse_what_was_lost()
        at = datetime.now(UTC).isoformat()
        return self._ending | {"sequence": sequence, "position": self._last.decode(), "at": at}

    def _refuse_what_was_lost(self) -> None:
        """Refuse to end if Redis has lost the group or the structure meanwhile: what was read is not all there was."""
        if self._group.born() != self._born:
            raise failed(self._structure, "Redis has lost the group meanwhile")
        _refuse_what_is_lost(self._group, self._structure)

    def _read_units(self) -> None:
        """Read the units of work that are open, or see them end, before any queue is read."""
        read = []
        for owner, lists in self._owners():
            for key in lists:
                state: list[bytes] = self._group.command(key, "LRANGE", key, 0, 0)
                if state:
                    read.append(state[0][1:])
                    self._image.unit(read[-1], owner)
        until_s = time.monotonic() + PATIENCE_S
        while self._image.is_to_look_at(read):
            self._step()
            self._wait(until_s)

    def _owners(self) -> Iterator[tuple[bytes, list[str]]]:
        """Yield owners that may have a unit of work, with the lists that may hold it.

        In this order, because an owner that is shut out moves to the dead, and a prepared unit of work is recorded as
        such before it leaves its owner.
        """
        for key in (self._keys.owners, self._keys.dead):
            for owner, _ in pairs_like(self._group, "HSCAN", key):
                yield owner, [self._keys.unit_of_work + owner.decode()]
        for unit in prepared_units(self._group):
            yield unit.owner.encode(), [self._keys.unit_of_work + name for name in (unit.owner, unit.id)]

    def _read_queue(self, name: str, messages: str, locks: str, arrival: int) -> None:
        after = b"0"
        while after:
            after, *flat = self._group.call(
                *backup_page_call(self._keys, messages, locks, after, arrival, _PAGE_MESSAGES, _PAGE_BYTES)
            )
            for message_id, score, record in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
                self._image.on_queue(name.encode(), message_id, int(score), record)
            # Follow the journal, so that it need not keep more than what happens while one page is read.
            self._step()

    def _read_unreported(self, queues: Container[bytes]) -> None:
        """Read the messages that were found expired on one of *queues* and are still to be reported, with their places.

        After the queues: a message that is found expired meanwhile was read there.
        """
        key, after = self._keys.expiry, "-inf"
        while True:
            flat = self._group.command(key, "ZRANGEBYSCORE", key, after, "(0", "WITHSCORES", "LIMIT", 0, _PAGE_MESSAGES)
            for entry, noted in zip(flat[::2], flat[1::2], strict=True):
                queue, _, message_id = entry.rpartition(b" ")
                record = self._group.command(self._keys.messages, "HGET", self._keys.messages, message_id)
                if queue in queues and record and record_flags(record) & RECORD_PERSISTENT:
                    self._image.on_queue(queue, message_id, int(noted) - _WAITS_TO_BE_TOLD, record)
            if len(flat) < 2 * _PAGE_MESSAGES:
                return
            after = f"({int(flat[-1])}"
            self._step()

    def _catch_up(self) -> int:
        """Follow the journal to its end. Returns the counter of message numbers there."""
        self._size, least, vain = 1, self._image.doubts, 0
        # The findings of a failed attempt are known, too.
        self._held = self._held or {}
        until_s = time.monotonic() + PATIENCE_S
        while True:
            sequence = self._step()
            if sequence is not None:
                self._write_held()
                self._held = None
                return sequence
            if not self._has_caught_up:
                continue
            vain += 1
            if self._image.doubts < least:
                least, vain, until_s = self._image.doubts, 0, time.monotonic() + PATIENCE_S
            elif vain == _VAIN_LOOKS:
                self._size, vain = min(2 * self._size, _LARGEST), 0
            self._wait(until_s)

    def _wait(self, until_s: float) -> None:
        if time.monotonic() > until_s:
            raise in_use(self._structure, "programs have begun, or change, too much there")

    def _step(self) -> int | None:
        """Learn what has happened and look up what is doubtful. None unless everything was certain at one moment."""
        image = self._image
        reply = self._ask()
        if reply[0]:
            raise failed(
                self._structure,
                "its journal was trimmed meanwhile, make journal_max_entries or journal_max_bytes larger",
            )
        _, entries, is_end, found, standing, sequence, trash = reply
        for entry_id, flat in entries:
            self._last = entry_id
            image.entry(dict(zip(flat[::2], flat[1::2], strict=True)))
        for unit_id, state, *elements in standing:
            operations = [] if state in (b"B", b"C") else [read_operation(element) for element in elements]
            image.looked_at(unit_id, state, operations, len(elements) < _OPERATIONS)
        for message_id, queue, score, record in zip(found[::4], found[1::4], found[2::4], found[3::4], strict=True):
            image.looked_up(queue, message_id, int(score) if score else None, record)
        self._has_caught_up = bool(is_end)
        if trash:
            LocalQueues(self._group, None, "").finish_discards(self._structure)
        elif is_end and image.is_certain:
            return int(sequence)
        if not entries and image.is_waiting:
            time.sleep(_PAUSE_S)
        return None

    def _ask(self) -> Reply:
        image = self._image
        size = self._size
        doubtful = image.doubtful(size * _LOOK_UPS)
        wanted = image.units_to_look_at(size * _UNITS)
        # Near the end, also look at units of work in the next entries: it must be known what they did.
        others = image.open_units(size * _OPEN_MESSAGES) if self._has_caught_up else []
        known = {unit.id for unit in wanted}
        units = [*((unit, 1) for unit in wanted), *((unit, 0) for unit in others if unit.id not in known)]
        looks = size * 2 * _LOOK_UPS
        arguments: list[Argument] = [self._last, _ENTRIES, size * _PAGE_BYTES, looks, len(doubtful), len(units)]
        for queue, ids in doubtful.items():
            arguments += [queue, b" ".join(ids)]
        for unit, is_wanted in units:
            arguments += [unit.owner, unit.id, unit.known, is_wanted, _by_queue(unit.puts), _by_queue(unit.gets)]
        return self._group.call(*backup_changes_call(self._keys, arguments))


def _by_queue(messages: Mapping[bytes, bytes]) -> bytes:
    ids: dict[bytes, list[bytes]] = {}
    for message_id, queue in messages.items():
        ids.setdefault(queue, []).append(message_id)
    return b"".join(queue + b"\n" + b" ".join(of_queue) + b"\n" for queue, of_queue in ids.items())
