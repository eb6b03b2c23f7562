"""Accounts for the administration structure, and tells the other accounts which members and owners exist. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from recovery.accounting.contents import Contents
from recovery.accounting.finding import Fault, FaultKind
from recovery.target import CLAIM_MARK, Target
from sharedq.redis.keys import ADMIN_STRUCTURE, private_structure

_OWN = private_structure("")


class Members:
    """The administration structure as one look read it.

    Args:
        now_ms: the Redis time of that look.
    """

    def __init__(self, contents: Contents, now_ms: int) -> None:
        self.contents = contents
        self._now_ms = now_ms
        self._leases = contents.zset("leases")
        self._owners = contents.hash("own")

    @cached_property
    def names(self) -> set[str]:
        """The queue managers that are members."""
        return {name for name in self.contents.hash("members") if not name.startswith("!")}

    @cached_property
    def leaving(self) -> set[str]:
        """Members that are being removed: what they own is being deleted."""
        found = {name: json.loads(text) for name, text in self.contents.hash("members").items() if name in self.names}
        return {name for name, info in found.items() if "removing" in info}

    @cached_property
    def structures(self) -> set[str]:
        """Every structure that can hold messages."""
        return set(self.contents.hash("structures"))

    @cached_property
    def failed(self) -> set[str]:
        """Structures that lost their keys."""
        return {name for name, text in self.contents.hash("failures").items() if text.startswith("FAILED")}

    @cached_property
    def queues(self) -> set[tuple[str, str]]:
        """Structure and name of every local queue in the directory whose structure defines it."""
        return {(structure, name) for _, structure, name in self._local_queues()}

    @cached_property
    def prepared(self) -> dict[str, set[str]]:
        """Ids of units of work that are in doubt or being ended, each with the structures that it touches."""
        units = (json.loads(text) for text in self.contents.hash("prepared").values())
        return {unit["unit"]: set(unit["structures"]) for unit in units}

    def exists(self, token: str) -> bool:
        """Whether a connection is registered, or its recovery has not ended yet."""
        return token in self._owners or self.is_recovered(token)

    def is_recovered(self, token: str) -> bool:
        """Whether the recovery of a connection, or of its program or manager, is under way or still to come."""
        target = Target.parse(token)
        process = f"{target.incarnation_token}.{target.process}"
        return any(
            CLAIM_MARK + each in self._leases or self._leases.get(each, self._now_ms + 1) <= self._now_ms
            for each in (target.token, process, target.incarnation_token)
        )

    def _keeps_out(self, token: str) -> bool:
        # An MQCONN that the network delayed may arrive as long as its program lives.
        return self.is_recovered(token) or token.rpartition(".")[0] in self._leases

    def findings(self) -> Iterator[Fault]:
        """Return what nothing explains."""
        for key in self.contents.unknown:
            yield Fault(FaultKind.UNKNOWN, ADMIN_STRUCTURE, key)
        yield from self._programs()
        yield from self._units()
        yield from self._subscriptions()
        yield from fences(self.contents, self._keeps_out)
        for kind, what in (("agents", FaultKind.AGENT), ("qmgr", FaultKind.MEMBER)):
            yield from (self._found(what, kind, name) for name in self.contents.hash(kind) if name not in self.names)
        for name in self.structures:
            if name.startswith(_OWN) and name.removeprefix(_OWN) not in self.names:
                yield self._found(FaultKind.MEMBER, "structures", name)
        for field in self.contents.hash("dir"):
            scope, _, rest = field.partition(" ")
            if scope == "P" and rest.partition(" ")[0] not in self.names:
                yield self._found(FaultKind.MEMBER, "dir", field)

    def _programs(self) -> Iterator[Fault]:
        for process in self.contents.hash("procs"):
            if process not in self._leases and not self.is_recovered(process + ".0"):
                yield self._found(FaultKind.PROCESS, "procs", process)
        for owner in self._owners:
            process = owner.rpartition(".")[0]
            if process not in self._leases and not self.is_recovered(owner):
                yield self._found(FaultKind.OWNER, "own", owner)
        for tag, users in self.contents.hash("tags").items():
            for user in users.split():
                if user[1:] not in self.prepared and not ("/" not in user and self.exists(user[1:])):
                    yield self._found(FaultKind.TAG, "tags", tag, user)
        for lease in self._leases:
            target = Target.parse(lease)
            if target.is_manager and target.qmgr not in self.names:
                yield self._found(FaultKind.LEASE, "leases", lease)
            is_program = target.process is not None and target.connection is None
            if is_program and not target.is_claim and lease not in self.contents.hash("procs"):
                yield self._found(FaultKind.LEASE, "leases", lease)
        for failed, text in self.contents.hash("recoveries").items():
            if json.loads(text)["state"] != "RESOLVED" and not self._is_claimed(failed):
                yield self._found(FaultKind.RECOVERY, "recoveries", failed)

    def _is_claimed(self, target: str) -> bool:
        return CLAIM_MARK + target in self._leases or target in self._leases

    def _units(self) -> Iterator[Fault]:
        for unit_id, decision in self.contents.hash("decisions").items():
            if unit_id not in self.prepared and not self.exists(unit_id.partition("/")[0]):
                yield self._found(FaultKind.DECISION, "decisions", unit_id, decision)

    @cached_property
    def subscriptions(self) -> dict[str, dict[str, Any]]:
        """Every subscription, by its number."""
        return {number: json.loads(text.encode("latin-1")) for number, text in self.contents.hash("subs").items()}

    @cached_property
    def orphans(self) -> set[tuple[str, str, str]]:
        """Structure, name and maker of temporary queues that are to be deleted after others' units of work."""
        fields = ((*field.partition("\n"), maker) for field, maker in self.contents.hash("orphans").items())
        return {(structure, name, maker) for structure, separator, name, maker in fields if separator}

    @cached_property
    def managed_queues(self) -> set[str]:
        """Managed queues of subscriptions, and of ended subscriptions, whose queues are being deleted."""
        managed = (each for each in self.subscriptions.values() if each["destination_class"] == "MANAGED")
        return {each["destination"] for each in managed} | set(self.contents.hash("orphans"))

    def _subscriptions(self) -> Iterator[Fault]:
        known, counts = self.subscriptions, Counter[str]()
        for number, each in known.items():
            place = each["place"].encode().decode("latin-1")
            if number not in self.contents.zset("subat:", place):
                yield self._found(FaultKind.SUBSCRIPTION, "subs", number, "publications do not find it")
            steps = place.split("/")
            counts.update("/".join(steps[:count]) for count in range(1, len(steps) + 1))
        for number, holder in self.contents.hash("subheld").items():
            if number not in known or not self.exists(holder):
                yield self._found(FaultKind.SUBSCRIPTION, "subheld", number, holder)
        for number, count in self.contents.hash("subput").items():
            if number not in known:
                yield self._found(FaultKind.SUBSCRIPTION, "subput", number, count)
        for name, number in self.contents.hash("subnames").items():
            if number not in known:
                yield self._found(FaultKind.SUBSCRIPTION, "subnames", name, number)
        for place in self.contents.names("subat:"):
            for number in self.contents.zset("subat:", place).keys() - known.keys():
                yield self._found(FaultKind.SUBSCRIPTION, f"subat:{place}", number)
        told = {place: int(count) for place, count in self.contents.hash("subtree").items()}
        for place in told.keys() | counts.keys():
            if told.get(place, 0) != counts[place]:
                detail = f"it says {told.get(place, 0)}, there are {counts[place]}"
                yield self._found(FaultKind.SUBSCRIPTION, "subtree", place, detail)

    def lost_queues(self) -> Iterator[tuple[str, str, str]]:
        """Field of the directory, structure and name of every local queue that its structure must define."""
        for field, structure, name in self._local_queues():
            if structure not in self.failed and structure.removeprefix(_OWN) not in self.leaving:
                yield field, structure, name

    def _local_queues(self) -> Iterator[tuple[str, str, str]]:
        for field, text in self.contents.hash("dir").items():
            entry: dict[str, Any] = json.loads(text.encode("latin-1"))
            if entry.get("structure") and entry.get("definition") is None and not field.startswith("G "):
                yield field, entry["structure"], field.rpartition(" ")[2]

    def _found(self, kind: FaultKind, key: str, name: str, detail: str = "") -> Fault:
        return Fault(kind, ADMIN_STRUCTURE, self.contents.key(key), name, detail)


def fences(contents: Contents, is_needed: Callable[[str], bool]) -> Iterator[Fault]:
    """Yield needless fences: the program or connection is recovered, or its whole incarnation is shut out.

    Args:
        is_needed: whether something under that token could still arrive without the fence.
    """
    fence = contents.hash("fence")
    for token in fence:
        if "." in token:
            target = Target.parse(token)
            if int(fence.get(target.qmgr, 0)) >= target.incarnation or not is_needed(token):
                yield Fault(FaultKind.FENCE, contents.name, contents.key("fence"), token)
