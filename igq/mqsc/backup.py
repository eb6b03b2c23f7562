"""BACKUP CFSTRUCT and RECOVER CFSTRUCT."""

from __future__ import annotations

from igq.mqsc import messages
from igq.mqsc.attribute_values import find_parameter, read_choice
from igq.mqsc.parser import Command
from sharedq.backup.restore import purge, recover
from sharedq.backup.take import backup
from sharedq.objects.repository import Repository

_EXCLUDED_S = range(30, 601)


def backup_structure(command: Command, repository: Repository) -> list[str]:
    """BACKUP CFSTRUCT. EXCLINT is understood, and nothing is excluded: a backup goes up to its own end."""
    for parameter in command.parameters:
        if parameter.keyword not in ("EXCLINT", "CMDSCOPE"):
            raise command.error(parameter, "EXCLINT or CMDSCOPE")
    interval = find_parameter(command, "EXCLINT")
    if interval is not None and not (interval.value.isdecimal() and int(interval.value) in _EXCLUDED_S):
        raise command.error(interval, "EXCLINT(30..600)")
    taken = backup(repository.group, command.name)
    size_mb = taken.bytes / 1e6
    return [
        messages.BACKUP_COMPLETED.format(
            command.name, taken.messages, taken.queues, f"{size_mb:.1f}", taken.position, taken.path
        )
    ]


def recover_structure(command: Command, repository: Repository) -> list[str]:
    """RECOVER CFSTRUCT TYPE(NORMAL|PURGE)."""
    for parameter in command.parameters:
        if parameter.keyword not in ("TYPE", "CMDSCOPE"):
            raise command.error(parameter, "TYPE or CMDSCOPE")
    kind = read_choice(command, "TYPE", ("NORMAL", "PURGE"), "NORMAL")
    recovered = (recover if kind == "NORMAL" else purge)(repository.group, command.name)
    source = f"from the backup of {recovered.begun}" if recovered.begun else "emptied"
    lines = [messages.RECOVERY_COMPLETED.format(command.name, recovered.messages, recovered.queues, source)]
    if recovered.dropped:
        lines.append(messages.NOT_RECOVERED.format(f"{recovered.dropped} messages of queues that were deleted since"))
    if recovered.missing:
        names = ", ".join(recovered.missing)
        lines.append(messages.NOT_RECOVERED.format(f"queues defined since, DEFINE them with REPLACE: {names}"))
    return lines
