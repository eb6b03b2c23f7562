"""BACKUP CFSTRUCT, RECOVER CFSTRUCT and DISPLAY CFSTATUS."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, read_choice
from igq.mqsc.language.parameters import REPORTS, keywords
from igq.mqsc.language.parser import Command
from igq.mqsc.records import Shown, read_request, shown, two_columns
from igq.output.plural import counted
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.restoration import purge, recover
from sharedq.admin.backup.status import latest_backup, messages_in
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
    failed = datetime.fromtimestamp(known.since_ms / 1000, UTC) if known and known.is_failed else None
    yield [
        shown("CFTYPE", "APPL"),
        shown("ENTSUSED", messages_in(group, structure)),
        shown("FAILDATE", f"{failed:%Y-%m-%d}" if failed else ""),
        shown("FAILTIME", f"{failed:%H.%M.%S}" if failed else ""),
        shown("STATUS", status),
    ]


def _backup(group: Group, structure: str) -> Iterator[list[Shown]]:
    latest = latest_backup(group, structure)
    yield [
        shown("BKUPDATE", f"{latest.begun:%Y-%m-%d}" if latest else ""),
        shown("BKUPSIZE", -(-latest.bytes // 1_000_000) if latest else 0),
        shown("BKUPTIME", f"{latest.begun:%H.%M.%S}" if latest else ""),
        shown("ENTSUSED", latest.messages if latest else 0),
        shown("STATUS", structure_state(group, structure)),
    ]


def _connections(group: Group, _: str) -> Iterator[list[Shown]]:
    """Every member uses every structure while it runs."""
    for member in group.members():
        state = {"FAILED": "FAILED", "STOPPED": "NONE"}.get(member.state, "ACTIVE")
        yield [shown("QMNAME", member.name), shown("STATUS", state), shown("SYSNAME", member.host)]


_FIGURES: Final = {"SUMMARY": _summary, "CONNECT": _connections, "BACKUP": _backup}
