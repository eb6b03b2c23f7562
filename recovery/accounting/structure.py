"""Accounts for one structure that holds messages: an application structure, or a manager's own. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

from recovery.accounting.contents import Contents
from recovery.accounting.finding import Fault, FaultKind
from recovery.accounting.members import Members, fences
from sharedq.objects.definitions.names import PART_SEPARATOR, SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.subscriptions import MANAGED
from sharedq.redis.keys import private_structure

#: Lengths of what precedes the place in an index entry (docs/reference/key-space.md, prelude/groups.lua).
_BEFORE_PLACE = {
    "C": 25, "M": 25, "X": 49, "O": 25, "G": 33, "H": 25, "c": 25, "L": 29, "S": 5, "F": 2, "f": 26, "h": 1, "w": 1,
    "E": 33, "T": 37,
}  # fmt: skip
#: Entries without an id: they are about members of message groups.
_WITHOUT_ID = "KZYU"
_PLACE_BYTES = 7
_ARRIVALS = 2**48
#: Wake-ups that tell agents something. They expire by themselves.
_WAKE_UPS_OF_AGENTS = ("IGQ.AGENT", "IGQ.MOVERS")
#: Fields of a queue's hash that count open handles, and the letters of the handles that each counts.
_COUNTERS = {"ip": "IX", "op": "O", "co": "C"}


class StructureContents:
    """One structure as one look read it."""

    def __init__(self, contents: Contents, members: Members) -> None:
        self.contents, self._members = contents, members
        self._owners = {**contents.hash("own"), **contents.hash("dead")}
        self._own = contents.hash("own")

    def findings(self) -> Iterator[Fault]:
        """Return what nothing explains."""
        for key in self.contents.unknown:
            yield Fault(FaultKind.UNKNOWN, self.contents.name, key)
        yield from self._of_owners()
        yield from fences(self.contents, self._members.is_recovered)
        yield from self._versions()
        yield from self._destinations()
        for name in self._queues:
            yield from self._of_queue(name)
        yield from self._messages()
        yield from self._expiry()

    @cached_property
    def _queues(self) -> list[str]:
        kinds = ("q:", "a:", "r:", "i:", "g:", "w:", "h:", "l:", "k:")
        return sorted({*self.contents.names(*kinds), *(name.split("\n")[0] for name in self.contents.names("marks:"))})

    # -- owners ------------------------------------------------------------------------------------------------------

    def _of_owners(self) -> Iterator[Fault]:
        for owner in self._own:
            if not self._members.exists(owner):
                yield self._found(FaultKind.OWNER, "own", "", owner)
        for owner in self.contents.hash("dead"):
            if not self._members.is_recovered(owner):
                yield self._found(FaultKind.DEAD, "dead", "", owner)
        for name in self.contents.names("u:"):
            in_doubt = self.contents.name in self._members.prepared.get(name, ())
            if not (in_doubt or name in self._owners):
                yield self._found(
                    FaultKind.UNIT, "u:", name, "", f"{len(self.contents.values['u:', name]) - 1} operations"
                )
        for name in self.contents.names("wake:"):
            if name not in self._owners and name not in _WAKE_UPS_OF_AGENTS:
                yield self._found(FaultKind.WAKE, "wake:", name)
        for owner in self.contents.names("o:"):
            for holding in self.contents.values["o:", owner]:
                queue, _, handle = holding.rpartition("\n")
                if owner not in self._owners or f"{owner}#{handle}" not in self.contents.hash("h:", queue):
                    yield self._found(FaultKind.HOLDING, "o:", owner, f"{queue} {handle}")
        makers = (owner for owner in self.contents.names("made:") if owner not in self._owners)
        yield from (self._found(FaultKind.MAKER, "made:", owner) for owner in makers)
        for owner, state in self._own.items():
            queue, _, member = state[1:].partition("\n")
            if state[:1] == "W" and member not in self.contents.zset("w:", queue):
                yield self._found(FaultKind.WAITER, "own", "", owner, f"it does not wait on {queue}")

    def _versions(self) -> Iterator[Fault]:
        for field in self.contents.hash("ver"):
            kind, _, name = field.partition(" ")
            if kind in ("IGQ", "QMGR", "EVENTS") and name not in self._members.names:
                yield self._found(FaultKind.VERSION, "ver", "", field)

    def _destinations(self) -> Iterator[Fault]:
        codes = self.contents.hash("dest")
        # "#" alone holds the last code that was given out.
        for name, code in codes.items() - {("#", codes.get("#"))}:
            other = f"#{code}" if name[:1] != "#" else code
            if codes.get(other) != (name if name[:1] != "#" else name[1:]):
                yield self._found(FaultKind.DESTINATION, "dest", "", name, f"{other} does not agree")

    # -- queues ------------------------------------------------------------------------------------------------------

    def _of_queue(self, name: str) -> Iterator[Fault]:
        queue = self.contents.hash("q:", name)
        if not self._is_known(name, queue):
            yield self._found(FaultKind.QUEUE, "q:", name, "", f"fields {' '.join(queue) or 'none'}")
        yield from self._handles(name)
        yield from self._waiters(name)
        yield from self._marks(name)
        yield from self._index(name)
        for field, counted in self._counts(name).items():
            said = int(queue.get(field, 0))
            if said != counted:
                yield self._found(FaultKind.COUNTER, "q:", name, field, f"it says {said}, there are {counted}")

    def _is_known(self, name: str, queue: dict[str, str]) -> bool:
        is_there = any(field in queue for field in ("ver", "gone", "shut", "del"))
        transmit_queue, separator, manager = name.partition(PART_SEPARATOR)
        if transmit_queue == SYSTEM_QSG_TRANSMIT_QUEUE:
            return is_there and (not separator or manager in self._members.names)
        return is_there and (self.contents.name, name) in self._members.queues

    def _handles(self, name: str) -> Iterator[Fault]:
        handles = self.contents.hash("h:", name)
        for handle in handles:
            owner, _, number = handle.partition("#")
            if owner not in self._owners or f"{name}\n{number}" not in self.contents.values.get(("o:", owner), ()):
                yield self._found(FaultKind.HANDLE, "h:", name, handle)
        for handle, locked in self.contents.hash("l:", name).items():
            if handle not in handles:
                yield self._found(FaultKind.LOCK, "l:", name, handle, f"{len(locked.split())} messages")
        queue = self.contents.hash("q:", name)
        definition = json.loads(queue["def"].encode("latin-1")) if "def" in queue else {}
        is_temporary = definition.get("definition_type") == "TEMPDYN" or "by" in queue
        # Dynamic queues of other owners may stay. A queue that was made for a subscription goes with the subscription.
        is_temporary |= name.startswith(MANAGED) and bool(definition)
        is_temporary &= name not in self._members.managed_queues
        is_temporary &= (self.contents.name, name, queue.get("by", "")) not in self._members.orphans
        if is_temporary and name not in self.contents.values.get(("made:", queue.get("by", "")), ()):
            yield self._found(FaultKind.TEMPORARY, "q:", name)
        # A queue that is deleted logically goes with the connection that closed the last handle.
        if "del" in queue and not handles and name not in self._made:
            yield self._found(FaultKind.TEMPORARY, "q:", name, "", "it is deleted logically, and not open")

    @cached_property
    def _made(self) -> set[str]:
        """The queues that go with a connection."""
        return {name for owner in self.contents.names("made:") for name in self.contents.values["made:", owner]}

    def _waiters(self, name: str) -> Iterator[Fault]:
        members = {state[1:] for state in self._own.values() if state[:1] == "W"}
        for member in self.contents.zset("w:", name):
            if f"{name}\n{member}" not in members:
                yield self._found(FaultKind.WAITER, "w:", name, member)

    def _marks(self, name: str) -> Iterator[Fault]:
        handles, queue = self.contents.hash("h:", name), self.contents.hash("q:", name)
        messages = set(self.contents.values.get(("m", ""), ()))
        for id_ in self.contents.hash("k:", name):
            # Marks of closed handles mean nothing, and go with the message.
            if id_ not in messages:
                yield self._found(FaultKind.MARK, "k:", name, id_)
        for key_name in self.contents.names("marks:"):
            queue_name, holder, which = key_name.split("\n")
            if queue_name != name:
                continue
            if holder not in handles and not (holder == "C" and int(queue.get("co", 0))) and holder != "M":
                yield self._found(FaultKind.MARK, "marks:", key_name)
            for id_ in self.contents.zset("marks:", key_name):
                if which != "t" and id_ not in self.contents.zset(f"{which}:", name):
                    yield self._found(FaultKind.MARK, "marks:", key_name, id_)

    def _index(self, name: str) -> Iterator[Fault]:
        available = {*self.contents.zset("a:", name), *self.contents.zset("r:", name)}
        has_members = bool(self.contents.zset("r:", name))
        for entry in self.contents.zset("i:", name):
            if entry[0] in _WITHOUT_ID:
                is_explained = has_members
            else:
                id_ = id_in(entry)
                is_explained = id_ is not None and id_ in available
            if not is_explained:
                yield self._found(FaultKind.INDEX, "i:", name, entry)
        if self.contents.hash("g:", name) and not has_members:
            yield self._found(FaultKind.GROUP, "g:", name)

    def _counts(self, name: str) -> dict[str, int]:
        modes = [text.partition(" ")[0] for text in self.contents.hash("h:", name).values()]
        counted = {
            field: sum(any(c in mode for c in letters) for mode in modes) for field, letters in _COUNTERS.items()
        }
        counted["xo"] = int(any("X" in mode for mode in modes))
        counted["nw"] = len(self.contents.zset("w:", name))
        counted["lk"] = sum(len(text.split()) for text in self.contents.hash("l:", name).values())
        counted["gm"] = len(self.contents.zset("r:", name))
        counted["mk"] = int(bool(self.contents.hash("k:", name)))
        counted["pu"], counted["gu"] = self._uncommitted[name, "P"], self._uncommitted[name, "G"]
        return counted

    # -- messages ----------------------------------------------------------------------------------------------------

    @cached_property
    def _uncommitted(self) -> Counter[tuple[str, str]]:
        """Count the uncommitted messages by queue and kind of operation."""
        found: Counter[tuple[str, str]] = Counter()
        for _, kind, queue, ids in self._operations():
            found[queue, kind] += len(ids)
        return found

    def _operations(self) -> Iterator[tuple[str, str, str, list[str]]]:
        for unit in self.contents.names("u:"):
            for element in self.contents.values["u:", unit]:
                if "\n" in element:
                    head, queue, ids, _ = element.split("\n")
                    yield unit, "P" if head[0] == "P" else "G", queue, ids.split()

    def _places(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield every place that holds messages, with their ids."""
        for kind in ("a:", "r:", "trash:"):
            for name in self.contents.names(kind):
                yield self.contents.key(kind, name), self.contents.zset(kind, name)
        for name in self.contents.names("l:"):
            for locked in self.contents.hash("l:", name).values():
                yield self.contents.key("l:", name), [pair.partition(":")[0] for pair in locked.split()]
        for unit, _, _, ids in self._operations():
            yield self.contents.key("u:", unit), ids
        to_be_told = [member for member, time in self.contents.zset("x").items() if time < 0]
        yield self.contents.key("x"), [member.rpartition(" ")[2] for member in to_be_told]

    def _messages(self) -> Iterator[Fault]:
        records, places = set(self.contents.values.get(("m", ""), ())), dict[str, str]()
        for place, ids in self._places():
            for id_ in ids:
                if id_ in places:
                    yield Fault(FaultKind.TWICE, self.contents.name, place, id_, f"and {places[id_]}")
                places[id_] = place
                if id_ not in records:
                    yield Fault(FaultKind.MISSING, self.contents.name, place, id_)
        for id_ in sorted(records - places.keys()):
            yield self._found(FaultKind.MESSAGE, "m", "", id_)
        noted = self.contents.hash("trash")
        for number in self.contents.names("trash:"):
            if number not in noted:
                yield self._found(FaultKind.TRASH, "trash:", number)

    def _expiry(self) -> Iterator[Fault]:
        for member, time in self.contents.zset("x").items():
            queue, _, id_ = member.rpartition(" ")
            is_there = id_ in self.contents.zset("a:", queue) or id_ in self.contents.zset("r:", queue)
            # A message in the trash keeps its expiry time until it is discarded.
            is_there = is_there or any(id_ in self.contents.zset("trash:", n) for n in self.contents.names("trash:"))
            if time >= 0 and not is_there:
                yield self._found(FaultKind.EXPIRY, "x", "", member)

    def _found(self, kind: FaultKind, of: str, key: str = "", name: str = "", detail: str = "") -> Fault:
        return Fault(kind, self.contents.name, self.contents.key(of, key), name, detail)


def is_about_messages(name: str, members: Members) -> bool:
    """Whether a structure of this name can be accounted for now: a member owns it, or it is defined and not failed."""
    own = private_structure("")
    if name.startswith(own) and name.removeprefix(own) in members.leaving:
        return False
    return name in members.structures and name not in members.failed


def id_in(entry: str) -> str | None:
    """Return the id of the message that an index entry is about."""
    start = _BEFORE_PLACE.get(entry[0])
    if start is None or len(entry) < start + _PLACE_BYTES:
        return None
    place, id_ = entry[start : start + _PLACE_BYTES], entry[start + _PLACE_BYTES :]
    return id_ or f"{int.from_bytes(place.encode('latin-1')) % _ARRIVALS}x"
