"""The account of a group: findings that two looks agree on, and a third look in one moment at small structures."""

from __future__ import annotations

from collections.abc import Iterable

from recovery.accounting.contents import ADMIN_TYPES, TYPES, Contents, read_by_pages, read_in_one_moment
from recovery.accounting.finding import Fault, FaultKind
from recovery.accounting.members import Members
from recovery.accounting.structure import StructureContents, is_about_messages
from recovery.target import is_owner
from sharedq.members.group import Group
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.reading.keyspace import keys_by_tag
from sharedq.redis.keys import ADMIN_STRUCTURE
from sharedq.scripts.reads import has_time_to_live, server_ms

#: Looks that must agree on a finding, because the group changes between them.
LOOKS = 2
#: Additional looks at a structure that is too large to be read in one moment.
LOOKS_AT_LARGE = 4
#: The largest number of entries that are read from a structure in one moment: Redis needs a few milliseconds for that.
AT_ONCE_MAX = 20_000


def account(group: Group) -> list[Fault]:
    """List everything in the group's keys that nothing explains. Empty: the group is sound. Changes nothing.

    Programs may be at work at the same time: the account does not report what they change between two looks.

    Raises:
        MQIError: 2009, a server cannot be reached.
    """
    looked = _Look(group)
    agreed = looked.findings()
    for _ in range(LOOKS - 1):
        if not agreed:
            return []
        looked = _Look(group)
        agreed &= looked.findings()
    for name in sorted({finding.structure for finding in agreed} - {ADMIN_STRUCTURE}):
        agreed -= {each for each in agreed if each.structure == name} - looked.confirmed(name, agreed)
    return sorted(agreed)


class _Look:
    """One look at the whole group: structures first, then members and owners, which outlive the keys that they own."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.structures: dict[str, Contents] = {}
        admin = f"{{{group.name}:{ADMIN_STRUCTURE}}}"
        keys = keys_by_tag(group)
        for tag in keys:
            name = tag[len(group.name) + 2 : -1]
            if tag != admin and name:
                self.structures[name] = read_by_pages(group, name, tag, keys[tag], TYPES)
        self.members = read_members(group, keys.get(admin, ()))

    def findings(self) -> set[Fault]:
        """Return what this look cannot explain."""
        found = set(self.members.findings())
        for name, contents in self.structures.items():
            if is_about_messages(name, self.members):
                # RECOVER CFSTRUCT is rebuilding this structure key by key.
                if "RECOVER" not in contents.hash("ver"):
                    found |= set(StructureContents(contents, self.members).findings())
            elif name not in self.members.structures and not self.members.failed & {name}:
                found |= _remains_of(contents, self.members)
        for field, structure, queue in self.members.lost_queues():
            there = self.structures.get(structure)
            if there is not None and not {"ver", "shut", "del"} & there.hash("q:", queue).keys():
                key = self.members.contents.key("dir")
                found.add(Fault(FaultKind.DIRECTORY, structure, key, field))
        # A wake list with a time to live goes away by itself.
        return {each for each in found if each.kind is not FaultKind.WAKE or not has_time_to_live(self.group, each.key)}

    def confirmed(self, name: str, agreed: Iterable[Fault]) -> set[Fault]:
        """Return the findings that a look in one moment confirms, or several more looks if the structure is large."""
        mine = {finding for finding in agreed if finding.structure == name}
        contents = self.structures.get(name)
        if contents is None:
            return mine
        for _ in range(LOOKS_AT_LARGE):
            whole = None
            if contents.size <= AT_ONCE_MAX:
                whole = read_in_one_moment(self.group, contents, self.members.contents.hash("own"))
            look = _Look(self.group)
            if whole is not None:
                look.structures[name] = whole
                whole.unknown = contents.unknown
                return mine & look.findings()
            mine &= look.findings()
        return mine


def read_members(group: Group, keys: Iterable[str]) -> Members:
    """Read the administration structure and the Redis time."""
    contents = read_by_pages(group, ADMIN_STRUCTURE, group.keys.tag, keys, ADMIN_TYPES)
    return Members(contents, server_ms(group, group.keys.group))


def _remains_of(contents: Contents, members: Members) -> set[Fault]:
    """Return the keys that are left of an undefined structure, except those kept for the next structure of its name."""
    kept = ("seq", "ver", "journal", "fence", "dest")
    return {
        Fault(FaultKind.QUEUE, contents.name, contents.key(kind, name), "", "the structure is not defined")
        for kind, name in contents.values
        if kind not in kept
        and not (kind == "q:" and _is_closed_part(name, contents.hash(kind, name)))
        # Connections that entered the structure before it was deleted leave it when they end, or their recovery does.
        and not (kind in ("own", "dead") and all(map(is_owner, contents.hash(kind))))
    } | {
        Fault(FaultKind.OWNER, contents.name, contents.key("own"), token)
        for token in contents.hash("own")
        if is_owner(token) and not members.exists(token)
    }


def _is_closed_part(name: str, queue: dict[str, str]) -> bool:
    """Whether it is all that stays of a part of the transmit queue: the version up to which it is closed."""
    return name.startswith(SYSTEM_QSG_TRANSMIT_QUEUE) and queue.keys() == {"gone"}
