"""CMDSCOPE: a command runs at another member of the group, or at every active one.

Source: IBM MQ for z/OS, "Directing commands to different queue managers"; CSQN121I, CSQN122I, CSQN123E.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter
from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import Command, MqscSyntaxError, UnsupportedCommandError, parse_command
from igq.operations.shutdown import UP, has_lease
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository

#: All active members.
EVERYWHERE = "*"
#: Verbs whose commands are for one member, and objects that the members share.
_FOR_ONE = ("MOVE", "CLEAR", "RESOLVE", "BACKUP", "RECOVER", "START", "STOP")
_OF_THE_GROUP = ("CFSTRUCT", "CFSTATUS", "GROUP", "AUTHREC")


def scope_of(command: Command, repository: Repository) -> str:
    """Return the manager at which *command* runs, or `EVERYWHERE`.

    Raises:
        MqscSyntaxError: CMDSCOPE names no member, or this command cannot run at all of them.
    """
    here = repository.qmgr or ""
    scope = find_parameter(command, "CMDSCOPE")
    named = scope.value.strip() if scope is not None else ""
    if scope is None or named in ("", here):
        return here
    if named == EVERYWHERE:
        disposition = find_parameter(command, "QSGDISP")
        is_shared = command.verb != "DISPLAY" and disposition is not None and disposition.value in ("GROUP", "SHARED")
        if command.verb in _FOR_ONE or command.object_type in _OF_THE_GROUP or is_shared:
            raise command.error(scope, "CMDSCOPE(' '): this is done once for the group, or at one queue manager")
        return named
    if repository.group.member(named) is None:
        raise command.error(scope, "CMDSCOPE(' '), CMDSCOPE(*) or CMDSCOPE(a queue manager of the group)")
    return named


def managers_of(text: str, repository: Repository) -> list[str]:
    """Return the managers that CMDSCOPE of a command names; none where it has none, or is wrong."""
    if "CMDSCOPE" not in text.upper():
        return []
    try:
        scopes = [scope_of(parse_command(source), repository) for source in split_commands([text])]
    except (MqscSyntaxError, UnsupportedCommandError):
        return []
    return [each for scope in scopes for each in (active_members(repository) if scope == EVERYWHERE else [scope])]


def active_members(repository: Repository) -> list[str]:
    """Return the managers of CMDSCOPE(*): those that are running, the repository's own first."""
    group = repository.group
    active = [member.name for member in group.members() if member.state in UP and has_lease(group, member)]
    return sorted(active, key=lambda each: (each != repository.qmgr, each))


def without_scope(command: Command) -> Command:
    """Return the command without its CMDSCOPE."""
    return replace(command, parameters=tuple(each for each in command.parameters if each.keyword != "CMDSCOPE"))


def run_everywhere(command: Command, repository: Repository, execute: Callable[[Repository], list[str]]) -> list[str]:
    """Run a command at each active member. One set of answers for each, with its own completion.

    Raises:
        MqscSyntaxError, ValueError: of the first member: the command is wrong.
        PartlyDoneError: it could not be processed at some members.
    """
    what = f"'{command.verb} {command.object_type}'"
    lines: list[str] = []
    #: Reasons, 0 where no reason code says why.
    failed: list[int] = []
    for position, name in enumerate(active_members(repository)):
        lines.append(messages.RESPONSES.format(what, name))
        subject = f"{command.verb} {command.object_type}{f'({command.name})' if command.name else ''}"
        try:
            lines += [*execute(repository.at(name)), messages.NORMAL.format(subject)]
        except (MqscSyntaxError, ValueError):
            if not position:
                raise
            failed.append(0)
            lines.append(messages.ABNORMAL.format(subject))
        except messages.PartlyDoneError as error:
            failed.append(error.reason)
            lines += [*error.lines, messages.ABNORMAL.format(subject)]
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            failed.append(int(error.reason))
            lines += [
                messages.failure(f"{command.object_type}({command.name})", error),
                messages.ABNORMAL.format(subject),
            ]
    if failed:
        raise messages.PartlyDoneError([*lines, messages.SCOPE_ABNORMAL.format(what, EVERYWHERE)], failed[0])
    return [*lines, messages.SCOPE_NORMAL.format(what, EVERYWHERE)]
