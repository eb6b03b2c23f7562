"""The rules table of IBM's dead-letter queue handler: what is to become of which letter. Pure.

Source: IBM MQ, "The DLQ handler rules table", "DLQ rules (patterns and actions)", "Rules table conventions".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Final

from igq.errors import CommandError
from igq.tools.dead_letters.letters import Letter
from sharedq.messages.dead_letter import reason_code
from sharedq.mqi.constants import ApplType, Feedback, MsgType, Persistence

#: Values of WAIT in seconds: wait for ever, and do not wait.
FOR_EVER, NOT_AT_ALL = -1, 0
RETRY_INTERVAL_S: Final = 60

_NUMBER_MAX = 999_999_999
_KEYWORD = re.compile(r"\s*,?\s*([A-Za-z]+)\s*\(")
_NUMBER = re.compile(r"[0-9]{1,9}")

#: Patterns of text: the longest value, and where a letter has it. Names and their lengths are IBM's.
_TEXTS: Final[dict[str, tuple[int, Callable[[Letter], str]]]] = {
    "APPLIDAT": (32, lambda letter: _text(letter.md.appl_identity_data)),
    "APPLNAME": (28, lambda letter: letter.source),
    "DESTQ": (48, lambda letter: letter.queue),
    "DESTQM": (48, lambda letter: letter.qmgr),
    "FORMAT": (8, lambda letter: letter.format),
    "REPLYQ": (48, lambda letter: _text(letter.md.reply_to_q)),
    "REPLYQM": (48, lambda letter: _text(letter.md.reply_to_q_mgr)),
    "USERID": (12, lambda letter: _text(letter.md.user_identifier)),
}
#: Patterns of numbers: how a name is read, and where a letter has it.
_NUMBERS: Final[dict[str, tuple[Callable[[str], int | None], Callable[[Letter], int]]]] = {
    "APPLTYPE": (lambda text: _named(ApplType, "MQAT_", text), lambda letter: letter.md.put_appl_type),
    "FEEDBACK": (lambda text: _named(Feedback, "MQFB_", text), lambda letter: letter.md.feedback),
    "MSGTYPE": (lambda text: _named(MsgType, "MQMT_", text), lambda letter: letter.md.msg_type),
    "PERSIST": (lambda text: _named(Persistence, "MQPER_", text), lambda letter: letter.md.persistence),
    "REASON": (reason_code, lambda letter: letter.reason),
}
_ACTIONS: Final = ("ACTION", "FWDQ", "FWDQM", "HEADER", "PUTAUT", "RETRY")
_CONTROL: Final = ("INPUTQ", "INPUTQM", "RETRYINT", "WAIT")
_QUEUES: Final[dict[str, Callable[[Letter], str]]] = {
    "&DESTQ": lambda letter: letter.queue,
    "&REPLYQ": lambda letter: _text(letter.md.reply_to_q),
}
_QMGRS: Final[dict[str, Callable[[Letter], str]]] = {
    "&DESTQM": lambda letter: letter.qmgr,
    "&REPLYQM": lambda letter: _text(letter.md.reply_to_q_mgr),
}
_NAME_LENGTH = 48


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, and the fate of the letters that fit it.

    Attributes:
        line: its first line in the table.
        action: DISCARD, IGNORE, RETRY or FWD.
        tries: how often the action is tried, at intervals, before the next rule that fits is.
        queue, qmgr: of FWD; a name, or what begins with ``&``.
        has_header: FWD keeps the dead-letter header.
        as_user: PUTAUT(CTX): the user that the letter's context names must be allowed to put there.
        patterns: all of them must fit.
    """

    line: int
    action: str
    tries: int = 1
    queue: str = ""
    qmgr: str = ""
    has_header: bool = True
    as_user: bool = False
    patterns: tuple[Callable[[Letter], bool], ...] = field(default=(), compare=False)

    def fits(self, letter: Letter) -> bool:
        """Whether the rule is about a letter."""
        return all(pattern(letter) for pattern in self.patterns)

    def target(self, letter: Letter) -> tuple[str, str]:
        """Return the queue and the manager to which RETRY and FWD put a letter; the queue is empty if none is named."""
        if self.action == "RETRY":
            return letter.queue, letter.qmgr
        queue, qmgr = _QUEUES.get(self.queue), _QMGRS.get(self.qmgr)
        return queue(letter) if queue else self.queue, qmgr(letter) if qmgr else self.qmgr


@dataclass(frozen=True, slots=True)
class Table:
    """A rules table.

    Attributes:
        queue, qmgr: INPUTQ and INPUTQM; empty: not said.
        retry_interval_s: RETRYINT.
        wait_s: WAIT: seconds to wait for letters after there is nothing more to do, or `FOR_EVER`; None: not said.
    """

    rules: tuple[Rule, ...]
    queue: str = ""
    qmgr: str = ""
    retry_interval_s: int = RETRY_INTERVAL_S
    wait_s: int | None = None


def parse_rules(text: str) -> Table:
    """Parse a rules table. Raises CommandError: it is not one. The line and the word that is wrong are named."""
    rules: list[Rule] = []
    control: dict[str, str] = {}
    for number, entry in _entries(text):
        words = dict[str, str]()
        for keyword, value in _keywords(number, entry):
            if keyword in words:
                raise _wrong(number, f"{keyword} is there twice")
            words[keyword] = value
        if words.keys() & set(_CONTROL):
            if rules or control:
                raise _wrong(number, f"{', '.join(_CONTROL)} belong into the first entry, which has no rule")
            control = words
            continue
        rules.append(_rule(number, words))
    if not rules:
        raise CommandError("the table has no rule: it needs at least one ACTION")
    return _table(rules, control)


def _table(rules: list[Rule], control: dict[str, str]) -> Table:
    for keyword in control:
        if keyword not in _CONTROL:
            raise CommandError(f"rules: {keyword} does not belong to the control data, which are {', '.join(_CONTROL)}")
    interval, wait = control.get("RETRYINT", str(RETRY_INTERVAL_S)), control.get("WAIT")
    if not _NUMBER.fullmatch(interval) or not int(interval):
        raise CommandError(f"rules: RETRYINT({interval}): allowed: 1 to {_NUMBER_MAX} seconds")
    wait_s: int | None = None
    if wait is not None:
        known = {"YES": FOR_EVER, "NO": NOT_AT_ALL}
        if wait.upper() not in known and not _NUMBER.fullmatch(wait):
            raise CommandError(f"rules: WAIT({wait}): allowed: YES, NO, or seconds")
        wait_s = known[wait.upper()] if wait.upper() in known else int(wait)
    return Table(
        tuple(rules), control.get("INPUTQ", "").strip(), control.get("INPUTQM", "").strip(), int(interval), wait_s
    )


def _rule(number: int, words: dict[str, str]) -> Rule:
    action = _one_of(number, "ACTION", words.get("ACTION", ""), ("DISCARD", "IGNORE", "RETRY", "FWD"))
    queue, qmgr = words.get("FWDQ", "").strip(), words.get("FWDQM", "").strip()
    if (action == "FWD") != bool(queue):
        raise _wrong(number, "ACTION(FWD) and FWDQ belong together, and a name must be in it")
    if action != "FWD" and qmgr:
        raise _wrong(number, "FWDQM belongs to ACTION(FWD)")
    _check_name(number, "FWDQ", queue, _QUEUES)
    _check_name(number, "FWDQM", qmgr, _QMGRS)
    tries = words.get("RETRY", "1")
    if not _NUMBER.fullmatch(tries) or not int(tries):
        raise _wrong(number, f"RETRY({tries}): allowed: 1 to {_NUMBER_MAX}")
    return Rule(
        number,
        action,
        int(tries),
        queue,
        qmgr,
        _one_of(number, "HEADER", words.get("HEADER", "YES"), ("YES", "NO")) == "YES",
        _one_of(number, "PUTAUT", words.get("PUTAUT", "DEF"), ("DEF", "CTX")) == "CTX",
        tuple(_pattern(number, keyword, value) for keyword, value in words.items() if keyword not in _ACTIONS),
    )


def _pattern(number: int, keyword: str, value: str) -> Callable[[Letter], bool]:
    if keyword in _TEXTS:
        longest, read = _TEXTS[keyword]
        if len(value.replace("*", "")) > longest:
            raise _wrong(number, f"{keyword}({value}): at most {longest} characters")
        expression = re.compile(translate(value.replace("[", "[[]").rstrip(" ")))
        return lambda letter: expression.match(read(letter)) is not None
    named, read_number = _NUMBERS[keyword]
    if value == "*":
        return lambda _: True
    code = int(value) if _NUMBER.fullmatch(value) else named(value)
    if code is None:
        raise _wrong(number, f"{keyword}({value}): allowed: a number, IBM's name of it, or *")
    return lambda letter: read_number(letter) == code


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield the entries with the numbers of their first lines: lines that go on are put together, comments left out."""
    begun, first = "", 0
    is_going_on = strips_next = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("*") or not line.strip():
            continue
        begun, first = (begun + (line.lstrip() if strips_next else line), first) if is_going_on else (line, number)
        begun = begun.rstrip()
        is_going_on, strips_next = begun.endswith(("+", "-")), begun.endswith("+")
        if is_going_on:
            begun = begun[:-1]
        else:
            yield first, begun
    if is_going_on:
        raise _wrong(first, "the entry is to go on after its last line, and does not")


def _keywords(number: int, entry: str) -> Iterator[tuple[str, str]]:
    at, entry = 0, entry.strip()
    while at < len(entry):
        found = _KEYWORD.match(entry, at)
        if found is None:
            raise _wrong(number, f"a KEYWORD(value) is expected at {entry[at : at + 20]!r}")
        keyword = found[1].upper()
        if keyword not in (*_TEXTS, *_NUMBERS, *_ACTIONS, *_CONTROL):
            raise _wrong(number, f"{keyword} is no keyword of a rules table")
        value, at = _value(number, keyword, entry, found.end())
        yield keyword, value


def _value(number: int, keyword: str, entry: str, at: int) -> tuple[str, int]:
    """Return a value, and where it ends: quoted as it is, else in capital letters."""
    while at < len(entry) and entry[at] == " ":
        at += 1
    if entry[at : at + 1] == "'":
        end, value = at + 1, ""
        while True:
            close = entry.find("'", end)
            if close < 0:
                raise _wrong(number, f"the quotation mark in {keyword} has no second one")
            value += entry[end:close]
            if entry[close + 1 : close + 2] != "'":
                break
            value, end = value + "'", close + 2
        rest = entry[close + 1 :].lstrip()
        if not rest.startswith(")"):
            raise _wrong(number, f"{keyword}: a ) is missing after the value")
        at = len(entry) - len(rest) + 1
    else:
        close = entry.find(")", at)
        if close < 0:
            raise _wrong(number, f"{keyword}: a ) is missing")
        value, at = entry[at:close].strip().upper(), close + 1
    if not value or (not value.strip() and keyword not in ("INPUTQ", "INPUTQM", "FWDQM", *_TEXTS)):
        raise _wrong(number, f"{keyword} has no value")
    return value, at


def _one_of(number: int, keyword: str, value: str, allowed: Iterable[str]) -> str:
    if value.upper() not in allowed:
        raise _wrong(number, f"{keyword}({value}): allowed: {', '.join(allowed)}" if value else f"{keyword} is missing")
    return value.upper()


def _check_name(number: int, keyword: str, name: str, variables: Iterable[str]) -> None:
    if name in variables or not name:
        return
    if len(name) > _NAME_LENGTH or name.startswith("&") or set(name) & set("*?"):
        raise _wrong(number, f"{keyword}({name}): allowed: a name, or {', '.join(variables)}")


def _named(names: type[ApplType | Feedback | MsgType | Persistence], prefix: str, text: str) -> int | None:
    found = names.__members__.get(text.upper().removeprefix(prefix))
    return None if found is None else int(found)


def _text(value: bytes) -> str:
    return value.decode("latin-1").rstrip(" \0")


def _wrong(number: int, what: str) -> CommandError:
    return CommandError(f"rules, line {number}: {what}")
