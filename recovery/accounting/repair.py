"""Repairs what an account found. Each step is one script, which checks again that what it removes has no owner.

Entries of a missing owner are given to a dead owner and resolved like any other: locked messages go back to their
places, and units of work end as was decided about them. A message on no queue goes to the queue that its record names,
or to a part of SYSTEM.QSG.TRANSMIT.QUEUE, whose agent delivers or dead-letters it. A fault that cannot be repaired
without loss stays, and the next account finds it again.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from recovery.accounting.account import account
from recovery.accounting.contents import split_key
from recovery.accounting.finding import Fault, FaultKind
from recovery.accounting.structure import id_in
from recovery.claim import chunks
from recovery.resolution import recover_all
from recovery.structure import CHUNK_OWNERS, DeadOwner, resolve_dead
from recovery.target import Target, is_owner
from sharedq.calls.outgoing.descriptor import place_of
from sharedq.calls.unit.commit import backout
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.messages.record import decode_descriptor, record_destination, score_base
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.objects.store.parts import part_in, parts_of
from sharedq.reading.keyspace import keys_by_tag
from sharedq.redis.keys import ADMIN_STRUCTURE, QueueKeys, private_structure
from sharedq.redis.link import Argument
from sharedq.scripts.reads import fields_named, prepared_units, queue_definition, tokens_of_owners
from sharedq.scripts.recovery import adopt_call, lapse_call, take_lost_call, tidy_call, unfence_call
from sharedq.session.connection import Connection
from sharedq.session.handle import StructureAccess
from sharedq.session.route import QueueFacts

log = LibraryLogger(__name__)

#: Accounts, each followed by repairs: one repair may leave work for the next.
ROUNDS = 4
#: The length of the selection before the owner in the entry of a waiting get, by the entry's first letter
#: (prelude/place.lua). Other selections end with a blank.
_SELECTION = {"A": 1, "B": 1, "C": 25, "D": 2, "E": 1, "G": 33, "M": 25, "V": 1, "X": 49}
#: A message id: its number, and its destination code if it was put through intra-group queuing.
_ID = re.compile(r"(\d+)(?:\.(\d+))?x?")
_FIGURES = re.compile(r"it says (-?\d+), there are (\d+)")


def repair(group: Group, connection: Connection) -> tuple[list[Fault], list[Fault]]:
    """Repair what nothing explains.

    Args:
        connection: of a program of a running manager. It enters every structure.

    Returns:
        The findings before the repairs, and those that are left after them.

    Raises:
        MQIError: 2009, a server cannot be reached or the connection was lost; 2346, 2373: a structure cannot be used.
    """
    first = left = account(group)
    for _ in range(ROUNDS):
        if not left:
            break
        _Repair(group, connection, left).run()
        before, left = left, account(group)
        if left == before:
            break
    return first, left


@dataclass(slots=True)
class _Owner:
    """The entries of a structure under the token of an owner that does not exist."""

    handles: dict[str, None] = field(default_factory=dict)
    waiters: dict[str, None] = field(default_factory=dict)
    is_gone: bool = False


class _Repair:
    """The repairs of one round."""

    def __init__(self, group: Group, connection: Connection, findings: Sequence[Fault]) -> None:
        self.group, self.connection = group, connection
        self._by_structure: dict[str, list[Fault]] = defaultdict(list)
        for finding in findings:
            self._by_structure[finding.structure].append(finding)

    def run(self) -> None:
        for name in sorted(self._by_structure.keys() - {ADMIN_STRUCTURE}):
            findings = self._by_structure[name]
            if name in self.group.structure_names():
                self._repair_structure(self.connection.access(name), findings)
            elif owners := [finding for finding in findings if finding.kind is FaultKind.OWNER]:
                access = self.connection.access_deleted(name)
                self._repair_structure(access, owners)
                self.connection.leave_deleted(access)
        self._repair_admin(self._by_structure[ADMIN_STRUCTURE])

    # -- a structure -------------------------------------------------------------------------------------------------

    def _repair_structure(self, access: StructureAccess, findings: Sequence[Fault]) -> None:
        dead: list[str] = []
        for token, owner in _owners(access.keys.tag, findings).items():
            if self._adopt(access, token, owner):
                dead.append(token)
        if dead:
            owners = [DeadOwner(token, token, state) for token, state in self._states(access, dead)]
            resolve_dead(self.connection, access, owners, self)
        for finding in findings:
            act = _TIDY.get(finding.kind)
            if act is not None:
                act(self, access, finding)
        self._return_lost(access, [finding.name for finding in findings if finding.kind is FaultKind.MESSAGE])
        self._forget_fences(access, [finding.name for finding in findings if finding.kind is FaultKind.FENCE])

    def _adopt(self, access: StructureAccess, token: str, owner: _Owner) -> bool:
        # The entry of a waiting get may hold any byte.
        waiters = [waiter.encode("latin-1") for waiter in owner.waiters]
        status, *is_dead = self.connection.call(
            *adopt_call(access.keys, self.connection.token, token, list(owner.handles), waiters, is_gone=owner.is_gone)
        )
        if status == MQRC.CONNECTION_BROKEN:
            raise self.connection.error(status)
        return bool(is_dead and is_dead[0])

    def _states(self, access: StructureAccess, tokens: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        states = fields_named(self.connection, access.keys.dead, tokens)
        return [(token, state) for token, state in zip(tokens, states, strict=True) if state is not None]

    def _forget_fences(self, access: StructureAccess, tokens: Sequence[str]) -> None:
        for chunk in chunks(tokens, CHUNK_OWNERS):
            self.connection.checked_call(*unfence_call(access.keys, self.connection.token, chunk))

    def _tidy(
        self, access: StructureAccess, queue: QueueKeys, arguments: Sequence[str | bytes | int], *more: str
    ) -> None:
        self.connection.checked_call(*tidy_call(access.keys, queue, self.connection.token, arguments, more))

    def _tidy_entry(self, access: StructureAccess, finding: Fault) -> None:
        kind, name = split_key(access.keys.tag, finding.key)
        entry = finding.name.encode("latin-1")
        if finding.kind is FaultKind.INDEX:
            self._tidy(access, access.keys.queue(name), ["index", entry, (id_in(finding.name) or "").encode("latin-1")])
        elif finding.kind is FaultKind.EXPIRY:
            queue, _, id_ = finding.name.rpartition(" ")
            self._tidy(access, access.keys.queue(queue), ["expiry", entry, id_])
        elif finding.kind is FaultKind.GROUP:
            self._tidy(access, access.keys.queue(name), ["group", "", ""])
        elif kind == "marks:":
            queue, holder, _ = name.split("\n")
            self._tidy(access, access.keys.queue(queue), ["marks", holder, finding.name], finding.key)
        else:
            self._tidy(access, access.keys.queue(name), ["mark", "", finding.name])

    def _recount(self, access: StructureAccess, finding: Fault) -> None:
        figures = _FIGURES.fullmatch(finding.detail)
        assert figures is not None
        name, units, keys = split_key(access.keys.tag, finding.key)[1], list[str](), access.keys
        owners = 0
        if finding.name in ("pu", "gu"):
            tokens = tokens_of_owners(self.connection, keys)
            owners = len(tokens)
            units = [keys.unit_of_work + each for each in (*tokens, *self._prepared())]
        self._tidy(access, keys.queue(name), ["counter", finding.name, name, *figures.groups(), owners], *units)

    def _prepared(self) -> list[str]:
        """Return the ids of the units of work in doubt."""
        found = prepared_units(self.connection, self.group.keys)
        return [match[1].decode() for text in found if (match := re.search(rb'"unit": ?"([^"]+)"', text))]

    def _return_lost(self, access: StructureAccess, ids: Sequence[str]) -> None:
        """Put messages that are on no queue on the queues where they belong, by the backout of a unit of work."""
        if not ids:
            return
        keys, connection, journal_max = access.keys, self.connection, self.group.journal_max
        found = (split_key(keys.tag, key) for key in keys_by_tag(self.group).get(keys.tag, ()))
        names = sorted({name for kind, name in found if kind in ("q:", "a:", "r:", "l:")})
        # After the names: a message that leaves a connection's unit of work meanwhile belongs to one of these.
        prepared = self._prepared()
        for id_ in ids:
            (record,) = fields_named(connection, keys.messages, [id_])
            if record is None:
                continue
            place = self._place_of_lost(access, id_, record)
            if place is None:
                log.warning("lost_message_not_returned", structure=keys.name, message=id_)
                continue
            queue, score, code = place
            unit_id, lost = connection.unit.id, (id_, score, code)
            call = take_lost_call(keys, queue, connection.token, unit_id, lost, journal_max, prepared, names)
            status, *is_taken = connection.call(*call)
            if status == MQRC.CONNECTION_BROKEN:
                raise connection.error(status)
            # If this process dies here, its recovery backs the unit of work out.
            if is_taken and is_taken[0]:
                connection.unit.add(keys.name, queue.name, 1, has_members=True)
                backout(connection)
                log.info("lost_message_returned", structure=keys.name, message=id_, queue=queue.name)
            elif status:
                log.warning("lost_message_not_returned", structure=keys.name, message=id_, error="too much to look at")

    def _place_of_lost(self, access: StructureAccess, id_: str, record: bytes) -> tuple[QueueKeys, str, str] | None:
        """Return a queue for a message on no queue: its keys, the place there (score), and the destination code.

        None: there is neither the queue that the record names nor a part of SYSTEM.QSG.TRANSMIT.QUEUE, or the message
        cannot be read.
        """
        name, matched = access.keys.name, _ID.fullmatch(id_)
        try:
            destination = record_destination(record).decode()
            md = decode_descriptor(record, int(matched[1]) if matched else 0, access.number, access.clock_ms)
        except (IndexError, UnicodeDecodeError, struct.error):
            return None
        if not matched:
            return None
        # The agent of the manager of this program surely runs.
        mine = part_in(name, self.connection.qmgr_name).queue
        others = sorted(part.queue for part in parts_of(self.group) if part.structure == name)
        for queue_name in filter(None, (destination, mine, *others)):
            queue = access.keys.queue(queue_name)
            found = queue_definition(self.connection, queue)
            if found is not None:
                place = int(score_base(place_of(QueueFacts.of(found[1]), md))) + int(matched[1])
                return queue, str(place), matched[2] or "" if queue_name == destination else ""
        return None

    def _delete_temporary(self, access: StructureAccess, finding: Fault) -> None:
        name, qmgr = split_key(access.keys.tag, finding.key)[1], access.keys.name.removeprefix(private_structure(""))
        try:
            Repository(self.group, qmgr, caller=self.connection.token).delete_made(access.keys.name, name, "")
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            log.warning("temporary_queue_not_deleted", queue=name, qmgr=qmgr, error=str(error))

    # -- the administration structure -------------------------------------------------------------------------------

    def _repair_admin(self, findings: Sequence[Fault]) -> None:
        fences = [finding.name for finding in findings if finding.kind is FaultKind.FENCE]
        nobodies = dict.fromkeys(token for finding in findings for token in _tokens_in(finding))
        for findings_in in self._by_structure.values():
            nobodies |= dict.fromkeys(each.name for each in findings_in if each.kind is FaultKind.DEAD)
        words = [("lease", token, "") for token in nobodies] + [("fence", token, "") for token in fences]
        # After the structures: there, what the tag's user did is resolved now, so its next user may go on.
        words += [("tag", each.detail[1:], each.name) for each in findings if each.kind is FaultKind.TAG]
        arguments: list[Argument] = []
        for kind, token, tag in words:
            if "/" not in token:
                target = Target.parse(token)
                process = f"{target.incarnation_token}.{target.process}"
                arguments += [kind, token, target.qmgr, target.incarnation, process, tag]
        if arguments:
            call = lapse_call(self.group.keys, self.connection.owner_arguments(), arguments)
            self.connection.checked_call(*call)
        if nobodies:
            recover_all(self.group, self.connection, [Target.parse(token) for token in nobodies], force=True)

    # -- what the resolution of a structure asks (recovery.structure.Recoverer) ---------------------------------------

    def is_held(self, target: str) -> bool:
        """Always true: no other recoverer knows of these owners."""
        return bool(target)

    def decisions_of(self, unit_ids: Sequence[str]) -> Sequence[bytes | None]:
        """Return the group's decisions about units of work, None where there is none."""
        return fields_named(self.connection, self.group.keys.decisions, unit_ids)

    def count(self, done: Sequence[tuple[str, str, int | None]]) -> None:
        """Count owners, their units of work and the messages of each."""
        for token, unit_id, messages in done:
            log.info("unit_of_nobody_resolved", owner=token, unit=unit_id, messages=messages)

    def keep(self) -> None:
        """Do nothing: a repair holds no claim."""

    def give_up(self, target: str, structure: str, error: MQIError) -> None:
        """Do nothing: the next account finds the owner again."""
        if self.connection.is_ended or error.reason == MQRC.CONNECTION_BROKEN:
            raise error
        log.warning("not_repaired", owner=target, structure=structure, error=str(error))


_TIDY: dict[FaultKind, Callable[[_Repair, StructureAccess, Fault], None]] = {
    **dict.fromkeys((FaultKind.INDEX, FaultKind.EXPIRY, FaultKind.GROUP, FaultKind.MARK), _Repair._tidy_entry),
    FaultKind.COUNTER: _Repair._recount,
    FaultKind.TEMPORARY: _Repair._delete_temporary,
}


def _owners(tag: str, findings: Iterable[Fault]) -> dict[str, _Owner]:
    """Collect what was found for each owner that does not exist."""
    found: dict[str, _Owner] = defaultdict(_Owner)
    for finding in findings:
        name = split_key(tag, finding.key)[1]
        if finding.kind in (FaultKind.HANDLE, FaultKind.LOCK):
            token, _, number = finding.name.partition("#")
            found[token].handles[f"{name}\n{number}"] = None
        elif finding.kind is FaultKind.HOLDING:
            queue, _, number = finding.name.rpartition(" ")
            found[name].handles[f"{queue}\n{number}"] = None
        elif finding.kind is FaultKind.WAITER and name:
            found[_waiting(finding.name)].waiters[f"{name}\n{finding.name}"] = None
        elif finding.kind in (FaultKind.UNIT, FaultKind.WAKE, FaultKind.MAKER):
            found[name].is_gone |= False
        elif finding.kind is FaultKind.OWNER:
            found[finding.name].is_gone = True
    return {token: owner for token, owner in found.items() if is_owner(token)}


def _waiting(entry: str) -> str:
    """Return the owner in the entry of a waiting get."""
    length = _SELECTION.get(entry[:1], entry.find(" ") + 1)
    after = entry[length:].removeprefix("!")
    return after[1:].rpartition("/")[0] if after.startswith("+") else after


def _tokens_in(finding: Fault) -> list[str]:
    """Return the tokens whose recovery ends this finding in the administration structure."""
    if finding.kind in (FaultKind.OWNER, FaultKind.PROCESS):
        return [finding.name]
    if finding.kind is FaultKind.DECISION:
        return [finding.name.partition("/")[0]]
    return []
