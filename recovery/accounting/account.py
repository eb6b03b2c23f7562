"""The account of a group: what two looks at it agree on, and where it is not large, a third one in one moment, too."""

from __future__ import annotations

from collections.abc import Iterable

from recovery.accounting.contents import ADMIN_TYPES, TYPES, Contents, read_by_pages, read_in_one_moment
from recovery.accounting.finding import Finding, Kind
from recovery.accounting.members import Members
from recovery.accounting.structure import Structure, is_about_messages
from sharedq.members.group import Group
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.reading.keyspace import keys_by_tag
from sharedq.redis.keys import ADMIN_STRUCTURE

#: Looks that must agree on a finding, in a group that changes meanwhile.
LOOKS = 2
#: As many more where a structure is too large to be read in one moment.
LOOKS_AT_LARGE = 4
#: Entries of a structure that are read in one moment, at most: that takes Redis a few milliseconds.
AT_ONCE_MAX = 20_000


def account(group: Group) -> list[Finding]:
    """Everything in the group's keys that nothing explains; empty: all is as it should be. Changes nothing.

    Programs may be at work meanwhile: what they change between two steps is not taken for a finding.

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
    """One look at all of a group: structures first, then who exists, which may outlive what was seen of it."""

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

    def findings(self) -> set[Finding]:
        """What nothing explains, as far as this look tells."""
        found = set(self.members.findings())
        for name, contents in self.structures.items():
            if is_about_messages(name, self.members):
                # RECOVER CFSTRUCT puts together what is there one by one.
                if "RECOVER" not in contents.hash("ver"):
                    found |= set(Structure(contents, self.members).findings())
            elif name not in self.members.structures and not self.members.failed & {name}:
                found |= _remains_of(contents)
        for field, structure, queue in self.members.lost_queues():
            there = self.structures.get(structure)
            if there is not None and not {"ver", "shut"} & there.hash("q:", queue).keys():
                key = self.members.contents.key("dir")
                found.add(Finding(Kind.DIRECTORY, structure, key, field))
        # A wake-up that goes by itself soon.
        return {
            each for each in found if each.kind is not Kind.WAKE or self.group.command(each.key, "TTL", each.key) < 0
        }

    def confirmed(self, name: str, agreed: Iterable[Finding]) -> set[Finding]:
        """Those of a structure that a look in one moment finds, too; or several more looks, where it is large."""
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
    """The administration structure, and Redis' time."""
    contents = read_by_pages(group, ADMIN_STRUCTURE, group.keys.tag, keys, ADMIN_TYPES)
    seconds, microseconds = group.command(group.keys.group, "TIME")
    return Members(contents, int(seconds) * 1000 + int(microseconds) // 1000)


def _remains_of(contents: Contents) -> set[Finding]:
    """What is left of a structure that is not defined; what stays for the next of its name is no finding."""
    kept = ("seq", "ver", "journal", "fence", "dest")
    return {
        Finding(Kind.QUEUE, contents.name, contents.key(kind, name), "", "the structure is not defined")
        for kind, name in contents.values
        # Parts of the transmission queue stay as they are closed, too.
        if kind not in kept and not name.startswith(SYSTEM_QSG_TRANSMIT_QUEUE)
    }
