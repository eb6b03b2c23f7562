"""Carries out a rules table on a dead-letter queue, once or for as long as letters may come: IBM's runmqdlq.

The rules are tried in their order. An action that fails is tried again at intervals, as often as its rule says; after
that the next rule that fits a letter is. A letter that no rule fits, or without a header, stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from math import inf

from igq.tools.dead_letters.letters import Letter, dead_letter_queue, new_letter, read_letters
from igq.tools.dead_letters.removal import DONE, GONE, NO_HEADER, Deed, Put, Remover, units
from igq.tools.dead_letters.rules import FOR_EVER, NOT_AT_ALL, Rule, Table
from sharedq.api import Queue, connect, group_for
from sharedq.messages.dead_letter import HEADER_LENGTH
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.settings.values import Settings

#: The longest wait for a letter at a time: an end is noticed after it, ms.
_WAIT_MS = 1000
_BROWSE = int(GetOption.BROWSE_NEXT | GetOption.ACCEPT_TRUNCATED_MSG | GetOption.FAIL_IF_QUIESCING)
#: Letters that are looked at together as they come.
_TOGETHER = 500
_NO_QUEUE = "the rule names no queue for it"


@dataclass(frozen=True, slots=True)
class Handled:
    """The outcome for one letter.

    Attributes:
        rule: None: it has no header, or no rule was left that fits it.
        outcome: `DONE`, or why not.
        is_last: the action will not be tried again.
    """

    letter: Letter
    rule: Rule | None
    outcome: str
    is_last: bool = True


@dataclass(slots=True)
class _State:
    """A letter that has stayed: the rule that is tried, how often it was, and when it is due again (monotonic)."""

    rule: int = 0
    tries: int = 0
    due_s: float = 0.0


class Handler:
    """One run over one queue.

    Args:
        tell: told of each letter that something was done with, or could not be.
        is_ended: asked at least every second: the run ends when it says so, after the unit of work.
    """

    def __init__(
        self,
        settings: Settings,
        table: Table,
        tell: Callable[[Handled], None],
        *,
        is_ended: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._table, self._tell = settings, table, tell
        self._is_ended, self._clock = is_ended, clock
        self._states: dict[bytes, _State] = {}

    def run(
        self,
        qmgr: str,
        queue: str = "",
        *,
        wait_s: int | None = None,
        begin: Callable[[str, str], None] = lambda _qmgr, _queue: None,
    ) -> None:
        """Handle the letters of *queue* at *qmgr* until there is nothing more to do.

        Args:
            queue: empty: INPUTQ of the table, or else the manager's dead-letter queue.
            wait_s: seconds to wait for letters after that, or `FOR_EVER`. None: as WAIT of the table says, else not.
            begin: called with the manager and the queue, before anything is done there.

        Raises:
            CommandError: the manager has no dead-letter queue.
            MQIError: the queue cannot be used, or the connection is lost. No letter is half done.
        """
        group = group_for(self._settings)
        with ExitStack() as stack:
            connection = stack.enter_context(connect(qmgr, settings=self._settings, appl_name="igq dlq handle"))
            at = connection.qmgr_name
            name = queue or self._table.queue or dead_letter_queue(group, at)
            remover = Remover(connection, name)
            browsed = connection.open(name, OpenOption.BROWSE | OpenOption.FAIL_IF_QUIESCING)
            begin(at, name)
            wait_s = (self._table.wait_s or NOT_AT_ALL) if wait_s is None else wait_s
            idle_since_s = self._clock()
            while not self._is_ended():
                now_s = self._clock()
                letters = read_letters(group, at, name)
                if self._handle(remover, letters, is_pass=True):
                    idle_since_s = self._clock()
                due_s = min((state.due_s for state in self._states.values()), default=inf)
                until_s = now_s + self._table.retry_interval_s
                if due_s == inf:
                    if wait_s == NOT_AT_ALL:
                        return
                    if wait_s != FOR_EVER:
                        until_s = idle_since_s + wait_s
                else:
                    until_s = due_s
                if self._serve(remover, browsed, until_s):
                    idle_since_s = self._clock()
                elif due_s == inf and wait_s != FOR_EVER and self._clock() >= idle_since_s + wait_s:
                    return

    def _serve(self, remover: Remover, browsed: Queue, until_s: float) -> bool:
        """Handle letters as they come, until then. Returns whether anything was done."""
        has_done = False
        while not self._is_ended():
            left_s = until_s - self._clock()
            if left_s <= 0:
                break
            arrived = list(islice(_arrived(browsed, min(_WAIT_MS, int(left_s * 1000) + 1)), _TOGETHER))
            has_done = self._handle(remover, iter(arrived), is_pass=False) or has_done
            if arrived and any(state.due_s < until_s for state in self._states.values()):
                break
        return has_done

    def _handle(self, remover: Remover, letters: Iterator[Letter], *, is_pass: bool) -> bool:
        """Do what is due. Returns whether anything was done.

        Args:
            is_pass: the letters are all that are on the queue, so a state without a letter is forgotten.
        """
        has_done = False
        seen = set[bytes]()
        remover.forget_targets()
        for each in units(letters):
            seen.update(letter.token for letter in each)
            unit = each
            while unit and not self._is_ended():
                chosen = [(letter, found) for letter in unit if (found := self._chosen(letter)) is not None]
                deeds = [(letter, deed) for letter, (_, deed) in chosen]
                outcomes = remover.carry_out(deeds) if deeds else []
                # A letter that has failed for good may fit another rule, which is tried at once.
                unit = [
                    letter
                    for (letter, (rule, _)), outcome in zip(chosen, outcomes, strict=True)
                    if self._note(letter, rule, outcome)
                ]
                has_done = has_done or DONE in outcomes
        if is_pass and not self._is_ended():
            self._states = {token: state for token, state in self._states.items() if token in seen}
        return has_done

    def _chosen(self, letter: Letter) -> tuple[Rule, Deed] | None:
        """Return the rule for a letter and what it makes of it. None: nothing now."""
        state = self._states.get(letter.token)
        if state is not None and state.due_s > self._clock():
            return None
        if letter.header is None:
            self._give_up(letter, None, NO_HEADER)
            return None
        first = 0 if state is None else state.rule
        for position, rule in enumerate(self._table.rules[first:], start=first):
            if not rule.fits(letter):
                continue
            if rule.action == "IGNORE":
                break
            queue, qmgr = rule.target(letter)
            if rule.action != "DISCARD" and not queue:
                self._give_up(letter, rule, _NO_QUEUE)
                continue
            if state is None or state.rule != position:
                self._states[letter.token] = _State(position)
            if rule.action == "DISCARD":
                return rule, None
            return rule, Put(queue, qmgr, rule.action == "FWD" and rule.has_header, rule.as_user)
        if letter.token in self._states:
            # Something was tried and has failed: not again in this run.
            self._states[letter.token] = _State(len(self._table.rules), due_s=inf)
        return None

    def _give_up(self, letter: Letter, rule: Rule | None, why: str) -> None:
        self._states[letter.token] = _State(due_s=inf)
        self._tell(Handled(letter, rule, why))

    def _note(self, letter: Letter, rule: Rule, outcome: str) -> bool:
        """Note what became of a letter. Returns whether another rule is to be tried now."""
        if outcome in (DONE, GONE):
            self._states.pop(letter.token, None)
            if outcome == DONE:
                self._tell(Handled(letter, rule, outcome))
            return False
        state = self._states[letter.token]
        state.tries += 1
        is_last = state.tries >= rule.tries
        self._tell(Handled(letter, rule, outcome, is_last))
        if is_last:
            state.rule, state.tries = state.rule + 1, 0
        else:
            state.due_s = self._clock() + self._table.retry_interval_s
        return is_last


def _arrived(browsed: Queue, wait_ms: int) -> Iterator[Letter]:
    """Yield what has come after the place of a browse, and wait for the first of it."""
    options = _BROWSE | GetOption.WAIT
    while True:
        try:
            message = browsed.get(options, wait_ms=wait_ms, match_options=0, max_length=HEADER_LENGTH)
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return
            raise
        yield new_letter(message.msg_token, message.md, message.body, message.data_length, 0)
        options = GetOption(_BROWSE)
