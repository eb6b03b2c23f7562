"""SET, DISPLAY and DELETE AUTHREC: the users' authorities for queues and topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter
from igq.mqsc.language.parameters import keywords
from igq.mqsc.language.parser import Command, MqscSyntaxError
from igq.mqsc.records import Shown, read_request, shown, two_columns
from sharedq.objects.definitions.names import matches
from sharedq.objects.repository import Repository
from sharedq.objects.store.authorities import (
    KNOWN,
    Authorities,
    AuthorityRecord,
    all_records,
    check_principal,
    check_profile,
)

_RECORD = ("PROFILE", "OBJTYPE", "PRINCIPAL")
_CHANGES = ("AUTHADD", "AUTHRMV")
#: Object type -> the values of AUTHADD and AUTHRMV. NONE changes nothing, but makes the record.
AUTHORITIES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    object_type: {**{each: (each,) for each in known}, "ALL": known, "ALLMQI": known, "NONE": ()}
    for object_type, known in KNOWN.items()
}
_SHOWN = keywords("AUTHREC")


def set_authority(command: Command, repository: Repository) -> list[str]:
    """SET AUTHREC: give authorities to a user, or take them away."""
    profile, object_type, principal = _read_record(command, (*_RECORD, *_CHANGES))
    added, removed = (_read_authorities(command, keyword, object_type) for keyword in _CHANGES)
    if added is None and removed is None:
        raise _missing(command, "AUTHADD or AUTHRMV")
    Authorities(repository.group, object_type).change(profile, principal, add=added or (), remove=removed or ())
    return []


def delete_authority(command: Command, repository: Repository) -> list[str]:
    """DELETE AUTHREC: delete a record."""
    profile, object_type, principal = _read_record(command, _RECORD)
    Authorities(repository.group, object_type).delete(profile, principal)
    return []


def display_authority(command: Command, repository: Repository) -> list[str]:
    """DISPLAY AUTHREC: show the records of the profiles and users that the command names, or all."""
    wanted_type = _read_type(command)
    request = read_request(command, _RECORD, _SHOWN, all_by_default=True)
    lines: list[str] = []
    wanted = [find_parameter(command, keyword) for keyword in ("PROFILE", "PRINCIPAL")]
    profile, principal = (each.value if each is not None and each.values else "*" for each in wanted)
    for record in all_records(repository.group):
        if wanted_type not in ("", record.object_type):
            continue
        if not (matches(profile, record.profile) and matches(principal, record.principal)):
            continue
        attributes = list(_record(record))
        if request.where(attributes):
            lines += [
                messages.details(command),
                *two_columns(request.select(attributes, always=2)),
            ]
    return lines or [messages.NOTHING_FOUND.format(command.object_type)]


def _record(record: AuthorityRecord) -> Iterator[Shown]:
    yield shown("PROFILE", record.profile)
    yield shown("ENTITY", record.principal)
    yield shown("ENTTYPE", "PRINCIPAL")
    yield shown("OBJTYPE", record.object_type)
    yield shown("AUTHLIST", ",".join(record.authorities) or "NONE")


def _read_record(command: Command, options: tuple[str, ...]) -> tuple[str, str, str]:
    """Return profile, object type and user. Every parameter must be one of *options*."""
    command.check_keywords(options)
    for parameter in command.parameters:
        single = parameter.keyword in _RECORD
        if parameter.values is None or (single and len(parameter.values) != 1):
            raise command.error(parameter, f"{parameter.keyword}({'one value' if single else 'authorities'})")
    _read_type(command)
    found = [find_parameter(command, keyword) for keyword in _RECORD]
    if None in found:
        raise _missing(command, "PROFILE(name), OBJTYPE(QUEUE|TOPIC) and PRINCIPAL(user)")
    profile, object_type, principal = (each for each in found if each is not None)
    for parameter, check in ((profile, check_profile), (principal, check_principal)):
        try:
            check(parameter.value)
        except ValueError as error:
            raise command.error(parameter, str(error)) from None
    return profile.value, object_type.value, principal.value


def _read_type(command: Command) -> str:
    """Return the object type that a command names; "" where it names none."""
    kind = find_parameter(command, "OBJTYPE")
    if kind is None or kind.values is None:
        return ""
    if kind.value not in KNOWN:
        raise command.error(kind, f"OBJTYPE({'|'.join(KNOWN)})")
    return kind.value


def _read_authorities(command: Command, keyword: str, object_type: str) -> tuple[str, ...] | None:
    parameter = find_parameter(command, keyword)
    if parameter is None:
        return None
    words: list[str] = []
    for value in parameter.values or ():
        known = AUTHORITIES[object_type]
        if value not in known:
            raise command.error(parameter, f"{keyword}({'|'.join(known)})")
        words += known[value]
    return tuple(words)


def _missing(command: Command, expected: str) -> MqscSyntaxError:
    segment = command.parameters[-1].segment if command.parameters else f"{command.verb} {command.object_type}"
    return MqscSyntaxError(command.line, segment, expected)
