"""BACKUP CFSTRUCT, RECOVER CFSTRUCT and DISPLAY CFSTATUS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, read_choice
from igq.mqsc.language.parameters import REPORTS, keywords
from igq.mqsc.language.parser import Command
from igq.mqsc.records import Shown, read_request, shown, shown_attributes, two_columns
from igq.output.plural import counted
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.glance import latest_backup, messages_in
from sharedq.admin.backup.restoration import purge, recover
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.names import is_generic, matches
from sharedq.objects.repository import Repository
from sharedq.objects.store.failures import failure_of, structure_state

_EXCLUDED_S = range(30, 601)


def backup_structure(command: Command, repository: Repository) -> list[str]:
    """BACKUP CFSTRUCT of one structure, or of all recoverable ones that a generic name means.

    EXCLINT is accepted but excludes nothing: a backup includes everything up to its own end.

    Raises:
        PartlyDoneError: some of several could not be backed up. The others were.
    """
    command.check_keywords(("EXCLINT", "CMDSCOPE"))
    interval = find_parameter(command, "EXCLINT")
    if interval is not None and not (interval.value.isdecimal() and int(interval.value) in _EXCLUDED_S):
        raise command.error(interval, "EXCLINT(30..600)")
    if not is_generic(command.name):
        return [_backed_up(repository.group, command.name)]
    lines: list[str] = []
    failed: list[int] = []
    names = [each.name for each in repository.structures() if each.is_recoverable and matches(command.name, each.name)]
    for name in names:
        try:
            lines.append(_backed_up(repository.group, name))
        except BackupError as error:
            failed.append(0)
            lines.append(str(error))
        except MQIError as error:
            failed.append(int(error.reason))
            lines.append(messages.failure(f"CFSTRUCT({name})", error))
    if failed:
        raise messages.PartlyDoneError(lines, failed[0])
    if not names:
        raise error_for(MQRC.CF_STRUC_ERROR, "", command.name, "no recoverable structure has such a name")
    return lines


def _backed_up(group: Group, structure: str) -> str:
    taken = backup(group, structure)
    size_mb = taken.bytes / 1e6
    return messages.BACKUP_COMPLETED.format(
        structure,
        counted(taken.messages, "message"),
        counted(taken.queues, "queue"),
        f"{size_mb:.1f}",
        taken.position,
        taken.path,
    )


def recover_structure(command: Command, repository: Repository) -> list[str]:
    """RECOVER CFSTRUCT TYPE(NORMAL|PURGE)."""
    command.check_keywords(("TYPE", "CMDSCOPE"))
    kind = read_choice(command, "TYPE", ("NORMAL", "PURGE"), "NORMAL")
    recovered = (recover if kind == "NORMAL" else purge)(repository.group, command.name)
    source = f"from the backup of {recovered.begun}" if recovered.begun else "emptied"
    source += f" and its log until {recovered.until}" if recovered.until else ""
    counts = counted(recovered.messages, "message"), counted(recovered.queues, "queue")
    lines = [messages.RECOVERY_COMPLETED.format(command.name, *counts, source)]
    if recovered.dropped:
        lines.append(
            messages.NOT_RECOVERED.format(f"{counted(recovered.dropped, 'message')} of queues that were deleted since")
        )
    if recovered.missing:
        names = ", ".join(recovered.missing)
        lines.append(
            messages.NOT_RECOVERED.format(f"queues defined since the backup, DEFINE them with REPLACE: {names}")
        )
    return lines


def display_structure_status(command: Command, repository: Repository) -> list[str]:
    """DISPLAY CFSTATUS: the state of structures, the members that use them, or their backups on this machine."""
    kind = read_choice(command, "TYPE", tuple(REPORTS["CFSTATUS"]), "SUMMARY")
    request = read_request(command, ("TYPE",), keywords("CFSTATUS", kind), all_by_default=True)
    lines: list[str] = []
    for name in (each.name for each in repository.structures() if matches(command.name, each.name)):
        for figures in _FIGURES[kind](repository.group, name):
            record = [shown("CFSTATUS", name), shown("TYPE", kind), *figures]
            if request.where(record):
                lines += [messages.details(command), *two_columns(request.select(record, always=2))]
    if not lines and (is_generic(command.name) or find_parameter(command, "WHERE")):
        return [messages.NOTHING_FOUND.format(command.object_type)]
    if not lines:
        raise error_for(MQRC.CF_STRUC_ERROR, "", command.name, "there is no such structure")
    return lines


def _summary(group: Group, structure: str) -> Iterator[list[Shown]]:
    status, known = structure_state(group, structure), failure_of(group, structure)
    used, most = group.deployment().memory(group.structure(structure).messages) or (None, None)
    yield [
        shown("CFTYPE", "APPL"),
        shown("ENTSMAX", ""),
        shown("ENTSUSED", messages_in(group, structure)),
        *_failed(known.since_ms if known and known.is_failed else None),
        shown("OFFLDUSE", 0),
        shown("SIZEMAX", _kilobytes(most)),
        shown("SIZEUSED", _kilobytes(used)),
        shown("STATUS", status),
    ]


def _failed(at_ms: int | None) -> Iterator[Shown]:
    at = None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
    yield shown("FAILDATE", f"{at:%Y-%m-%d}" if at else "")
    yield shown("FAILTIME", f"{at:%H.%M.%S}" if at else "")


def _kilobytes(size: int | None) -> int | str:
    return "" if size is None else size // 1024


def _backup(group: Group, structure: str) -> Iterator[list[Shown]]:
    latest, known = latest_backup(group, structure), failure_of(group, structure)
    yield [
        shown("BKUPDATE", f"{latest.begun:%Y-%m-%d}" if latest else ""),
        # The file of a backup has nothing else, so these are its first and its last byte.
        shown("BKUPERBA", f"{latest.bytes:012X}" if latest else ""),
        shown("BKUPSIZE", -(-latest.bytes // 1_000_000) if latest else 0),
        shown("BKUPSRBA", f"{0:012X}" if latest else ""),
        shown("BKUPTIME", f"{latest.begun:%H.%M.%S}" if latest else ""),
        shown("ENTSUSED", latest.messages if latest else 0),
        *_failed(known.since_ms if known and known.is_failed else None),
        shown("LOGS", ""),
        shown("QMNAME", ""),
        shown("STATUS", structure_state(group, structure)),
    ]


def _connections(group: Group, _: str) -> Iterator[list[Shown]]:
    """Every member uses every structure while it runs."""
    for member in group.members():
        state = {"FAILED": "FAILED", "STOPPED": "NONE"}.get(member.state, "ACTIVE")
        yield [
            *_failed(None),
            shown("QMNAME", member.name),
            shown("STATUS", state),
            shown("SYSNAME", member.host),
        ]


def _data_sets(group: Group, structure: str) -> Iterator[list[Shown]]:
    """Return a new, empty data set for each member, if the structure is defined with OFFLOAD(SMDS)."""
    for name, _ in _offloaded(Repository(group, None), structure):
        yield [
            shown("ACCESS", "ENABLED"),
            *_failed(None),
            shown("RCVDATE", ""),
            shown("RCVTIME", ""),
            shown("SMDS", name),
            shown("STATUS", "NEW"),
        ]


def _offloaded(repository: Repository, structure: str) -> Iterator[tuple[str, Mapping[str, Shown]]]:
    """Yield each member with the attributes of each structure that is meant and has OFFLOAD(SMDS)."""
    for definition in repository.structures():
        attributes = {each.keywords[0]: each for each in shown_attributes(definition)}
        if attributes["OFFLOAD"].value == "SMDS" and matches(structure, definition.name):
            for member in repository.group.members():
                yield member.name, attributes


def display_data_sets(command: Command, repository: Repository) -> list[str]:
    """DISPLAY SMDS and SMDSCONN: the data set of each member for each structure, which nothing is ever written to."""
    kind = command.object_type
    request = read_request(command, ("CFSTRUCT", "CMDSCOPE"), keywords(kind), all_by_default=True)
    structure = find_parameter(command, "CFSTRUCT")
    lines: list[str] = []
    for name, attributes in _offloaded(repository, structure.value if structure and structure.values else "*"):
        record = [shown(kind, name), attributes["CFSTRUCT"], *_DATA_SET[kind](attributes)]
        if matches(command.name, name) and request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=2))]
    return lines or [messages.NOTHING_FOUND.format(kind)]


def _data_set(attributes: Mapping[str, Shown]) -> Iterator[Shown]:
    yield attributes["DSBUFS"]
    yield attributes["DSEXPAND"]


def _data_set_connection(_: Mapping[str, Shown]) -> Iterator[Shown]:
    yield shown("AVAIL", "NORMAL")
    yield shown("EXPANDST", "NORMAL")
    yield shown("OPENMODE", "NONE")
    yield shown("STATUS", "CLOSED")


_DATA_SET: Final = {"SMDS": _data_set, "SMDSCONN": _data_set_connection}


_FIGURES: Final = {"SUMMARY": _summary, "CONNECT": _connections, "BACKUP": _backup, "SMDS": _data_sets}
