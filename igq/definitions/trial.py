"""A dry run: the real commands, on a copy of the definitions, and what they would change, attribute by attribute."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from igq.definitions.catalog import AUTHORITY, Item, is_dynamic, read_catalog, read_named
from igq.mqsc import messages
from igq.mqsc.actions.scope import EVERYWHERE
from igq.mqsc.executor import Commands, Executor, run
from igq.mqsc.language.attribute_values import find_parameter
from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import Command
from igq.operations.shutdown import require_running
from igq.output.plural import counted
from sharedq.admin.definitions_copy import copied_definitions
from sharedq.members.group import Group
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import NAMED_OBJECTS, Repository
from sharedq.settings.values import Settings

_INDENT = "   "
#: Objects that igq defines by itself; a file need not have them.
_SYSTEM = "SYSTEM."
_CHANGES = ("DEFINE", "ALTER", "DELETE", "SET")
#: DISPLAY shows these from the copy, with the changes of the commands before it.
_IN_COPY = (
    "QUEUE",
    *QUEUE_KINDS,
    QueueManagerAttributes.kind,
    CFStruct.kind,
    AUTHORITY,
    "GROUP",
    Topic.kind,
    Subscription.kind,
    *NAMED_OBJECTS,
)


@dataclass(frozen=True, slots=True)
class Change:
    """An object before and after a change. None: it was not there, or is no longer."""

    before: Item | None
    after: Item | None

    @property
    def lines(self) -> list[str]:
        """The change as text: the object, then a line for each attribute."""
        if self.after is None:
            return [] if self.before is None else [f"delete {self.before.title}"]
        attributes = self.after.shown()
        if self.before is None:
            usual = _defaults(self.after)
            new = [text for keyword, text in attributes.items() if usual.get(keyword) != text]
            return [f"define {self.after.title}", *(f"{_INDENT}{text}" for text in new)]
        former = self.before.shown()
        return [
            f"alter {self.after.title}",
            *(
                f"{_INDENT}{former.get(keyword, '(none)')} -> {text}"
                for keyword, text in attributes.items()
                if former.get(keyword) != text
            ),
        ]


def differences(before: Iterable[Item], after: Iterable[Item]) -> list[Change]:
    """Return the changes from one state to the other: first what is new or changed, then what is gone."""
    former = {item.identity: item for item in before}
    found = []
    for item in after:
        known = former.pop(item.identity, None)
        if known is None or not known.is_same_as(item):
            found.append(Change(known, item))
    return [*found, *(Change(item, None) for item in former.values())]


def _defaults(item: Item) -> dict[str, str]:
    if not isinstance(item.definition, ObjectDefinition):
        return {}
    default = type(item.definition).model_construct(name=item.name)
    return Item(item.kind, item.name, default).shown()


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


def run_trial(
    settings: Settings, qmgr: str, lines: Iterable[str] | None, out: TextIO, *, is_lenient: bool = False
) -> int:
    """Say what the commands in *lines* would do at the running manager *qmgr*. Returns 0 or 10, as `run` does.

    Args:
        lines: None: standard input.

    Raises:
        CommandError: there is no such manager, or it is not running.
        DeploymentError, MQIError: Redis cannot be used, or the server for the copy cannot be started.
    """
    group = Group(settings)
    try:
        require_running(group, qmgr)
        group.adopt(group.read_record())
        with copied_definitions(group) as copy:
            repository = Repository(copy, qmgr)
            executor = TrialExecutor(repository, Repository(group, qmgr))
            completed = messages.WOULD_COMPLETE
            return run(
                sys.stdin if lines is None else lines,
                repository,
                out,
                executor=executor,
                is_lenient=is_lenient,
                completed=completed,
            )
    finally:
        group.leave()


class TrialExecutor:
    """Executes commands on a copy, and answers with what changes there.

    Commands on messages, units of work and managers are not tried: they work on what the copy does not have.

    Args:
        copy: the definitions that are changed.
        original: those that are in force; for displays of what the copy does not have.
        is_silent: do not look up and say what each command changes.
    """

    def __init__(self, copy: Repository, original: Repository, *, is_silent: bool = False) -> None:
        self._copy, self._executor, self._original = copy, Executor(copy), Executor(original)
        self._is_silent = is_silent
        #: The identities of the objects that commands have defined, altered or set.
        self.defined: set[tuple[str, ...]] = set()

    def execute(self, command: Command) -> list[str]:
        """Try one command. Raises what `Executor.execute` raises."""
        if command.verb == "DISPLAY":
            if self._is_silent:
                return []
            chosen = self._executor if command.object_type in _IN_COPY else self._original
            return chosen.execute(command)
        if command.verb == "CLEAR" and command.object_type == "QLOCAL":
            return self._clear(command)
        if command.verb not in _CHANGES or _needs_manager(command) or self._manager(command) == EVERYWHERE:
            return [] if self._is_silent else [messages.NOT_TRIED.format(f"{command.verb} {command.object_type}")]
        before = [] if self._is_silent else self._look(command)
        lines = self._executor.execute(command)
        if command.verb != "DELETE":
            self.defined |= self._identities(command)
        if self._is_silent:
            return []
        changes = differences(before, self._look(command))
        found = [
            messages.WOULD_CHANGE.format(line) if number == 0 else line
            for change in changes
            for number, line in enumerate(change.lines)
        ]
        return [*lines, *(found or [messages.WOULD_CHANGE_NOTHING])]

    def _clear(self, command: Command) -> list[str]:
        if self._is_silent:
            return []
        scope = find_parameter(command, "QSGDISP")
        kind = scope.value if scope is not None else "LIVE"
        at = self._copy.at(self._manager(command))
        shown = at.display_queues(command.name, ("QLOCAL",), kind if kind in ("PRIVATE", "SHARED") else "LIVE")
        dropped = sum(queue.state.depth for queue in shown if queue.state is not None)
        lines = self._executor.execute(command)
        return [*lines, messages.WOULD_DROP.format(counted(dropped, "message"), f"QLOCAL({command.name})")]

    def _look(self, command: Command) -> list[Item]:
        return read_named(self._copy.group, command.object_type, self._name(command))

    def _name(self, command: Command) -> str:
        if command.object_type == QueueManagerAttributes.kind:
            return self._manager(command)
        if command.object_type == AUTHORITY:
            profile = find_parameter(command, "PROFILE")
            return profile.value if profile is not None else ""
        return command.name

    def _manager(self, command: Command) -> str:
        scope = find_parameter(command, "CMDSCOPE")
        return (scope.value.strip() if scope is not None else "") or self._copy.qmgr or ""

    def _identities(self, command: Command) -> set[tuple[str, ...]]:
        """Return the identity of the object that a command is about."""
        if command.object_type == AUTHORITY:
            found = (find_parameter(command, keyword) for keyword in ("OBJTYPE", "PRINCIPAL"))
            object_type, principal = (each.value if each is not None else "" for each in found)
            return {(AUTHORITY, self._name(command), object_type, "", principal)}
        if command.object_type in (
            CFStruct.kind,
            *NAMED_OBJECTS,
            QueueManagerAttributes.kind,
            Topic.kind,
            Subscription.kind,
        ):
            return {(command.object_type, command.name, "", "", "")}
        named = find_parameter(command, "QSGDISP")
        scope = named.value if named is not None else ""
        if scope in ("GROUP", "SHARED"):
            return {(command.object_type, command.name, scope, "", "")}
        private = (command.object_type, command.name, "PRIVATE", self._manager(command), "")
        # Without QSGDISP, an ALTER is about the shared queue if there is no private one.
        return {private} if scope or command.verb == "DEFINE" else {private, (*private[:2], "SHARED", "", "")}


def _needs_manager(command: Command) -> bool:
    """Whether a command is done over a connection to the manager: it makes a managed queue."""
    managed = find_parameter(command, "DESTCLAS")
    return command.object_type == Subscription.kind and managed is not None and managed.value == "MANAGED"
