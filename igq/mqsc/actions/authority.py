"""SET, DISPLAY and DELETE AUTHREC: the users' authorities to put on queues."""

from __future__ import annotations

from collections.abc import Iterator

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter
from igq.mqsc.language.parameters import keywords
from igq.mqsc.language.parser import Command, MqscSyntaxError
from igq.mqsc.records import Shown, read_request, shown, two_columns
from sharedq.objects.definitions.names import matches
from sharedq.objects.repository import Repository
from sharedq.objects.store.authorities import PUT, Authorities, AuthorityRecord

_RECORD = ("PROFILE", "OBJTYPE", "PRINCIPAL")
_CHANGES = ("AUTHADD", "AUTHRMV")
#: The values of AUTHADD and AUTHRMV. NONE changes nothing, but makes the record.
AUTHORITIES = {PUT: (PUT,), "ALL": (PUT,), "ALLMQI": (PUT,), "NONE": ()}
_SHOWN = keywords("AUTHREC")


def set_authority(command: Command, repository: Repository) -> list[str]:
    """SET AUTHREC: give authorities to a user, or take them away."""
    profile, principal = _read_record(command, (*_RECORD, *_CHANGES))
    added, removed = (_read_authorities(command, keyword) for keyword in _CHANGES)
    if added is None and removed is None:
        raise _missing(command, "AUTHADD or AUTHRMV")
    Authorities(repository.group).change(profile, principal, add=added or (), remove=removed or ())
    return []


def delete_authority(command: Command, repository: Repository) -> list[str]:
    """DELETE AUTHREC: delete a record."""
    profile, principal = _read_record(command, _RECORD)
    Authorities(repository.group).delete(profile, principal)
    return []


def display_authority(command: Command, repository: Repository) -> list[str]:
    """DISPLAY AUTHREC: show the records of the profiles and users that the command names, or all."""
    _check_type(command)
    request = read_request(command, _RECORD, _SHOWN, all_by_default=True)
    lines: list[str] = []
    wanted = [find_parameter(command, keyword) for keyword in ("PROFILE", "PRINCIPAL")]
    profile, principal = (each.value if each is not None and each.values else "*" for each in wanted)
    for record in Authorities(repository.group).records():
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
    yield shown("OBJTYPE", "QUEUE")
    yield shown("AUTHLIST", ",".join(record.authorities) or "NONE")


def _read_record(command: Command, options: tuple[str, ...]) -> tuple[str, str]:
    """Return profile and user. Every parameter must be one of *options*."""
    command.check_keywords(options)
    for parameter in command.parameters:
        single = parameter.keyword in _RECORD
        if parameter.values is None or (single and len(parameter.values) != 1):
            raise command.error(parameter, f"{parameter.keyword}({'one value' if single else 'authorities'})")
    _check_type(command)
    found = [find_parameter(command, keyword) for keyword in _RECORD]
    if None in found:
        raise _missing(command, "PROFILE(name), OBJTYPE(QUEUE) and PRINCIPAL(user)")
    profile, _, principal = (each.value for each in found if each is not None)
    return profile, principal


def _check_type(command: Command) -> None:
    kind = find_parameter(command, "OBJTYPE")
    if kind is not None and kind.values is not None and kind.value != "QUEUE":
        raise command.error(kind, "OBJTYPE(QUEUE)")


def _read_authorities(command: Command, keyword: str) -> tuple[str, ...] | None:
    parameter = find_parameter(command, keyword)
    if parameter is None:
        return None
    words: list[str] = []
    for value in parameter.values or ():
        if value not in AUTHORITIES:
            raise command.error(parameter, f"{keyword}({'|'.join(AUTHORITIES)})")
        words += AUTHORITIES[value]
    return tuple(words)


def _missing(command: Command, expected: str) -> MqscSyntaxError:
    segment = command.parameters[-1].segment if command.parameters else f"{command.verb} {command.object_type}"
    return MqscSyntaxError(command.line, segment, expected)
