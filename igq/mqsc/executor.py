"""Runs MQSC commands on the repository and writes what ``runmqsc`` would write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TextIO, cast

from igq.mqsc import messages
from igq.mqsc.actions import authority, backup, channels, command_server, displays, named_objects, topics
from igq.mqsc.actions.connections import display_connections, stop_connection
from igq.mqsc.actions.in_doubt import resolve_in_doubt
from igq.mqsc.actions.move import move_queue
from igq.mqsc.actions.scope import EVERYWHERE, run_everywhere, scope_of, without_scope
from igq.mqsc.inertness import inert_warnings
from igq.mqsc.language.attribute_values import find_parameter, read_choice, read_flag, read_values
from igq.mqsc.language.lines import CommandText, split_commands
from igq.mqsc.language.parser import Command, MqscSyntaxError, UnsupportedCommandError, parse_command
from igq.mqsc.leniency import pass_over
from igq.operations.command_log import note_refresh
from sharedq.admin.backup.errors import BackupError
from sharedq.display.text import visible
from sharedq.members.event_notes import Giver
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import NAMED_OBJECTS, Repository
from sharedq.objects.store.finder import Chosen

#: Exit statuses of a run.
DONE, COMMAND_FAILED, COULD_NOT_RUN = 0, 10, 20

_SCOPES = ("QMGR", "COPY", "GROUP", "SHARED")


class ManagerControl(Protocol):
    """Starts and stops queue managers for START QMGR and STOP QMGR, and knows which are running."""

    def is_running(self, qmgr: str) -> bool:
        """Whether the manager takes commands. Raises MQIError: Redis cannot be reached."""

    def start(self, qmgr: str) -> None:
        """Start the manager. Raises MQIError if that fails."""

    def stop(self, qmgr: str, mode: str) -> None:
        """Stop the manager. *mode* is QUIESCE, FORCE or RESTART. Raises MQIError if that fails."""


class CommandExecutor(Protocol):
    """Does parsed commands, or says what they would do."""

    def execute(self, command: Command) -> list[str]:
        """Return the answer. Raises what `Executor.execute` raises."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one command.

    Attributes:
        lines: what runmqsc would write for it.
        fault: the kind of fault, if it was not done: ``syntax`` or ``failed``.
        is_end: it was END.
        is_passed_over: it does not exist here and was passed over.
        must_stop: its outcome is unknown, so nothing more can be done.
        reason: why the queue manager refused it; 0 if that is not the fault.
        error: the fault.
    """

    lines: list[str]
    fault: Literal["", "syntax", "failed"] = ""
    is_end: bool = False
    is_passed_over: bool = False
    must_stop: bool = False
    reason: int = 0
    error: Exception | None = None

    @property
    def result(self) -> str:
        """How the command ended, in one line."""
        if not self.fault:
            return "passed over" if self.is_passed_over else "done"
        return f"{self.fault}: {self.lines[0]}" if self.lines else self.fault


def run(
    lines: Iterable[str],
    repository: Repository,
    out: TextIO,
    *,
    control: ManagerControl | None = None,
    is_listed: bool = True,
    is_lenient: bool = False,
    executor: CommandExecutor | None = None,
    completed: str = messages.NORMAL,
    on_command: Callable[[str], Callable[[str], None]] = lambda _: lambda _: None,
) -> int:
    """Run every command of *lines*. Write the answers, and the counts at the end.

    A failed command does not stop those after it, but one whose outcome is unknown, because the connection broke, does.
    After the manager has ended, by STOP QMGR or otherwise, no command is processed.

    Args:
        lines: the input, line by line. No more of it is read than the current command needs.
        repository: that of the manager that the commands are for.
        out: where to write the answers.
        control: does START QMGR and STOP QMGR. Without it both are refused, and the manager counts as running.
        is_listed: whether to repeat each command before its answer (not on a terminal).
        is_lenient: whether to pass over, with a warning, what IBM MQ has and igq does not.
        executor: does the commands instead of an `Executor` on *repository*.
        completed: the message after a command that was done.
        on_command: called before each command with its text; what it returns is called with the result, in one line.

    Returns:
        0, every command was done; 10, one failed or was not understood; 20, the run had to stop.
    """
    counts: Counter[str] = Counter()
    commands = Commands(executor or Executor(repository, control), repository, control, is_lenient, completed)
    for source in split_commands(lines):
        end = on_command(source.text)
        answer = commands.answer(source)
        counts["read"] += not answer.is_end
        if is_listed:
            _list(source, counts["read"] + answer.is_end, out)
        if answer.is_end:
            break
        counts[answer.fault] += 1
        counts["passed over"] += answer.is_passed_over
        _write(answer.lines, out)
        end(answer.result)
        if answer.must_stop:
            return COULD_NOT_RUN
    _summarize(counts, out)
    return COMMAND_FAILED if counts["syntax"] or counts["failed"] else DONE


class Commands:
    """Answers commands one by one. The arguments are those of `run`."""

    def __init__(
        self,
        executor: CommandExecutor,
        repository: Repository,
        control: ManagerControl | None = None,
        is_lenient: bool = False,
        completed: str = messages.NORMAL,
    ) -> None:
        self._executor, self._repository, self._control = executor, repository, control
        self._is_lenient, self._completed = is_lenient, completed

    def answer(self, source: CommandText) -> Answer:
        """Do one command."""
        try:
            command = parse_command(source)
        except MqscSyntaxError as error:
            return Answer(messages.syntax_failure(error), "syntax")
        except UnsupportedCommandError as error:
            if self._is_lenient:
                line = messages.COMMAND_PASSED_OVER.format(error.line, error, "the command is not supported here")
                return Answer([line], is_passed_over=True)
            return Answer([messages.NOT_SUPPORTED.format(error)], "failed")
        return Answer([], is_end=True) if command.verb == "END" else self.answer_parsed(command)

    def answer_parsed(self, command: Command) -> Answer:
        """Do one command that is not END."""
        warnings: list[str] = []
        answer = self._do(command, warnings)
        return replace(answer, lines=[*warnings, *answer.lines])

    def _do(self, command: Command, warnings: list[str]) -> Answer:
        what = f"{command.verb} {_subject(command, self._repository)}"
        try:
            if self._control is not None and not self._control.is_running(self._repository.qmgr or ""):
                stopped = messages.STOPPED.format(self._repository.qmgr, what)
                return Answer([stopped], "failed", reason=int(MQRC.Q_MGR_NOT_AVAILABLE))
            lines = self._execute(command, warnings)
            if lines is None:
                return Answer([], is_passed_over=True)
            return Answer([*lines, self._completed.format(what)])
        except MqscSyntaxError as error:
            return Answer(messages.syntax_failure(error), "syntax", error=error)
        except ValueError as error:
            return Answer([messages.value_failure(command.line, error)], "syntax", error=error)
        except messages.PartlyDoneError as error:
            lines = [*error.lines, messages.ABNORMAL.format(what)]
            return Answer(lines, "failed", must_stop=error.is_outcome_unknown, reason=error.reason, error=error)
        except BackupError as error:
            return Answer([str(error), messages.ABNORMAL.format(what)], "failed", error=error)
        except MQIError as error:
            lines = [messages.failure(_subject(command, self._repository), error), messages.ABNORMAL.format(what)]
            is_lost = error.reason == MQRC.CONNECTION_BROKEN
            return Answer(lines, "failed", must_stop=is_lost, reason=int(error.reason), error=error)

    def _execute(self, command: Command, warnings: list[str]) -> list[str] | None:
        """Do *command*, maybe without parameters that do not exist here. None: all of it was passed over.

        A syntax error means that nothing was done, so the rest of the command can be tried.
        """
        while True:
            try:
                lines = self._executor.execute(command)
                warnings += inert_warnings(command)
                return lines
            except MqscSyntaxError as error:
                passed = pass_over(command, error) if self._is_lenient else None
                if passed is None:
                    raise
                warnings.append(passed.warning)
                if passed.rest is None:
                    return None
                command = passed.rest


class Executor:
    """Executes parsed commands one at a time, each as a whole or not at all, except RESOLVE INDOUBT for several."""

    def __init__(self, repository: Repository, control: ManagerControl | None = None) -> None:
        self._repository = repository
        self._control = control

    def execute(self, command: Command) -> list[str]:
        """Do what *command* says. Returns the answer that precedes the completion message.

        Raises:
            MqscSyntaxError: a parameter is not valid for this command.
            ValueError: an attribute cannot have the value.
            MQIError, BackupError: the command could not be processed.
            PartlyDoneError: only a part was processed.
        """
        scope = scope_of(command, self._repository)
        if scope == EVERYWHERE:
            rest = without_scope(command)
            return run_everywhere(command, self._repository, lambda at: type(self)(at).execute(rest))
        if scope != (self._repository.qmgr or ""):
            return type(self)(self._repository.at(scope)).execute(without_scope(command))
        handlers: dict[tuple[str, str], Callable[[Command], list[str]]] = {
            ("DEFINE", "CFSTRUCT"): self._define_structure,
            ("ALTER", "CFSTRUCT"): self._alter_structure,
            ("DELETE", "CFSTRUCT"): self._delete_structure,
            ("ALTER", "QMGR"): self._alter_qmgr,
            ("CLEAR", "QLOCAL"): self._clear,
            ("SET", "AUTHREC"): lambda each: authority.set_authority(each, self._repository),
            ("DELETE", "AUTHREC"): lambda each: authority.delete_authority(each, self._repository),
            ("BACKUP", "CFSTRUCT"): lambda each: backup.backup_structure(each, self._repository),
            ("RECOVER", "CFSTRUCT"): lambda each: backup.recover_structure(each, self._repository),
            ("PING", "QMGR"): self._ping,
            ("REFRESH", "QMGR"): self._refresh,
            ("RESET", "QSTATS"): lambda reset: displays.reset_queue_counts(reset, self._repository),
            ("RESOLVE", "INDOUBT"): lambda resolve: resolve_in_doubt(resolve, self._repository),
            ("MOVE", "QLOCAL"): lambda each: move_queue(each, self._repository),
            ("STOP", "CONN"): lambda each: stop_connection(each, self._repository),
            ("START", "CMDSERV"): lambda each: command_server.start_command_server(each, self._repository),
            ("START", "CHANNEL"): lambda each: channels.start_channel(each, self._repository),
            ("STOP", "CHANNEL"): lambda each: channels.stop_channel(each, self._repository),
            ("START", "LISTENER"): lambda each: channels.start(each, self._repository),
            ("STOP", "LISTENER"): lambda each: channels.stop(each, self._repository),
            ("STOP", "CMDSERV"): lambda each: command_server.stop_command_server(each, self._repository),
            ("START", "QMGR"): self._start,
            ("STOP", "QMGR"): self._stop,
        }
        if command.verb == "DISPLAY":
            return _DISPLAYS[command.object_type](command, self._repository)
        special = {**topics.COMMANDS, **named_objects.COMMANDS}.get((command.verb, command.object_type))
        if special is not None:
            return special(command, self._repository)
        handler = handlers.get((command.verb, command.object_type))
        if handler is None:
            by_verb = {"DEFINE": self._define_queue, "ALTER": self._alter_queue, "DELETE": self._delete_queue}
            handler = by_verb[command.verb]
        return handler(command)

    def _define_queue(self, command: Command) -> list[str]:
        model = QUEUE_KINDS[command.object_type]
        options = ("LIKE", "REPLACE", "NOREPLACE", "QSGDISP", "CMDSCOPE")
        values = read_values(command, model, options)
        values["name"] = command.name
        disposition = read_choice(command, "QSGDISP", _SCOPES, "")
        if disposition:
            values["disposition"] = disposition
        like = find_parameter(command, "LIKE")
        definition = parse_definition(model, values)
        is_replace = read_flag(command, "REPLACE", "NOREPLACE")
        self._repository.define(definition, replace=is_replace, like=like.value if like else None)
        return []

    def _alter_queue(self, command: Command) -> list[str]:
        values = read_values(command, QUEUE_KINDS[command.object_type], ("QSGDISP", "FORCE", "CMDSCOPE"))
        self._repository.alter(command.object_type, command.name, values, self._chosen(command))
        return []

    def _delete_queue(self, command: Command) -> list[str]:
        options = ("QSGDISP", "CMDSCOPE", *(("PURGE", "NOPURGE") if command.object_type == "QLOCAL" else ()))
        command.check_keywords(options)
        is_purge = read_flag(command, "PURGE", "NOPURGE")
        self._repository.delete(command.object_type, command.name, disposition=self._chosen(command), purge=is_purge)
        return []

    def _clear(self, command: Command) -> list[str]:
        command.check_keywords(("QSGDISP", "CMDSCOPE"))
        scope = read_choice(command, "QSGDISP", ("PRIVATE", "SHARED"), "")
        self._repository.clear(command.name, disposition=cast(Chosen, scope) if scope else None)
        return []

    def _alter_qmgr(self, command: Command) -> list[str]:
        values = read_values(command, QueueManagerAttributes, ("FORCE", "CMDSCOPE"))
        self._repository.alter_qmgr(self._repository.qmgr or "", values)
        return []

    def _ping(self, command: Command) -> list[str]:
        command.check_keywords(("CMDSCOPE",))
        return []

    def _refresh(self, command: Command) -> list[str]:
        command.check_keywords(("TYPE", "OBJECT", "NAME", "CMDSCOPE"))
        if not read_choice(command, "TYPE", ("CONFIGEV",), ""):
            raise MqscSyntaxError(command.line, command.shown, "TYPE(CONFIGEV)")
        others = (QueueManagerAttributes.kind, CFStruct.kind, Topic.kind, *NAMED_OBJECTS)
        kinds = ("ALL", "QUEUE", *QUEUE_KINDS, *others)
        wanted = read_choice(command, "OBJECT", kinds, "ALL")
        name = find_parameter(command, "NAME")
        repository, qmgr = self._repository, self._repository.qmgr or ""
        if repository.qmgr_attributes(qmgr).configuration_event != "ENABLED":
            raise error_for(MQRC.FUNCTION_NOT_SUPPORTED, "", qmgr, "CONFIGEV(DISABLED): no such events are written")
        note_refresh(repository.group, qmgr, wanted, name.value if name else "*", repository.giver or Giver())
        return []

    def _define_structure(self, command: Command) -> list[str]:
        values = read_values(command, CFStruct, ("LIKE", "REPLACE", "NOREPLACE"))
        like = find_parameter(command, "LIKE")
        if like is not None:
            base = next((each for each in self._repository.structures() if each.name == like.value), None)
            if base is None:
                raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", like.value, f"there is no CFSTRUCT({like.value})")
            values = base.model_dump(exclude={"name", "description", *CFStruct.dates}) | values
        structure = parse_definition(CFStruct, values | {"name": command.name})
        self._repository.define_structure(structure, replace=read_flag(command, "REPLACE", "NOREPLACE"))
        return []

    def _alter_structure(self, command: Command) -> list[str]:
        self._repository.alter_structure(command.name, read_values(command, CFStruct, ()))
        return []

    def _delete_structure(self, command: Command) -> list[str]:
        command.check_keywords(())
        self._repository.delete_structure(command.name)
        return []

    def _start(self, command: Command) -> list[str]:
        command.check_keywords(())
        self._controlled().start(self._repository.qmgr or "")
        return []

    def _stop(self, command: Command) -> list[str]:
        command.check_keywords(("MODE",))
        mode = read_choice(command, "MODE", ("QUIESCE", "FORCE", "RESTART"), "QUIESCE")
        self._controlled().stop(self._repository.qmgr or "", mode)
        return []

    def _controlled(self) -> ManagerControl:
        if self._control is None:
            detail = "managers cannot be started and stopped from here"
            raise error_for(MQRC.FUNCTION_NOT_SUPPORTED, "", self._repository.qmgr or "", detail)
        return self._control

    def _chosen(self, command: Command) -> Chosen | None:
        scope = read_choice(command, "QSGDISP", (*_SCOPES, "PRIVATE"), "")
        return cast(Chosen, scope) if scope else None


_DISPLAYS: dict[str, Callable[[Command, Repository], list[str]]] = {
    **dict.fromkeys(("QUEUE", *QUEUE_KINDS), displays.display_queue),
    "QMGR": displays.display_qmgr,
    "QSTATUS": displays.display_queue_status,
    "CFSTRUCT": displays.display_structure,
    "CFSTATUS": backup.display_structure_status,
    **dict.fromkeys(("SMDS", "SMDSCONN"), backup.display_data_sets),
    "GROUP": displays.display_group,
    "QMSTATUS": displays.display_qmgr_status,
    "CMDSERV": command_server.display_command_server,
    "CHSTATUS": channels.display_channel_status,
    "LSSTATUS": channels.display_listener_status,
    "CONN": display_connections,
    "THREAD": displays.display_thread,
    "AUTHREC": authority.display_authority,
    **topics.DISPLAYS,
    **dict.fromkeys(NAMED_OBJECTS, named_objects.display_named),
}


def _subject(command: Command, repository: Repository) -> str:
    if command.object_type in ("QMGR", "QMSTATUS", "GROUP"):
        scope = find_parameter(command, "CMDSCOPE")
        where = scope.value.strip() if scope else ""
        return command.object_type if where == EVERYWHERE else f"{command.object_type} {where or repository.qmgr}"
    named = find_parameter(command, "PROFILE") if command.object_type == "AUTHREC" else None
    name = named.value if named else command.name
    return f"{command.object_type}({name})" if name else command.object_type


#: A tab separates words and is the only control character that is printed as it is.
_TAB = "\t"


def _list(source: CommandText, number: int, out: TextIO) -> None:
    for position, line in enumerate(source.lines):
        out.write(f"{number if position == 0 else '':>6} : {visible(line, keep=_TAB)}\n")


def _write(lines: Iterable[str], out: TextIO) -> None:
    for line in lines:
        out.write(visible(line, keep=_TAB) + "\n")
    out.flush()


def _summarize(counts: Counter[str], out: TextIO) -> None:
    def commands(count: int) -> str:
        return f"{count or 'No'} MQSC command{'s' if count != 1 else ''}"

    _write(
        [
            f"{commands(counts['read'])} read.",
            f"{commands(counts['syntax'])} with a syntax error.",
            *([f"{commands(counts['passed over'])} passed over."] if counts["passed over"] else []),
            f"{commands(counts['failed'])} could not be processed."
            if counts["failed"]
            else "All valid MQSC commands were processed.",
        ],
        out,
    )
