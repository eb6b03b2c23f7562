"""One MQSC command from its text to a `Command`. Pure: knows the grammar, not the attributes.

``VERB OBJECT(name) KEYWORD(value, value) KEYWORD WHERE(attribute operator value)``. What is not in single
quotes is folded to upper case; two quotes inside quotes are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from igq.mqsc.lines import Source
from igq.mqsc.words import TAKES, VERBS, find_object, find_unsupported, find_verb, perhaps

_TOKEN = re.compile(r"\s*(?:(?P<quoted>'(?:[^']|'')*')|(?P<mark>[(),])|(?P<word>[^\s(),']+))")


class MqscSyntaxError(Exception):
    """A command that cannot be understood.

    Attributes:
        line: number of the command's first line.
        segment: the command up to and including what could not be understood.
        expected: what would have been understood there.
        unknown: the word that nothing is known of; empty when it is something else that is wrong.
        unacceptable: a keyword and its value, when it cannot have that one.
    """

    def __init__(
        self, line: int, segment: str, expected: str, *, unknown: str = "", unacceptable: tuple[str, str] | None = None
    ) -> None:
        super().__init__(line, segment, expected)
        self.line, self.segment, self.expected = line, segment, expected
        self.unknown, self.unacceptable = unknown, unacceptable

    def __str__(self) -> str:
        return f"line {self.line}: {self.expected} expected at the end of: {self.segment}"


class UnsupportedCommandError(Exception):
    """A command of IBM MQ that there is not here. The text names it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """``KEYWORD`` or ``KEYWORD(value, ...)``; ``values`` is None without parentheses.

    ``segment`` is the command up to the end of this parameter, for messages about it.
    """

    keyword: str
    values: tuple[str, ...] | None
    segment: str

    @property
    def identity(self) -> tuple[str, bool]:
        """What may stand in a command once: DISPLAY takes ``QSGDISP(ALL)`` and ``QSGDISP`` side by side."""
        return self.keyword, self.values is None

    @property
    def value(self) -> str:
        """The values as one text; blank when there is none."""
        return " ".join(self.values or ())


@dataclass(frozen=True, slots=True)
class Command:
    """A command: for example ``DEFINE``, ``QLOCAL``, ``ORDERS`` and its parameters."""

    line: int
    verb: str
    object_type: str
    name: str
    parameters: tuple[Parameter, ...]

    def error(self, parameter: Parameter, expected: str) -> MqscSyntaxError:
        """The complaint that *parameter* is not what was expected: its keyword is known, its value cannot be."""
        value = None if parameter.values is None else (parameter.keyword, parameter.value)
        return MqscSyntaxError(self.line, parameter.segment, expected, unacceptable=value)

    def unknown(self, parameter: Parameter, expected: str, known: Iterable[str], keyword: str = "") -> MqscSyntaxError:
        """The complaint that a keyword means nothing here; a *known* one that is like it is named.

        Args:
            keyword: the one in *parameter* that is meant; default: its own.
        """
        keyword = keyword or parameter.keyword
        return MqscSyntaxError(self.line, parameter.segment, expected + perhaps(keyword, known), unknown=keyword)

    def check_keywords(self, options: Sequence[str]) -> None:
        """Refuse parameters of other keywords than *options*. Raises MqscSyntaxError."""
        for parameter in self.parameters:
            if parameter.keyword not in options:
                raise self.unknown(parameter, " or ".join(options) or "the end of the command", options)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    end: int


def parse_command(source: Source) -> Command:
    """Understand one command.

    Raises:
        MqscSyntaxError: it is not MQSC; says where and what was expected.
        UnsupportedCommandError: it is MQSC, but a command that there is not here.
    """
    return _Parser(source).command()


class _Parser:
    def __init__(self, source: Source) -> None:
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
            raise self._error_here(f"a name in parentheses behind {object_type.name}")
        parameters: list[Parameter] = []
        while self._at < len(self._tokens):
            if self._next_is(","):
                # Commas between parameters are only a habit.
                self._at += 1
                continue
            parameter = self._parameter()
            if parameter.identity in (known.identity for known in parameters):
                raise self._error_here(f"{parameter.keyword} once only")
            parameters.append(parameter)
        return Command(self._source.line, verb.name, object_type.name, name, tuple(parameters))

    def _refuse_unsupported(self) -> None:
        words = [token.text.upper() for token in self._tokens[:2] if token.kind == "word"]
        meant = find_unsupported(words[0], words[1] if len(words) > 1 else "")
        if meant:
            raise UnsupportedCommandError(meant)

    def _parameter(self) -> Parameter:
        keyword = self._word("a keyword")
        values = self._values() if self._next_is("(") else None
        return Parameter(keyword, values, self._source.text[: self._tokens[self._at - 1].end])

    def _values(self) -> tuple[str, ...]:
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
        if not values:
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
                # Only a quote that is never closed is not a token.
                raise self._error(len(text), "a closing quote")
            tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.end()))
            position = match.end()
        return tokens

    def _unknown_here(self, known: Sequence[str]) -> MqscSyntaxError:
        """The word that was just read is none of *known*."""
        token = self._tokens[self._at - 1]
        word = token.text.upper()
        expected = f"one of {', '.join(known)}{perhaps(word, known)}"
        return MqscSyntaxError(self._source.line, self._source.text[: token.end], expected, unknown=word)

    def _error_here(self, expected: str) -> MqscSyntaxError:
        return self._error(self._tokens[self._at - 1].end, expected)

    def _error(self, end: int, expected: str) -> MqscSyntaxError:
        return MqscSyntaxError(self._source.line, self._source.text[:end], expected)
