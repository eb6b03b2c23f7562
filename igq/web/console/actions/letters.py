"""Plans for chosen messages: dead letters that are put back or discarded, messages that are moved.

All of them go through the code of ``igq dlq``, each message in a unit of work with what becomes of it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sharedq
from igq.operations.command_log import CONSOLE, note_command
from igq.output.plural import counted
from igq.tools.dead_letters.letters import Letter, read_letters
from igq.tools.dead_letters.removal import DONE, GONE, Deed, Put, remove_letters, to_destination
from igq.web.access.gate import Refused
from igq.web.access.users import Role
from igq.web.console.actions.action import Action, ActionOutcome, Asked, FormField, Plan
from igq.web.console.actions.places import manager_for, opened
from sharedq.members.event_notes import Giver
from sharedq.settings.values import Settings

#: Messages to choose at one time.
MOST_CHOSEN = 200
_TOKEN_DIGITS, _ID_DIGITS = 32, 48

Decide = Callable[[Letter], Deed]


@dataclass(frozen=True, slots=True)
class ChosenMessages:
    """Messages that a user has chosen on one queue: token -> MsgId, both in hexadecimal digits."""

    qmgr: str
    queue: str
    messages: dict[str, str]

    @property
    def tokens(self) -> set[bytes]:
        """The tokens, by which the messages are got."""
        return {bytes.fromhex(each) for each in self.messages}


def read_chosen(settings: Settings, asked: Asked) -> list[ChosenMessages]:
    """Read ``places``: for each queue qmgr, queue and messages. Raises Refused: 400."""
    found, total = [], 0
    with opened(settings) as group:
        for told in asked.list("places"):
            if not isinstance(told, dict):
                raise Refused(400, "each of places must be an object")
            place = Asked(told)
            messages = _messages(told.get("messages"))
            total += len(messages)
            found.append(ChosenMessages(manager_for(group, place), place.text("queue"), messages))
    if not 0 < total <= MOST_CHOSEN:
        raise Refused(400, f"choose 1 to {MOST_CHOSEN} messages")
    return found


def _messages(told: Any) -> dict[str, str]:
    if not isinstance(told, dict):
        raise Refused(400, "messages must be an object: token and MsgId of each message")
    for token, msg_id in told.items():
        if not (_is_hexadecimal(token, _TOKEN_DIGITS) and _is_hexadecimal(msg_id, _ID_DIGITS)):
            raise Refused(400, "messages must be an object: token and MsgId of each message")
    return dict(told)


def _is_hexadecimal(text: Any, digits: int) -> bool:
    return isinstance(text, str) and len(text) == digits and not set(text) - set("0123456789abcdef")


def _planned(chosen: Sequence[ChosenMessages], words: Sequence[str], decide: Decide, question: str) -> Plan:
    verb = words[0]
    lines = [
        "igq " + shlex.join(["dlq", verb, each.qmgr, *words[1:], "--queue", each.queue, "--msg-id", msg_id])
        for each in chosen
        for msg_id in each.messages.values()
    ]
    count = sum(len(each.messages) for each in chosen)
    where = ", ".join(each.queue for each in chosen)
    what = counted(count, "message")
    return Plan(
        chosen[0].qmgr,
        "\n".join(lines),
        deed=partial(_do, chosen, words, decide),
        question=question.format(what=what, are="is" if count == 1 else "are", where=where),
        shown=f"{' '.join(words)}: {what} of {where}",
    )


def _do(
    chosen: Sequence[ChosenMessages], words: Sequence[str], decide: Decide, settings: Settings, giver: Giver
) -> ActionOutcome:
    outcomes: Counter[tuple[str, str, str]] = Counter()
    for each in chosen:
        outcomes += take_off(settings, each, words, decide, giver)
    done = sum(count for (outcome, _, _), count in outcomes.items() if outcome == DONE)
    lines = [f"{done} done"]
    for (outcome, queue, qmgr), count in sorted(outcomes.items()):
        if outcome != DONE:
            lines.append(f"{count}{f' for {queue} at {qmgr}' if queue else ''}: {outcome}")
    return ActionOutcome(lines, is_done=len(lines) == 1, result=lines[0])


def take_off(
    settings: Settings, chosen: ChosenMessages, words: Sequence[str], decide: Decide, giver: Giver
) -> Counter[tuple[str, str, str]]:
    """Take messages off a queue, as ``igq dlq`` does. Returns how many had which outcome, queue and manager.

    Raises:
        MQIError: 2059, the manager does not run; as `remove_letters`.
    """
    with sharedq.connect(chosen.qmgr, appl_name=CONSOLE, settings=settings) as connection:
        group, tokens = connection.connection.group, chosen.tokens
        letters = _found(read_letters(group, connection.qmgr_name, chosen.queue), tokens)
        outcomes = remove_letters(connection, chosen.queue, letters, decide)
        done = sum(count for (outcome, _, _), count in outcomes.items() if outcome == DONE)
        command = f"dlq {words[0]} {connection.qmgr_name} {' '.join([*words[1:], '--queue', chosen.queue])}"
        note_command(group, connection.qmgr_name, command, f"{done} of {counted(len(tokens), 'message')} done", giver)
    if gone := len(tokens) - outcomes.total():
        outcomes[GONE, "", ""] += gone
    return outcomes


def _found(letters: Iterator[Letter], tokens: set[bytes]) -> list[Letter]:
    """Find the chosen letters, and read no more messages than needed."""
    found: list[Letter] = []
    while len(found) < len(tokens):
        letter = next(letters, None)
        if letter is None:
            break
        if letter.token in tokens:
            found.append(letter)
    return found


def _requeue(settings: Settings, asked: Asked) -> Plan:
    return _planned(read_chosen(settings, asked), ["requeue"], to_destination, "")


def _discard(settings: Settings, asked: Asked) -> Plan:
    question = "DISCARD: {what} of {where} {are} deleted"
    return _planned(read_chosen(settings, asked), ["discard"], lambda _: None, question)


def _move(settings: Settings, asked: Asked) -> Plan:
    target, target_qmgr = asked.text("target"), asked.optional("target_qmgr")
    deed = Put(target, target_qmgr, has_header=True)
    words = ["move", "--to", target, *(["--to-qmgr", target_qmgr] if target_qmgr else [])]
    return _planned(read_chosen(settings, asked), words, lambda _: deed, "")


def _move_form(_: Settings, _asked: Asked) -> list[FormField]:
    return [
        FormField("target", "To queue", "As the manager of this queue knows it.", is_required=True),
        FormField("target_qmgr", "At manager", "Empty: as the manager of this queue knows the name."),
    ]


ACTIONS = (
    Action("requeue", "Put back", "letters", Role.OPERATOR, _requeue),
    Action("discard", "Discard", "letters", Role.OPERATOR, _discard, is_dangerous=True),
    Action("move", "Move", "messages", Role.OPERATOR, _move, _move_form),
)
