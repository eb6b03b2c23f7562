"""The question before a command by which something is lost. It names what is lost."""

from __future__ import annotations

from collections.abc import Callable

from igq.mqsc.actions.scope import EVERYWHERE, scope_of
from igq.mqsc.language.parser import Command, MqscSyntaxError
from igq.web.console.actions.places import depth_of
from sharedq.members.group import Group
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.repository import Repository


def question_of(group: Group, qmgr: str, command: Command) -> str:
    """Return the question before a command at *qmgr*; empty: nothing is lost by it."""
    ask = _QUESTIONS.get((command.verb, command.object_type)) or _OF_VERB.get(command.verb)
    if ask is not None:
        return ask(group, qmgr, command)
    return f"{command.shown}: messages may be deleted" if _has(command, "PURGE") else ""


def _clear(group: Group, qmgr: str, command: Command) -> str:
    return f"CLEAR {command.name}: {_messages(group, qmgr, command)} deleted"


def _clear_topic(_: Group, _qmgr: str, command: Command) -> str:
    return f"CLEAR {command.name}: the retained publication of this topic string is deleted"


def _delete(group: Group, qmgr: str, command: Command) -> str:
    subject = command.name or " ".join(each.value for each in command.parameters)
    if command.object_type == "QLOCAL" and _has(command, "PURGE"):
        return f"DELETE {subject}: the queue is deleted; {_messages(group, qmgr, command)} deleted with it"
    if command.object_type in QUEUE_KINDS:
        return f"DELETE {subject}: the queue is deleted"
    return f"DELETE {subject}: the {command.object_type} is deleted"


def _recover(_: Group, _qmgr: str, command: Command) -> str:
    if _has(command, "PURGE"):
        return f"RECOVER {command.name}: the structure becomes empty, all of its messages are deleted"
    return f"RECOVER {command.name}: its messages become those of its latest backup and log"


def _resolve(_: Group, _qmgr: str, command: Command) -> str:
    how = next((each.value for each in command.parameters if each.keyword == "ACTION"), "")
    unit = next((each.value for each in command.parameters if each.keyword == "NID"), "")
    what = f"the unit of work {unit}" if unit.strip("* ") else f"all units of work of {command.name}"
    return f"RESOLVE: {how} of {what} is final, and the coordinator is not asked"


def _stop(_: Group, qmgr: str, command: Command) -> str:
    if command.object_type == "CONN":
        return f"STOP {command.name}: the connection ends, and the work that it has not committed is backed out"
    if command.object_type == "QMGR":
        how = "at once" if _has(command, "FORCE") else "as soon as its programs have disconnected"
        return f"STOP QMGR: {qmgr} stops {how}"
    return "" if command.object_type == "CMDSERV" else f"STOP {command.name}: no client can come by it"


def _messages(group: Group, qmgr: str, command: Command) -> str:
    try:
        scope = scope_of(command, Repository(group, qmgr))
    except MqscSyntaxError:
        # The command fails, and says why.
        scope = EVERYWHERE
    count = None if scope == EVERYWHERE else depth_of(group, scope or qmgr, command.name)
    if count is None:
        return "its messages are"
    return f"{count:,} {'message is' if count == 1 else 'messages are'}"


def _has(command: Command, word: str) -> bool:
    """Whether a word stands alone, or as the value of TYPE or MODE. Others may have it in a description."""
    return any(
        each.keyword == word or (each.keyword in ("TYPE", "MODE") and word in (each.values or ()))
        for each in command.parameters
    )


_Ask = Callable[[Group, str, Command], str]
_QUESTIONS: dict[tuple[str, str], _Ask] = {
    ("CLEAR", "QLOCAL"): _clear,
    ("CLEAR", "TOPICSTR"): _clear_topic,
}
_OF_VERB: dict[str, _Ask] = {"DELETE": _delete, "RECOVER": _recover, "RESOLVE": _resolve, "STOP": _stop}
