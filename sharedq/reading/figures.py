"""The figures of a whole group, read in bulk: for status, metrics and anybody else who looks again and again.

Plain commands, in one write for each structure, cost Redis half as much as a script and do not block it. The reader
keeps definitions (by version) and put times (by the id of a queue's first message) between two looks.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sharedq.members.group import Group, Member, members_of
from sharedq.messages.record import PRIORITY_STEP
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.directory import Entry, parse_attributes, parse_entry
from sharedq.objects.store.local_queues import QueueState
from sharedq.objects.store.parts import Place, own_part, part_in
from sharedq.redis.answers import LOOK_S, little_patience
from sharedq.redis.keys import ADMIN_STRUCTURE, QueueKeys, StructureKeys, private_structure, qmgr_of
from sharedq.redis.outage import PASSING
from sharedq.scripts.reading import oldest_call

#: Queues, and bytes of records, of one call that looks for the oldest messages: well below a millisecond of Redis.
_QUEUES_PER_CALL, _BYTES_PER_CALL = 100, 1 << 20
#: The fields of a queue in its structure, in the order in which they are asked for.
_FIELDS = tuple(name.encode() for name in ("ver", "pu", "gu", "lk", "nw", "ip", "op", "gm", "mvd"))
_COUNTS = (b"et", b"qh", b"qi", b"qo")
_RECOVER = b"RECOVER"

Counts = tuple[int, int, int]
_State = tuple[QueueState, int | None, Counts | None]


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """A local queue. A queue with parts is one queue, whose counts are added up.

    Attributes:
        structure: that of a private queue too (``@QM``); empty for a queue with parts.
        qmgr: the manager that a private queue belongs to; empty for a shared queue.
        oldest_ms: when its oldest available message was put, ms since 1970. None: there is none, or it does not say.
        counts: highest depth, messages put, messages got since the latest reset. None: nothing is counted.
    """

    name: str
    structure: str
    qmgr: str
    definition: QueueLocal
    state: QueueState
    oldest_ms: int | None
    counts: Counts | None = None


@dataclass(frozen=True, slots=True)
class StructureFigures:
    """A structure that messages can be in.

    Attributes:
        node: its server, for people.
        is_reachable: whether that answers. If not, everything below is empty.
        has_begun: whether anything is defined in it.
        is_recovering: a RECOVER CFSTRUCT is under way.
        journal_entries, journal_bytes: what its journal holds; bytes None if the server does not say.
        units: ids of its units of work that have not ended, each with the manager of its connection.
        to_recover: connections that were shut out and whose work is not resolved yet.
    """

    name: str
    node: str
    is_reachable: bool = True
    has_begun: bool = False
    is_recovering: bool = False
    journal_entries: int = 0
    journal_bytes: int | None = None
    units: tuple[tuple[str, str], ...] = ()
    to_recover: int = 0


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """A server with keys of the group. None: it does not say. ``round_trip_s``: of one command, seconds."""

    name: str
    version: str = ""
    is_cluster: bool = False
    used_memory: int | None = None
    max_memory: int | None = None
    replicas_online: int | None = None
    round_trip_s: float = 0.0


@dataclass(slots=True)
class GroupFigures:
    """The group at one moment. Records that are JSON are decoded; times are in ms of the Redis clock."""

    now_ms: int = 0
    members: list[Member] = field(default_factory=list)
    #: Manager -> its agent's report.
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Incarnation, process, lost connection, or ``!``target of a claim -> deadline.
    leases: dict[str, int] = field(default_factory=dict)
    #: Owner token of each connection -> its record.
    connections: dict[str, dict[str, Any]] = field(default_factory=dict)
    prepared: list[dict[str, Any]] = field(default_factory=list)
    recoveries: list[dict[str, Any]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, QueueManagerAttributes] = field(default_factory=dict)
    #: Structures with a definition; the others are the managers' own.
    applications: list[str] = field(default_factory=list)
    structures: list[StructureFigures] = field(default_factory=list)
    nodes: list[NodeFigures] = field(default_factory=list)
    queues: list[QueueFigures] = field(default_factory=list)
    #: Messages that puts moved for a manager's waiting agent and that the agent has not counted yet.
    moved_by_puts: dict[str, int] = field(default_factory=dict)
    #: Messages on a manager's parts of the transmit queue.
    to_deliver: Counter[str] = field(default_factory=Counter)

    def state_of(self, member: Member) -> str:
        """The state of a manager; ``FAILED`` if it should be up and its lease has run out."""
        if member.state not in ("STARTING", "RUNNING", "QUIESCING"):
            return member.state
        return member.state if self.lease_left_ms(member) > 0 else "FAILED"

    def is_dead_letter_queue(self, queue: QueueFigures) -> bool:
        """Whether a manager names the queue as its DEADQ: a shared queue any manager, a private one its own."""
        managers = [self.attributes.get(queue.qmgr)] if queue.qmgr else self.attributes.values()
        return any(each is not None and each.dead_letter_queue == queue.name for each in managers)

    def lease_left_ms(self, member: Member) -> int:
        """Milliseconds until a manager's lease runs out; negative: since it has, as far as is known."""
        return self.leases.get(f"{member.name}.{member.incarnation}", self.now_ms) - self.now_ms


@dataclass(slots=True)
class _Kept:
    """The seldom changing part of a queue, as of the last look."""

    version: bytes = b""
    definition: QueueLocal | None = None
    #: The first message at the last look, and the put time of the oldest: of another one if priorities differ.
    first: bytes | None = None
    oldest_ms: int | None = None
    #: The replies of the last look, and their meaning: of 2,000 queues only a few change between two looks.
    replies: Sequence[Any] = ()
    read: _ReadQueue | None = None


class FigureReader:
    """Reads the figures of one group. One thread uses it at a time."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._entries: dict[bytes, tuple[bytes, Entry]] = {}
        self._kept: dict[Place, _Kept] = {}
        self._queues_before: dict[tuple[str, str, str], QueueFigures] = {}

    def read(self) -> GroupFigures:
        """Read everything.

        Raises:
            MQIError: 2009, the administration structure cannot be reached. Another structure that cannot be reached is
                only marked as such.
        """
        found = GroupFigures()
        names, entries = self._read_admin(found)
        states: dict[Place, _State] = {}
        wanted = _places(entries, names, is_cluster=self._group.deployment().is_cluster)
        for name in names:
            found.structures.append(self._read_structure(name, wanted.get(name, []), states, found))
        found.nodes = list(self._read_nodes((ADMIN_STRUCTURE, *names)))
        found.queues = [self._same(each) for each in self._queues(entries, wanted, states, found.to_deliver)]
        self._queues_before = {(each.name, each.structure, each.qmgr): each for each in found.queues}
        self._kept = {place: self._kept[place] for place in states}
        return found

    # -- the administration structure ----------------------------------------------------------------------

    def _read_admin(self, found: GroupFigures) -> tuple[list[str], list[Entry]]:
        keys = self._group.keys
        hashes = (keys.members, keys.agents, keys.owners, keys.failures, keys.qmgr, keys.structures, keys.directory)
        commands: list[Sequence[bytes]] = [(b"HGETALL", key.encode()) for key in hashes]
        commands += [(b"HVALS", keys.prepared.encode()), (b"HVALS", keys.recoveries.encode())]
        commands += [(b"ZRANGE", keys.leases.encode(), b"0", b"-1", b"WITHSCORES"), (b"TIME",)]
        *flat, prepared, recoveries, leases, now = self._group.commands(keys.members, commands)
        members, agents, owners, failures, attributes, structures, directory = map(_pairs, flat)
        found.now_ms = int(now[0]) * 1000 + int(now[1]) // 1000
        found.members = members_of(members)
        found.agents = {name.decode(): json.loads(text) for name, text in agents}
        found.connections = {token.decode(): json.loads(text) for token, text in owners}
        found.failures = {name.decode(): text.decode() for name, text in failures}
        found.attributes = {name.decode(): parse_attributes(text) for name, text in attributes}
        found.prepared = [json.loads(text) for text in prepared]
        found.recoveries = [json.loads(text) for text in recoveries]
        found.leases = {token.decode(): int(float(deadline)) for token, deadline in _pairs(leases)}
        found.applications = sorted(name.decode() for name, text in structures if "definition" in json.loads(text))
        return sorted(name.decode() for name, _ in structures), self._parse(directory)

    def _parse(self, directory: Iterable[tuple[bytes, bytes]]) -> list[Entry]:
        """Parse what is new in the directory."""
        entries: dict[bytes, tuple[bytes, Entry]] = {}
        for name, text in directory:
            known = self._entries.get(name)
            entries[name] = known if known and known[0] == text else (text, parse_entry(name.decode(), text))
        self._entries = entries
        return [entry for _, entry in entries.values()]

    # -- the other structures ------------------------------------------------------------------------------

    def _read_structure(
        self,
        name: str,
        places: Sequence[Place],
        states: dict[Place, _State],
        found: GroupFigures,
    ) -> StructureFigures:
        group = self._group
        keys, node = group.structure(name), group.node(name)
        try:
            if group.can_reach(name):
                with little_patience(LOOK_S):
                    return self._figures(keys, node, places, states, found)
        except MQIError as error:
            # In a Cluster one server may go at any moment, or one slot; the others still answer.
            if not group.deployment().is_cluster or error.reason not in PASSING:
                raise
        return StructureFigures(name, node, is_reachable=False)

    def _figures(
        self,
        keys: StructureKeys,
        node: str,
        places: Sequence[Place],
        states: dict[Place, _State],
        found: GroupFigures,
    ) -> StructureFigures:
        queues = [keys.queue(place.queue) for place in places]
        journal = keys.journal.encode()
        commands: list[Sequence[bytes]] = [
            (b"EXISTS", keys.sequence.encode()),
            (b"HEXISTS", keys.versions.encode(), _RECOVER),
            (b"HLEN", keys.dead.encode()),
        ]
        fixed = len(commands)
        for queue in queues:
            available = queue.available.encode()
            commands += [
                (b"HMGET", queue.queue.encode(), *_FIELDS, *_COUNTS),
                (b"ZCARD", available),
                (b"ZRANGE", available, b"0", b"0", b"WITHSCORES"),
                (b"ZRANGE", available, b"-1", b"-1", b"WITHSCORES"),
            ]
        replies = self._group.commands(keys.sequence, commands)
        begun, is_recovering, to_recover = replies[:fixed]
        about_journal = [(b"XLEN", journal), (b"MEMORY", b"USAGE", journal, b"SAMPLES", b"1")]
        entries, size = self._group.commands(keys.journal, about_journal, may_be_refused=True)
        read = [
            self._read_queue(place, queue, replies[at : at + 4])
            for place, queue, at in zip(places, queues, range(fixed, len(replies), 4), strict=True)
            # A queue without a version is being made or deleted, or its structure has failed.
            if replies[at][0]
        ]
        self._learn_definitions(keys, read)
        self._learn_oldest(keys, read)
        for each in read:
            states[each.place] = (each.state, self._kept[each.place].oldest_ms, each.counts)
            if each.moved_by_puts:
                manager = _manager_of_part(each.place)
                found.moved_by_puts[manager] = found.moved_by_puts.get(manager, 0) + each.moved_by_puts
        is_working = any(each.state.uncommitted for each in read)
        return StructureFigures(
            name=keys.name,
            node=node,
            has_begun=bool(begun),
            is_recovering=bool(is_recovering),
            journal_entries=int(entries or 0),
            journal_bytes=None if size is None and entries else int(size or 0),
            units=self._units(keys) if is_working else (),
            to_recover=int(to_recover or 0),
        )

    def _read_queue(self, place: Place, keys: QueueKeys, replies: Sequence[Any]) -> _ReadQueue:
        kept = self._kept.setdefault(place, _Kept())
        if kept.read is None or kept.replies != replies:
            kept.replies, kept.read = replies, _ReadQueue(place, keys, *replies)
        return kept.read

    def _learn_definitions(self, keys: StructureKeys, read: Sequence[_ReadQueue]) -> None:
        changed = []
        for each in read:
            kept = self._kept[each.place]
            if kept.version != each.version:
                changed.append(each)
        if not changed:
            return
        commands = [(b"HMGET", each.keys.queue.encode(), b"ver", b"def") for each in changed]
        for each, (version, text) in zip(changed, self._group.commands(keys.sequence, commands), strict=True):
            if version is not None:
                kept = self._kept[each.place]
                kept.version, kept.definition = version, QueueLocal.from_json(text)

    def _learn_oldest(self, keys: StructureKeys, read: Sequence[_ReadQueue]) -> None:
        wanted = []
        for each in read:
            kept = self._kept[each.place]
            if not each.state.available:
                kept.first = kept.oldest_ms = None
            elif kept.first is None or kept.first != each.first:
                wanted.append(each)
        while wanted:
            asked = wanted[:_QUEUES_PER_CALL]
            known = [b"" if each.is_mixed else each.first or b"" for each in asked]
            reply = self._group.call(*oldest_call(keys, [each.keys for each in asked], known, _BYTES_PER_CALL))
            for each, text in zip(asked, reply, strict=False):
                kept = self._kept[each.place]
                kept.oldest_ms = int(text) or None if text else None
                # Of several priorities another than the first message may be the oldest: look again next time.
                kept.first = None if each.is_mixed or not text else each.first
            wanted = wanted[len(reply) :]

    def _units(self, keys: StructureKeys) -> tuple[tuple[str, str], ...]:
        """Return the units of work of the connections that are registered in a structure, and are not ended."""
        owners = keys.owners.encode()
        tokens: list[bytes] = self._group.command(keys.owners, b"HKEYS", owners)
        commands = [(b"LRANGE", keys.unit_of_work.encode() + token, b"0", b"0") for token in tokens]
        heads = self._group.commands(keys.owners, commands) if commands else []
        found = [(token.decode(), head[0][1:].decode()) for token, head in zip(tokens, heads, strict=True) if head]
        return tuple((unit, qmgr_of(token)) for token, unit in found)

    def _read_nodes(self, structures: Iterable[str]) -> Iterator[NodeFigures]:
        seen: set[str] = set()
        for name in structures:
            node = self._group.node(name)
            if node in seen or (name != ADMIN_STRUCTURE and not self._group.can_reach(name)):
                continue
            seen.add(node)
            key = self._group.structure(name).sequence
            begun_s = time.perf_counter()
            try:
                self._group.command(key, b"EXISTS", key)
                round_trip_s = time.perf_counter() - begun_s
                yield _node(node, round_trip_s, self._group.commands(key, [(b"INFO",)], may_be_refused=True)[0])
            except MQIError:
                # It went a moment ago, and its structures are told as such at the next look.
                yield NodeFigures(node)

    def _same(self, queue: QueueFigures) -> QueueFigures:
        """The figures of the last look, if the queue has not changed: whoever shows them need not do it anew."""
        before = self._queues_before.get((queue.name, queue.structure, queue.qmgr))
        if (
            before is not None
            and before.state is queue.state
            and before.definition is queue.definition
            and before.oldest_ms == queue.oldest_ms
        ):
            return before
        return queue

    def _queues(
        self,
        entries: Iterable[Entry],
        wanted: dict[str, list[Place]],
        states: dict[Place, _State],
        to_deliver: Counter[str],
    ) -> Iterator[QueueFigures]:
        parts = [place for places in wanted.values() for place in places if _manager_of_part(place)]
        for entry in entries:
            if entry.kind != QueueLocal.kind or entry.disposition == "GROUP":
                continue
            places = parts if entry.is_partitioned else [Place(entry.structure, entry.name)]
            there = [place for place in places if place in states]
            definition = entry.definition or (self._kept[there[0]].definition if there else None)
            if not there or not isinstance(definition, QueueLocal):
                continue
            if entry.is_partitioned:
                for place in there:
                    to_deliver[_manager_of_part(place)] += states[place][0].depth
            ages = [states[place][1] for place in there]
            counts = [states[place][0] for place in there]
            yield QueueFigures(
                name=entry.name,
                structure=entry.structure,
                qmgr=entry.qmgr,
                definition=definition,
                state=counts[0] if len(counts) == 1 else sum(counts, QueueState()),
                oldest_ms=min((age for age in ages if age is not None), default=None),
                counts=states[there[0]][2],
            )


class _ReadQueue:
    """The replies to the commands about one queue, or part of one."""

    __slots__ = ("counts", "first", "is_mixed", "keys", "moved_by_puts", "place", "state", "version")

    def __init__(
        self, place: Place, keys: QueueKeys, fields: list[bytes | None], available: int, first: Any, last: Any
    ) -> None:
        self.place, self.keys = place, keys
        self.version: bytes = fields[0] or b""
        at = len(_FIELDS)
        puts, gets, locked, waiters, inputs, outputs, members, moved = (int(value or 0) for value in fields[1:at])
        depth, came, went = (int(value or 0) for value in fields[at + 1 :])
        self.counts: Counts | None = (depth, came, went) if fields[at] else None
        self.state = QueueState(available + members, puts, gets, locked, waiters, inputs, outputs)
        self.first: bytes | None = first[0] if first else None
        self.moved_by_puts = moved
        #: Members of groups, or messages of several priorities, are there: the oldest need not be the first.
        self.is_mixed = members > 0 or (first and last and _priority(first[1]) != _priority(last[1]))


def _priority(score: bytes) -> int:
    return int(float(score)) // PRIORITY_STEP


def _places(entries: Iterable[Entry], structures: Sequence[str], *, is_cluster: bool) -> dict[str, list[Place]]:
    """Return where the local queues are, and where a queue with parts may have one, by structure."""
    found: dict[str, list[Place]] = {name: [] for name in structures}
    own = private_structure("")
    managers = [name.removeprefix(own) for name in structures if name.startswith(own)]
    for entry in entries:
        if entry.kind != QueueLocal.kind or entry.disposition == "GROUP":
            continue
        if not entry.is_partitioned:
            found.setdefault(entry.structure, []).append(Place(entry.structure, entry.name))
            continue
        for manager in managers:
            found[private_structure(manager)].append(own_part(manager))
            for structure in structures:
                if not is_cluster and not structure.startswith(own):
                    found[structure].append(part_in(structure, manager))
    return found


def _manager_of_part(place: Place) -> str:
    """Return the manager whose part of the transmit queue this is; empty for any other queue."""
    own = private_structure("")
    if place.structure.startswith(own):
        manager = place.structure.removeprefix(own)
        return manager if place == own_part(manager) else ""
    manager = place.queue.partition("@")[2]
    return manager if manager and place == part_in(place.structure, manager) else ""


def _node(name: str, round_trip_s: float, info: bytes | None) -> NodeFigures:
    if info is None:
        return NodeFigures(name, round_trip_s=round_trip_s)
    told = dict(line.split(":", 1) for line in info.decode("utf-8", "replace").splitlines() if ":" in line)
    replicas = [told.get(f"slave{number}", "") for number in range(int(told.get("connected_slaves", 0)))]
    is_valkey = "valkey_version" in told
    return NodeFigures(
        name=name,
        version=f"valkey {told['valkey_version']}" if is_valkey else f"redis {told.get('redis_version', '')}",
        is_cluster="cluster" in (told.get("redis_mode"), told.get("server_mode")),
        used_memory=int(told.get("used_memory", 0)),
        max_memory=int(told.get("maxmemory", 0)),
        replicas_online=sum("state=online" in replica for replica in replicas),
        round_trip_s=round_trip_s,
    )


def _pairs(flat: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))
