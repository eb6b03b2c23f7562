"""An action: its button, its form, and the plan that it makes of what a user has filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from igq.mqsc.language.parser import Command
from igq.mqsc.language.writing import command_text
from igq.web.access.gate import Refused
from igq.web.access.roles import least_role
from igq.web.access.users import Role
from sharedq.members.event_notes import Giver
from sharedq.settings.values import Settings

#: Characters of a value that a form sends, and of the text of a message.
_LONGEST, _LONGEST_TEXT = 10_240, 100_000

#: The kinds of rows of a view that an action is about; ``queues`` and ``topics``: about a list as a whole.
On = Literal[
    "queues",
    "queue",
    "messages",
    "letters",
    "manager",
    "structure",
    "unit",
    "connection",
    "channel",
    "listener",
    "topics",
    "topic",
    "subscription",
]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form.

    Attributes:
        name: the key under which a form sends its value.
        value: what the form shows at first.
        choices: the values that are possible; empty: any.
        is_text: it takes several lines.
        is_further: it is shown only when the user asks for further fields.
        is_attribute: its value is sent as one of ``attributes``.
    """

    name: str
    label: str
    help: str = ""
    value: str = ""
    choices: tuple[str, ...] = ()
    is_required: bool = False
    is_text: bool = False
    is_further: bool = False
    is_attribute: bool = False


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """How an action of igq ended: lines for the user, and one for the logs."""

    lines: list[str]
    is_done: bool
    result: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The command, or the deed, that an action will do.

    Attributes:
        qmgr: the manager that it is given to.
        text: the command, as a person would give it to ``igq mqsc``, or to a shell.
        command: the command of MQSC. None: *deed* does what MQSC has no command for.
        question: names what is lost; None: what `question_of` says of the command.
        shown: the command for the logs, without what others wrote.
    """

    qmgr: str
    text: str
    command: Command | None = None
    deed: Callable[[Settings, Giver], ActionOutcome] | None = None
    question: str | None = None
    shown: str = ""


class Asked:
    """The values that a form has sent."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told

    def text(self, name: str) -> str:
        """A text that must be there. Raises Refused: 400, it is not."""
        value = self.optional(name)
        if not value:
            raise Refused(400, f"{name} is missing")
        return value

    def optional(self, name: str) -> str:
        """A line of text, or an empty one. Raises Refused: 400, it can be no part of a command."""
        return _line(name, self._told.get(name, ""))

    def lines(self, name: str) -> str:
        """A text of several lines. Raises Refused."""
        value = self._told.get(name, "")
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
            raise Refused(400, f"{name} must be a text of at most {_LONGEST_TEXT} characters")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of some words; without any the first. Raises Refused."""
        value = self.optional(name) or choices[0]
        if value not in choices:
            raise Refused(400, f"{name} is one of {', '.join(filter(None, choices))}")
        return value

    def number(self, name: str, least: int, most: int) -> int:
        """A number; without any the least. Raises Refused."""
        value = self.optional(name) or str(least)
        if not (value.isascii() and value.isdecimal() and len(value) < 10 and least <= int(value) <= most):
            raise Refused(400, f"{name} is a number from {least} to {most}")
        return int(value)

    def attributes(self) -> dict[str, str]:
        """The values of attributes, by keyword. Raises Refused."""
        value = self._told.get("attributes", {})
        if not isinstance(value, dict):
            raise Refused(400, "attributes must be an object")
        return {keyword: _line(keyword, each) for keyword, each in value.items()}

    def has(self, name: str) -> bool:
        """Whether it was sent."""
        return name in self._told

    def list(self, name: str) -> list[Any]:
        """A list. Raises Refused: 400, there is none."""
        value = self._told.get(name)
        if not isinstance(value, list):
            raise Refused(400, f"{name} must be a list")
        return value


def _line(name: str, value: Any) -> str:
    # A command is one line, which the user sees before it runs: so nothing in it may be invisible.
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        raise Refused(400, f"{name} must be a text of one line, without control characters")
    return value


Planner = Callable[[Settings, Asked], Plan]
Form = Callable[[Settings, Asked], Sequence[FormField]]


@dataclass(frozen=True, slots=True)
class Action:
    """An action.

    Attributes:
        text: of its button.
        on: the kind of row that has the button.
        role: the least role that may do it.
        plan: makes a plan of what a form sends. It changes nothing.
        form: the fields for one row.
        is_dangerous: something may be lost.
    """

    name: str
    text: str
    on: On
    role: Role
    plan: Planner
    form: Form = lambda _settings, _asked: ()
    is_dangerous: bool = False

    def described(self) -> dict[str, Any]:
        """The button, for the script of the page."""
        return {"name": self.name, "text": self.text, "on": self.on, "is_dangerous": self.is_dangerous}


def by_command(
    name: str, text: str, on: On, verb: str, plan: Planner, *, form: Form | None = None, is_dangerous: bool = False
) -> Action:
    """Make an action that gives a command with this verb, which says the least role."""
    return Action(name, text, on, least_role(verb), plan, form or (lambda _settings, _asked: ()), is_dangerous)


def commanded(qmgr: str, command: Command, question: str | None = None) -> Plan:
    """Make the plan of a command of MQSC."""
    return Plan(qmgr, command_text(command), command, question=question, shown=command.shown)
