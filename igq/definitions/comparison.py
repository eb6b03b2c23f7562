"""How definitions differ, attribute by attribute; and what applying a file of commands would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from igq.definitions.catalog import Item, is_dynamic, read_catalog
from igq.definitions.changes import Change, differences
from igq.definitions.trial import TrialExecutor
from igq.mqsc.executor import Commands
from igq.mqsc.language.lines import split_commands
from sharedq.admin.definitions_copy import copied_definitions
from sharedq.members.group import Group
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.repository import Repository

#: Objects that igq defines by itself; a file need not have them.
_SYSTEM = "SYSTEM."


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes that applying a file would make.

    Attributes:
        surplus: objects of the group that the file does not have.
        failures: the answers to commands that would fail.
        warnings: what would be passed over.
    """

    changes: list[Change]
    surplus: list[Item] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether applying the file would change nothing."""
        return not self.changes and not self.surplus


def compare(group: Group, qmgr: str, lines: Iterable[str], *, is_lenient: bool, is_pruned: bool) -> Comparison:
    """Run the commands of a file on a copy of the definitions, and compare the copy before and afterwards.

    Args:
        qmgr: the manager that the commands without CMDSCOPE run at.
        is_pruned: also return the objects that the file does not define.

    Raises:
        DeploymentError: the server for the copy cannot be started.
        MQIError: Redis cannot be reached.
    """
    with copied_definitions(group) as copy:
        before = read_catalog(copy).items
        repository = Repository(copy, qmgr)
        executor = TrialExecutor(repository, Repository(group, qmgr), is_silent=True)
        commands = Commands(executor, repository, is_lenient=is_lenient, completed="")
        failures, warnings = [], []
        for source in split_commands(lines):
            answer = commands.answer(source)
            if answer.is_end:
                break
            if answer.fault:
                failures += answer.lines
            else:
                warnings += [line for line in answer.lines if line]
        changes = differences(before, read_catalog(copy).items)
        surplus = [item for item in before if is_pruned and _is_surplus(item, executor.defined)]
    return Comparison(changes, surplus, failures, warnings)


def _is_surplus(item: Item, defined: Sequence[tuple[str, ...]] | set[tuple[str, ...]]) -> bool:
    is_own = item.kind == QueueManagerAttributes.kind or item.name.startswith(_SYSTEM)
    return not is_own and item.disposition != "COPY" and not is_dynamic(item) and item.identity not in defined
