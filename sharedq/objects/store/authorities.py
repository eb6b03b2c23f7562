"""The authority records of the group: the users' authorities for queues, and to publish and subscribe to topics.

While there are none for an object type, nothing is checked of it. Records change in the administration structure first.
Afterwards every structure is told the version of those for queues, so that an agent that moves messages without reading
them learns of a change in the script that would have moved the next one. If a command is cut off in between, the same
command completes it.

PUT counts for messages that an agent brings, and for users of the role messaging; GET and BROWSE only for the latter.

Source: IBM MQ reference, "SET AUTHREC", "DISPLAY AUTHREC". Of its authorities igq knows PUT, GET and BROWSE for queues;
    PUB, SUB and RESUME for topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.names import check_object_name
from sharedq.objects.store.structures import announce
from sharedq.redis.keys import StructureKeys
from sharedq.redis.link import Reply
from sharedq.scripts.objects import remove_authority_call, set_authority_call

#: The structures' name for the version of the authority records.
AUTHORITIES = "AUT"
#: The authorities that calls need: to put, to get and to browse messages.
PUT, GET, BROWSE = "PUT", "GET", "BROWSE"
#: The authorities that publications, new or altered, and resumed subscriptions need.
PUBLISH, SUBSCRIBE, RESUME = "PUB", "SUB", "RESUME"
QUEUE, TOPIC = "QUEUE", "TOPIC"
#: Object type -> its authorities.
KNOWN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {QUEUE: (PUT, GET, BROWSE), TOPIC: (PUBLISH, SUBSCRIBE, RESUME)}
)
#: A qualifier of a profile that stands for any number of qualifiers.
_ANY_QUALIFIERS = "**"
#: Bytes of a user id in a message descriptor.
USER_ID_LENGTH = 12


@dataclass(frozen=True, slots=True, order=True)
class AuthorityRecord:
    """The authorities of one user for the objects of one profile: a name, or a generic one (see `fits`)."""

    profile: str
    principal: str
    authorities: tuple[str, ...] = ()
    object_type: str = QUEUE


class AuthorityTable:
    """The records for one object type, as they were at one moment. Pure."""

    def __init__(self, records: Iterable[AuthorityRecord]) -> None:
        self._of: dict[str, list[AuthorityRecord]] = {}
        for record in records:
            self._of.setdefault(record.principal, []).append(record)

    def __bool__(self) -> bool:
        return bool(self._of)

    def may_put(self, principal: str, queue: str) -> bool:
        """Whether *principal* may put on *queue*."""
        return PUT in self.authorities(principal, queue)

    def authorities(self, principal: str, name: str) -> tuple[str, ...]:
        """Return what *principal* may do with an object. Its record with the most specific profile decides."""
        found = [record for record in self._of.get(principal, ()) if fits(record.profile, name)]
        best = min(found, key=lambda record: _generality(record.profile), default=None)
        return () if best is None else best.authorities


class Authorities:
    """Reads and changes the records for one object type."""

    def __init__(self, group: Group, object_type: str = QUEUE) -> None:
        self._group, self._type = group, object_type
        self._key = {QUEUE: group.keys.authorities, TOPIC: group.keys.topic_authorities}[object_type]

    def records(self) -> list[AuthorityRecord]:
        """Every record, by profile and user."""
        flat = [part.decode() for part in self._group.command(self._key, "HGETALL", self._key)]
        return sorted(_parse(field, text, self._type) for field, text in zip(flat[::2], flat[1::2], strict=True))

    def table(self) -> AuthorityTable:
        """Return the records in force."""
        return AuthorityTable(self.records())

    def exist(self) -> bool:
        """Whether there are any records, so that authorities are checked."""
        return bool(self._group.command(self._key, "HLEN", self._key))

    def change(self, profile: str, principal: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """SET AUTHREC. When it returns, no message moves by the previous records.

        Raises:
            ValueError: the profile or the user is invalid.
        """
        field = f"{check_profile(profile)}\n{check_principal(principal)}"
        call = set_authority_call(self._group.keys, self._key, field, " ".join(add), " ".join(remove))
        self._announce(self._group.call(*call))

    def delete(self, profile: str, principal: str) -> None:
        """DELETE AUTHREC. Raises MQIError: 2085, there is no such record."""
        reply = self._group.call(*remove_authority_call(self._group.keys, self._key, f"{profile}\n{principal}"))
        if reply[0]:
            raise error_for(MQRC(reply[0]), "", profile, f"{principal} has no record of this profile")
        self._announce(reply)

    def version(self, structure: StructureKeys) -> str:
        """Return the version that a structure knows; empty for none."""
        known = self._group.command(structure.versions, "HGET", structure.versions, AUTHORITIES)
        return (known or b"").decode()

    def _announce(self, reply: Reply) -> None:
        # A topic is looked at when a program opens it.
        if self._type == QUEUE:
            announce(self._group, AUTHORITIES, str(reply[1]))


def all_records(group: Group) -> list[AuthorityRecord]:
    """Return the records for every object type, those for queues first."""
    return [record for object_type in KNOWN for record in Authorities(group, object_type).records()]


def users_of_members(details: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Map the first 12 characters of managers' names, which messages carry, to the managers' user ids.

    Names that agree in these characters get no user id, because the sender would be ambiguous.
    """
    users: dict[str, str] = {}
    for name, info in details.items():
        short = name[:12]
        users[short] = "" if short in users else str(info.get("user", ""))
    return users


def fits(profile: str, name: str) -> bool:
    """Whether a profile means an object. A profile is the name of an object, or has these marks.

    ``?`` stands for one character. ``*`` stands for any characters inside one qualifier, a part between two full stops;
    at the end it also stands for all qualifiers after it. ``**`` as a qualifier stands for any number of qualifiers.

    Source: IBM MQ, "Using OAM generic profiles". There, a ``*`` at the end stays inside its qualifier.
    """
    if profile.endswith("*") and not profile.endswith("**"):
        profile += "." + _ANY_QUALIFIERS
    return _fit(tuple(profile.split(".")), tuple(name.split(".")))


def _fit(profile: tuple[str, ...], name: tuple[str, ...]) -> bool:
    if not profile:
        return not name
    if profile[0] == _ANY_QUALIFIERS:
        return any(_fit(profile[1:], name[skipped:]) for skipped in range(len(name) + 1))
    return bool(name) and fnmatchcase(name[0], profile[0]) and _fit(profile[1:], name[1:])


def _generality(profile: str) -> tuple[int, ...]:
    """Return what orders profiles that fit one name: the least is the most specific, from left to right as at IBM."""
    marks = profile.replace(_ANY_QUALIFIERS, "+")
    return tuple("?*+".find(character) + 1 for character in marks)


def check_profile(profile: str) -> str:
    """Return *profile* if it is the name of an object, or generic: see `fits`.

    Raises:
        ValueError: it is neither, or has ``**`` twice or as a part of a qualifier.
    """
    qualifiers = profile.split(".")
    try:
        check_object_name(profile.replace("*", "_").replace("?", "_"))
        if profile.count("**") != qualifiers.count(_ANY_QUALIFIERS) or qualifiers.count(_ANY_QUALIFIERS) > 1:
            raise ValueError
    except ValueError:
        raise ValueError("the name of an object, or a generic profile with ? * or once **") from None
    return profile


def check_principal(principal: str) -> str:
    """Return *principal* if a message descriptor can name it.

    Raises:
        ValueError: it is blank, not printable, or longer than 12 bytes.
    """
    if not principal or len(principal.encode()) > USER_ID_LENGTH or not principal.isprintable() or " " in principal:
        raise ValueError(f"a user id of 1 to {USER_ID_LENGTH} characters without blanks")
    return principal


def _parse(field: str, text: str, object_type: str) -> AuthorityRecord:
    profile, _, principal = field.partition("\n")
    return AuthorityRecord(profile, principal, tuple(text.split()), object_type)
