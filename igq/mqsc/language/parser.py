"""Parses one MQSC command from its text to a `Command`. Pure: knows the grammar, not the attributes.

``VERB OBJECT(name) KEYWORD(value, value) KEYWORD WHERE(attribute operator value)``. Text outside single quotes is
folded to upper case; two quotes inside quotes mean one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from igq.mqsc.language.lines import CommandText
from igq.mqsc.language.words import TAKES, VERBS, find_object, find_unsupported, find_verb, perhaps
from sharedq.display.text import is_secret
from sharedq.settings.redis_url import HIDDEN

_TOKEN = re.compile(r"\s*(?:(?P<quoted>'(?:[^']|'')*')|(?P<mark>[(),])|(?P<word>[^\s(),']+))")

#: Parameters of DEFINE that may stand before the object.
_BEFORE_OBJECT = ("NOREPLACE", "REPLACE")
#: Keywords of lists that may have nothing in their parentheses.
_MAY_BE_EMPTY = ("NAMES", "SPREAD")


class MqscSyntaxError(Exception):
    """A command that is not valid MQSC.

    Attributes:
        line: number of the command's first line.
        segment: the command up to and including the part that is not valid.
        expected: what would be valid there.
        unknown: the word that is not known; empty if something else is wrong.
        unacceptable: a keyword and its value, if the value is not allowed.
        parameter: the parameter that is not valid, if only that is wrong.
    """

    def __init__(
        self,
        line: int,
        segment: str,
        expected: str,
        *,
        unknown: str = "",
        unacceptable: tuple[str, str] | None = None,
        parameter: Parameter | None = None,
    ) -> None:
        super().__init__(line, segment, expected)
        self.line, self.segment, self.expected = line, segment, expected
        self.unknown, self.unacceptable, self.parameter = unknown, unacceptable, parameter

    def __str__(self) -> str:
        return f"line {self.line}: {self.expected} expected at the end of: {self.segment}"


class UnsupportedCommandError(Exception):
    """An IBM MQ command that igq does not have. The text names it.

    Attributes:
        line: number of the command's first line.
    """

    def __init__(self, meant: str, line: int) -> None:
        super().__init__(meant)
        self.line = line


@dataclass(frozen=True, slots=True)
class Parameter:
    """``KEYWORD`` or ``KEYWORD(value, ...)``. ``values`` is None without parentheses.

    ``segment`` is the command up to the end of this parameter, for error messages. ``line`` is the line of its keyword.
    """

    keyword: str
    values: tuple[str, ...] | None
    segment: str
    line: int = 0

    @property
    def identity(self) -> tuple[str, bool]:
        """The part that must be unique in a command: DISPLAY allows ``QSGDISP(ALL)`` and ``QSGDISP`` together."""
        return self.keyword, self.values is None

    @property
    def value(self) -> str:
        """The values as one text, blank if there are none."""
        return " ".join(self.values or ())


@dataclass(frozen=True, slots=True)
class Command:
    """A command: for example ``DEFINE``, ``QLOCAL``, ``ORDERS`` and its parameters."""

    line: int
    verb: str
    object_type: str
    name: str
    parameters: tuple[Parameter, ...]

    @property
    def shown(self) -> str:
        """The command in one line, for a log, without secrets."""
        words = [self.verb, f"{self.object_type}({self.name})" if self.name else self.object_type]
        for each in self.parameters:
            value = HIDDEN if is_secret(each.keyword) else each.value
            words.append(each.keyword if each.values is None else f"{each.keyword}({value})")
        return " ".join(words)

    def error(self, parameter: Parameter, expected: str) -> MqscSyntaxError:
        """Make the error for a *parameter* whose keyword is known and whose value is not allowed."""
        value = None if parameter.values is None else (parameter.keyword, parameter.value)
        return MqscSyntaxError(self.line, parameter.segment, expected, unacceptable=value, parameter=parameter)

    def unknown(self, parameter: Parameter, expected: str, known: Iterable[str], keyword: str = "") -> MqscSyntaxError:
        """Make the error for a keyword that is not known here. It suggests a similar *known* keyword.

        Args:
            keyword: the word in *parameter* that is wrong. Default: its own keyword.
        """
        keyword = keyword or parameter.keyword
        text = expected + perhaps(keyword, known)
        return MqscSyntaxError(self.line, parameter.segment, text, unknown=keyword, parameter=parameter)

    def check_keywords(self, options: Sequence[str]) -> None:
        """Refuse parameters with other keywords than *options*. Raises MqscSyntaxError."""
        for parameter in self.parameters:
            if parameter.keyword not in options:
                raise self.unknown(parameter, " or ".join(options) or "the end of the command", options)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    end: int


def parse_command(source: CommandText) -> Command:
    """Parse one command.

    Raises:
        MqscSyntaxError: this is not MQSC. The error names the place and what was expected.
        UnsupportedCommandError: this is MQSC, but igq does not have the command.
    """
    return _Parser(source).command()


class _Parser:
    def __init__(self, source: CommandText) -> None:
        self._source = source
        self._tokens = self._scan()
        self._at = 0

    def command(self) -> Command:
        if self._source.is_cut:
            raise self._error(len(self._source.text), "a line that continues the command")
        verb = find_verb(self._word("a command"))
        if verb is None:
            self._refuse_unsupported()
            raise self._unknown_here([word.name for word in VERBS])
        if not TAKES[verb.name]:
            return Command(self._source.line, verb.name, "", "", ())
        objects = "one of " + ", ".join(TAKES[verb.name])
        parameters: list[Parameter] = []
        while verb.name == "DEFINE" and self._next_word() in _BEFORE_OBJECT:
            # CSQUTIL's MAKEDEF writes them before the object.
            parameters.append(self._parameter())
        object_type = find_object(self._word(objects), verb.name)
        if object_type is None:
            self._refuse_unsupported()
            raise self._unknown_here(TAKES[verb.name])
        name = ""
        if self._next_is("("):
            values = self._values()
            if object_type.operand == "none" or len(values) != 1:
                raise self._error_here("no operand" if object_type.operand == "none" else "one name")
            name = values[0]
        elif object_type.operand == "required":
            raise self._error_here(f"a name in parentheses after {object_type.name}")
        while self._at < len(self._tokens):
            if self._next_is(","):
                # Commas between parameters are allowed and mean nothing.
                self._at += 1
                continue
            parameter = self._parameter()
            if parameter.identity in (known.identity for known in parameters):
                raise self._error_here(f"{parameter.keyword} once only")
            parameters.append(parameter)
        return Command(self._source.line, verb.name, object_type.name, name, tuple(parameters))

    def _refuse_unsupported(self) -> None:
        words = [token.text.upper() for token in self._tokens[:4] if token.kind == "word"]
        words = [word for word in words if word not in _BEFORE_OBJECT]
        meant = find_unsupported(words[0], words[1] if len(words) > 1 else "")
        if meant:
            raise UnsupportedCommandError(meant, self._source.line)

    def _parameter(self) -> Parameter:
        keyword = self._word("a keyword")
        line = self._source.line_at(self._tokens[self._at - 1].end - 1)
        values = self._values(may_be_empty=keyword in _MAY_BE_EMPTY) if self._next_is("(") else None
        return Parameter(keyword, values, self._source.text[: self._tokens[self._at - 1].end], line)

    def _values(self, *, may_be_empty: bool = False) -> tuple[str, ...]:
        self._at += 1
        values: list[str] = []
        while not self._next_is(")"):
            if self._at == len(self._tokens):
                raise self._error(len(self._source.text), "a closing parenthesis")
            token = self._tokens[self._at]
            self._at += 1
            if token.text == "(" and token.kind == "mark":
                raise self._error_here("a value or a closing parenthesis")
            if token.kind == "quoted":
                values.append(token.text[1:-1].replace("''", "'"))
            elif token.kind == "word":
                values.append(token.text.upper())
        self._at += 1
        if not values and not may_be_empty:
            raise self._error_here("a value")
        return tuple(values)

    def _word(self, expected: str) -> str:
        if self._at == len(self._tokens):
            raise self._error(len(self._source.text), expected)
        token = self._tokens[self._at]
        self._at += 1
        if token.kind != "word":
            raise self._error_here(expected)
        return token.text.upper()

    def _next_word(self) -> str:
        return self._tokens[self._at].text.upper() if self._at < len(self._tokens) else ""

    def _next_is(self, mark: str) -> bool:
        if self._at == len(self._tokens):
            return False
        token = self._tokens[self._at]
        return token.kind == "mark" and token.text == mark

    def _scan(self) -> list[_Token]:
        tokens, position, text = [], 0, self._source.text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                # Everything else is a token, so this is a quote that is never closed.
                raise self._error(len(text), "a closing quote")
            tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.end()))
            position = match.end()
        return tokens

    def _unknown_here(self, known: Sequence[str]) -> MqscSyntaxError:
        """Make the error for a word that was just read and is not one of *known*."""
        token = self._tokens[self._at - 1]
        word = token.text.upper()
        expected = f"one of {', '.join(known)}{perhaps(word, known)}"
        return MqscSyntaxError(self._source.line, self._source.text[: token.end], expected, unknown=word)

    def _error_here(self, expected: str) -> MqscSyntaxError:
        return self._error(self._tokens[self._at - 1].end, expected)

    def _error(self, end: int, expected: str) -> MqscSyntaxError:
        return MqscSyntaxError(self._source.line, self._source.text[:end], expected)
