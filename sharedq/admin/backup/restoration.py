"""RECOVER CFSTRUCT: restores a lost structure from its backup, or makes it empty.

Until the last step the queues have no definition in the structure, so no program can use them. If a recovery was cut
off, repeat it: it begins again from nothing, and a process that continues the earlier recovery is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from sharedq.admin.backup.capture import check_recoverable, exclusively, parts_in, queues_of
from sharedq.admin.backup.errors import failed, in_use
from sharedq.admin.backup.file import Backup, Stored, backup_path
from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.members.group import Group
from sharedq.messages.message import message_number
from sharedq.messages.record import with_generated_msg_id
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.managers import CFStruct
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE, check_structure_name, queue_of
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.store.directory import Directory, Entry
from sharedq.objects.store.failures import has_lost_all, structure_state
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.backup import note_restore_call, restore_begin_call, restore_call, restore_end_call

_BATCH_MESSAGES, _BATCH_BYTES = 100, 1 << 20
#: More message numbers than any structure uses between two backups.
SEQUENCE_STEP = 1 << 30
#: Above every counter of message numbers.
_ANY_SEQUENCE = 1 << 53


@dataclass(frozen=True, slots=True)
class Recovered:
    """The result of a recovery.

    Attributes:
        begun: when its backup began. Empty if there was nothing to recover.
        until: the moment at which the log of the backup ends. Empty if it has none.
        dropped: messages of queues that were deleted since the backup.
        missing: queues that were defined since, and must be defined again.
    """

    begun: str
    messages: int
    queues: int
    dropped: int
    missing: tuple[str, ...]
    until: str = ""


def recover(group: Group, structure: str) -> Recovered:
    """RECOVER CFSTRUCT TYPE(NORMAL).

    Either the structure has lost its queues, or Redis has also lost the group's definitions. In the latter case the
    structure is not defined, or it has begun again since the backup and is empty. The backup holds the definitions.

    Raises:
        BackupError: the structure is not lost or not recoverable, there is no good backup, units of work of it are in
            doubt, or a member is being removed from the group.
        MQIError: 2349, there is neither such a structure nor a backup of it; 2343, 2057 or 2100, the name of a queue in
            the backup is taken; 2192, Redis is full; 2009, Redis cannot be reached. The call may be repeated.
    """
    path = backup_path(group.settings, structure)
    with _named(structure):
        _define_again(group, structure, path)
        check_recoverable(group, structure)
        _refuse_while_in_doubt(group, structure)
        with exclusively(path, structure):
            if is_lost(group, structure):
                return _Recovery(group, structure, Backup(path, group.name, structure)).run(with_messages=True)
            return _recover_begun_anew(group, structure, path)


def _define_again(group: Group, structure: str, path: Path) -> None:
    """Define a structure that only its backup knows."""
    repository = Repository(group, None)
    try:
        check_structure_name(structure)
    except ValueError:
        return
    if not path.exists() or structure in [known.name for known in repository.structures()]:
        return
    text = Backup(path, group.name, structure).ending.get("structure")
    definition = CFStruct.from_json(text) if text else CFStruct(name=structure, recover="YES")
    repository.define_structure(definition)


def _recover_begun_anew(group: Group, structure: str, path: Path) -> Recovered:
    """Recover a structure that exists and is empty: all keys were lost, and it has been used since."""
    if holds_messages(group, structure):
        raise in_use(structure, "it is not lost, it holds messages; TYPE(PURGE) empties it")
    backup, names = Backup(path, group.name, structure), queues_of(group, structure)
    sequence = group.structure(structure).sequence
    # The counter never goes back: if it has passed that of the backup, nothing was lost since.
    limit = int(backup.ending["sequence"]) if names else _ANY_SEQUENCE
    if int(group.command(sequence, "GET", sequence) or 0) >= limit:
        _refuse_because_it_is_there(structure)
    _enter(group, structure, [name for name in backup.ending["queues"] if name not in names])
    return _Recovery(group, structure, backup, limit=limit).run(with_messages=True)


def holds_messages(group: Group, structure: str) -> bool:
    """Whether a structure stores any message, in whatever state."""
    messages = group.structure(structure).messages
    return bool(group.command(messages, "HLEN", messages))


def _enter(group: Group, structure: str, names: Sequence[str]) -> None:
    """Enter queues in the directory. From now on they are lost, until the recovery has ended."""
    directory, entered = Directory(group), list[Entry]()
    try:
        for name in names:
            written = directory.write(Entry(name, QueueLocal.kind, "SHARED", structure=structure), "new")
            assert written is not None, "only an alter can meet another version"
            entered.append(written)
    except MQIError:
        for entry in entered:
            directory.remove(entry)
        raise


def purge(group: Group, structure: str) -> Recovered:
    """RECOVER CFSTRUCT TYPE(PURGE): afterwards the structure exists and is empty.

    Raises:
        BackupError: it is not recoverable; it is lost, and no backup has the definitions of its queues; units of work
            of it are in doubt; a member is being removed from the group.
        MQIError: 2349, there is no such structure; 2042 or 2055, it is not lost, and its queues are in use.
    """
    check_recoverable(group, structure)
    _refuse_while_in_doubt(group, structure)
    path = backup_path(group.settings, structure)
    with _named(structure), exclusively(path, structure):
        if is_lost(group, structure):
            return _Recovery(group, structure, Backup(path, group.name, structure)).run(with_messages=False)
        return _empty(group, structure)


def is_lost(group: Group, structure: str) -> bool:
    """Whether queues are defined in the structure and it has none of them."""
    return has_lost_all(Directory(group), LocalQueues(group, None, ""), structure)


def _refuse_while_in_doubt(group: Group, structure: str) -> None:
    """Refuse: the operator who ends it must learn what was lost, before the backup's messages are there again."""
    in_doubt = [unit.nid for unit in prepared_units(group) if structure in unit.structures]
    if in_doubt:
        raise in_use(structure, f"{in_doubt[0]} is in doubt there, RESOLVE INDOUBT ends it")


def _refuse_because_it_is_there(structure: str) -> NoReturn:
    raise in_use(structure, "it is not lost, its queues are there; TYPE(PURGE) empties them")


def _empty(group: Group, structure: str) -> Recovered:
    queues = LocalQueues(group, None, "")
    there = queues.read(structure, [*queues_of(group, structure), *parts_in(group, structure)])
    for name, stored in there.items():
        if stored.state.handles or stored.state.uncommitted:
            reason = MQRC.OBJECT_IN_USE if stored.state.handles else MQRC.Q_NOT_EMPTY
            raise error_for(reason, "", queue_of(name), f"{queue_of(name)} is open, or has uncommitted messages")
    for name in there:
        queues.remove(structure, name, "clear")
    return Recovered("", 0, sum(queue_of(name) == name for name in there), 0, ())


class _Recovery:
    """One recovery.

    Args:
        limit: queues may exist, empty and closed, while the counter of message numbers is below it. 0: none may.
    """

    def __init__(self, group: Group, structure: str, backup: Backup, *, limit: int = 0) -> None:
        self._limit = limit
        self._group, self._structure, self._backup = group, structure, backup
        self._keys = group.structure(structure)
        self._id = secrets.token_hex(8)
        names, self._parts = queues_of(group, structure), parts_in(group, structure)
        known: Mapping[str, Any] = backup.ending["queues"]
        # Queues that were defined since the structure began again.
        others = LocalQueues(group, None, "").read(structure, [name for name in names if name not in known])
        self._definitions = {name: known[name] for name in names if name in known}
        self._definitions |= {name: stored.definition.to_json() for name, stored in others.items()}
        self._missing = tuple(name for name in names if name not in self._definitions)
        self._former_number: int | None = backup.ending.get("number")
        self._number = group.structure_number(structure)

    def run(self, *, with_messages: bool) -> Recovered:
        keys = self._keys
        # Owners that come later can do nothing here, and so leave nothing.
        tokens = [
            token.decode()
            for owners in (keys.owners, keys.dead)
            for token in self._group.command(owners, "HKEYS", owners)
        ]
        sequence = int(self._backup.ending["sequence"]) + SEQUENCE_STEP
        self._note()
        names = (*self._definitions, *self._missing)
        self._begin(restore_begin_call(keys, self._id, names, self._parts, tokens, sequence, self._limit))
        restored, dropped = self._restore() if with_messages else (0, 0)
        destinations: Mapping[str, str] = self._backup.ending.get("destinations", {})
        self._call(restore_end_call(keys, self._id, self._definitions, destinations))
        structure_state(self._group, self._structure)
        # Messages for its queues are there again, too, and the agents can get them.
        repository = Repository(self._group, None)
        for member in self._group.members():
            repository.make_transmit_parts(member.name)
        begun = str(self._backup.about["begun"]) if with_messages else ""
        until = self._backup.logged_until if with_messages else ""
        return Recovered(begun, restored, len(self._definitions), dropped, self._missing, until)

    def _note(self) -> None:
        """Tell the group, which then removes no member until the structure can be used again."""
        status, *detail = self._group.call(*note_restore_call(self._group.keys, self._structure))
        if status:
            qmgr = detail[0].decode()
            raise in_use(
                self._structure, f"queue manager {qmgr} is being removed, repeat igq group remove {qmgr} first"
            )

    def _restore(self) -> tuple[int, int]:
        restored = dropped = size = 0
        batch: list[Stored] = []
        # Messages on their way need the queue that they are for.
        has_parts = Directory(self._group).read("S", SYSTEM_QSG_TRANSMIT_QUEUE) is not None
        kept = {*self._definitions, *(self._parts if has_parts else ())}
        for message in self._backup.messages():
            if message.queue.decode() not in kept:
                dropped += 1
                continue
            other_queue = batch and batch[0].queue != message.queue
            if other_queue or len(batch) == _BATCH_MESSAGES or size + len(message.record) > _BATCH_BYTES:
                restored += self._put_back(batch)
                batch, size = [], 0
            batch.append(self._with_its_msg_id(message))
            size += len(message.record)
        return restored + self._put_back(batch), dropped

    def _with_its_msg_id(self, message: Stored) -> Stored:
        """Return the message with its original MsgId, even if the structure has another number in the new group."""
        if self._former_number in (None, self._number):
            return message
        record = with_generated_msg_id(message.record, message_number(message.id), self._former_number)
        return message._replace(record=record, id=message.id.rstrip(b"x") + b"x")

    def _put_back(self, batch: Sequence[Stored]) -> int:
        if not batch:
            return 0
        messages = [(message.id, message.score, message.record) for message in batch]
        self._call(restore_call(self._keys, self._id, batch[0].queue.decode(), messages))
        return len(batch)

    def _begin(self, call: ScriptCall) -> None:
        reply = self._group.call(*call)
        if reply[0] == MQRC.CF_STRUC_IN_USE:
            # Another one has recovered it since it was looked at.
            structure_state(self._group, self._structure)
            _refuse_because_it_is_there(self._structure)
        self._check(reply)

    def _call(self, call: ScriptCall) -> None:
        self._check(self._group.call(*call))

    def _check(self, reply: Reply) -> None:
        if reply[0] == MQRC.OBJECT_IN_USE:
            raise in_use(self._structure, "a queue of it is open")
        if reply[0] == MQRC.CF_STRUC_IN_USE:
            raise in_use(self._structure, "another RECOVER of it runs")


class _named:  # noqa: N801 - reads as a statement: with _named(structure): ...
    """Turns errors of the file system into one line."""

    def __init__(self, structure: str) -> None:
        self._structure = structure

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise failed(self._structure, f"{error.filename}: {error.strerror}") from error
