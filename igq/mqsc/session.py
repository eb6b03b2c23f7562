"""An MQSC session with one manager of the group: finds the manager, runs commands, starts, stops and wakes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from igq.agent.progress.sleep import wake_agent, wake_movers
from igq.errors import CommandError
from igq.mqsc.actions.scope import managers_of
from igq.mqsc.executor import Answer, Commands, Executor, run
from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import Command
from igq.mqsc.language.words import words_of
from igq.operations.command_log import CommandNote
from igq.operations.shutdown import STOP_TIMEOUT_S, UP, require_running, stop_manager
from sharedq.members.event_notes import Giver
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.constants.pcf import PCFCommand
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.configuration_notes import noting
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import AnyQueue, QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.store.directory import parse_attributes
from sharedq.objects.store.finder import Chosen
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings


def run_session(
    settings: Settings, qmgr: str, lines: Iterable[str] | None, out: TextIO, *, is_lenient: bool = False
) -> int:
    """Run the commands in *lines* for the running manager *qmgr*, as `run` does. Returns 0, 10 or 20.

    Args:
        lines: None: a person types them after a prompt.

    Raises:
        CommandError: there is no such manager, or it is not running.
        DeploymentError, MQIError: Redis cannot be used.
    """
    with _joined(settings, qmgr) as (repository, control):
        is_terminal = lines is None
        return run(
            _prompted(sys.stdin, out) if lines is None else lines,
            repository,
            out,
            control=control,
            is_listed=not is_terminal,
            is_lenient=is_lenient,
            on_command=noted_for(repository),
        )


def noted_for(
    repository: SessionRepository, may_note: Callable[[], bool] = lambda: True
) -> Callable[[str], Callable[[str], None]]:
    """Return what is called with a command that begins, and returns what is called with its result: it is noted.

    Args:
        may_note: as for `CommandNote`.
    """

    def begin(text: str) -> Callable[[str], None]:
        repository.begin_command()
        words, runs_at = words_of(text), managers_of(text, repository)
        # DISPLAY of one kind of queue is the inquiry of all kinds.
        number = 0 if words is None else words.number or PCFCommand.INQUIRE_Q
        is_display = words is not None and words.verb == "DISPLAY"
        note = CommandNote(
            repository.group,
            repository.qmgr or "",
            text,
            repository.giver,
            runs_at=runs_at,
            number=int(number),
            is_display=is_display,
            may_note=may_note,
            attributes=repository.attributes,
        )
        return note.end

    return begin


def answer_commands(
    settings: Settings,
    qmgr: str,
    commands: str | Command,
    check: Callable[[Command], None],
    giver: Giver,
    may_note: Callable[[], bool] = lambda: True,
) -> list[Answer]:
    """Do commands for the running manager *qmgr*: all in a text, or one that is parsed.

    Args:
        check: called with each command before it is done. It raises MQIError for one that must not be.
        giver: the user that they are noted for, and that their events name.
        may_note: as for `CommandNote`.

    Raises:
        As `run_session`.
    """
    with _joined(settings, qmgr, giver) as (repository, control):
        executor = Commands(_Checked(Executor(repository, control), check), repository, control)
        begin = noted_for(repository, may_note)
        if isinstance(commands, Command):
            end = begin(commands.shown)
            answers = [executor.answer_parsed(commands)]
            end(answers[0].result)
            return answers
        answers = []
        for source in split_commands(io.StringIO(commands)):
            end = begin(source.text)
            answer = executor.answer(source)
            if answer.is_end:
                break
            end(answer.result)
            answers.append(answer)
            if answer.must_stop:
                break
        return answers


class _Checked:
    """Does commands that are allowed."""

    def __init__(self, executor: Executor, check: Callable[[Command], None]) -> None:
        self._executor, self._check = executor, check

    def execute(self, command: Command) -> list[str]:
        self._check(command)
        return self._executor.execute(command)


@contextmanager
def _joined(settings: Settings, qmgr: str, giver: Giver | None = None) -> Iterator[tuple[SessionRepository, _Control]]:
    group = Group(settings)
    try:
        require_running(group, qmgr)
        group.adopt(group.read_record())
        repository = SessionRepository(group, qmgr, giver=giver)
        yield repository, _Control(settings, repository)
    finally:
        group.leave()


class SessionRepository(Repository):
    """Definitions, and the wake-up of the agents and movers that depend on them.

    Attributes:
        attributes: those of the manager as the present command has found them; None if they were not read.
        is_up: whether the command has found the manager up. If not, it may be up all the same.
    """

    attributes: QueueManagerAttributes | None = None
    is_up = False
    #: Of the lease that is looked at as a command begins.
    _token = ""
    #: Structures whose movers were looked after in this session.
    _with_parts: frozenset[str] = frozenset()

    def begin_command(self) -> None:
        """Read what the next command asks of its manager, in one round trip. Where Redis is away, nothing is known."""
        self.attributes, self.is_up = None, False
        with suppress(MQIError, DeploymentError):
            member, left_ms, text = self.group.standing(self.qmgr or "", self._token)
            self.attributes = parse_attributes(text) if text else None
            if member is not None:
                self.is_up = member.token == self._token and member.state in UP and (left_ms or 0) > 0
                self._token = member.token

    def attributes_before(self, qmgr: str) -> QueueManagerAttributes:
        """Return the attributes as the present command has found them."""
        return self.attributes if self.attributes and qmgr == self.qmgr else super().attributes_before(qmgr)

    def alter(self, kind: str, name: str, changes: Mapping[str, Any], disposition: Chosen | None = None) -> None:
        with noting(self, "change", kind, name, disposition):
            super().alter(kind, name, changes, disposition)
        self._wake_movers(kind, everywhere="usage" in changes and disposition != "QMGR")

    def define(self, definition: AnyQueue, *, replace: bool = False, like: str | None = None) -> None:
        with noting(self, "create", definition.kind, definition.name, definition.disposition):
            super().define(definition, replace=replace, like=like)
        if not isinstance(definition, QueueLocal):
            return
        is_served = definition.usage == "XMITQ"
        is_new = definition.disposition == "SHARED" and definition.structure not in self._with_parts
        self._with_parts |= {definition.structure}
        is_first = is_new and self.lacks_transmit_parts(definition.structure)
        # A wake-up makes the movers list every queue, which thousands of ordinary definitions in a row must not do.
        if is_first or is_served or replace or like:
            is_for_all = is_first or (is_served and definition.disposition != "QMGR")
            self._wake_movers(definition.kind, everywhere=is_for_all)

    def delete(self, kind: str, name: str, *, disposition: Chosen | None = None, purge: bool = False) -> None:
        with noting(self, "delete", kind, name, disposition):
            super().delete(kind, name, disposition=disposition, purge=purge)
        self._wake_movers(kind, everywhere=False)

    def delete_structure(self, name: str) -> None:
        self._with_parts -= {name}
        try:
            with noting(self, "delete", CFStruct.kind, name):
                super().delete_structure(name)
        finally:
            # Refused or not: movers and agents may have been told that the structure is gone.
            self._wake_movers(QueueLocal.kind, everywhere=True)

    def define_structure(self, structure: CFStruct, *, replace: bool = False) -> None:
        with noting(self, "create", structure.kind, structure.name):
            super().define_structure(structure, replace=replace)

    def alter_structure(self, name: str, changes: Mapping[str, Any]) -> None:
        with noting(self, "change", CFStruct.kind, name):
            super().alter_structure(name, changes)

    def _wake_movers(self, kind: str, *, everywhere: bool) -> None:
        """Make movers look at the new definition of a local queue: this manager's movers, or those of all managers."""
        if self.qmgr is None or kind != QueueLocal.kind:
            return
        running = {member.name for member in self.group.members() if member.state in UP} if everywhere else set()
        for qmgr in sorted(running | {self.qmgr}):
            wake_movers(self.group, qmgr)

    def alter_qmgr(self, qmgr: str, changes: Mapping[str, Any]) -> QueueManagerAttributes:
        with noting(self, "change", QueueManagerAttributes.kind, qmgr):
            attributes = super().alter_qmgr(qmgr, changes)
        if changes.get("igq") == "ENABLED":
            # IBM: with this an operator gets an agent out of its state of retry.
            wake_agent(self.group, qmgr, by_operator=True)
        return attributes


class _Control:
    """START QMGR and STOP QMGR."""

    def __init__(self, settings: Settings, repository: SessionRepository) -> None:
        self._settings, self._repository = settings, repository

    def is_running(self, qmgr: str) -> bool:
        """Whether the manager is up. If not, it does not matter who stopped it."""
        if self._repository.is_up and qmgr == self._repository.qmgr:
            return True
        try:
            require_running(self._repository.group, qmgr)
        except CommandError:
            return False
        return True

    def start(self, qmgr: str) -> None:
        """Refuse: a manager that takes commands is already running."""
        raise error_for(MQRC.FUNCTION_NOT_SUPPORTED, "", qmgr, "it is already running")

    def stop(self, qmgr: str, mode: str) -> None:
        """Stop the manager and wait for its end."""
        try:
            stop_manager(self._settings, qmgr, is_immediate=mode != "QUIESCE", timeout_s=STOP_TIMEOUT_S)
        except CommandError as error:
            raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", qmgr, str(error)) from error


def _prompted(source: TextIO, out: TextIO) -> Iterator[str]:
    while True:
        out.write("> ")
        out.flush()
        line = source.readline()
        if not line:
            sys.stdout.write("\n")
            return
        yield line
