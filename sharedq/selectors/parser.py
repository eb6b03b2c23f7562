"""A selection string as a tree.

A node is a tuple: its kind, then its parts. Conditions are ``("and", [..])``, ``("or", [..])``, ``("not", c)``,
``("compare", sign, v, v)``, ``("like", v, pattern)``, ``("in", v, [text, ..])``, ``("missing", v)`` and
``("true", v)``; values are ``("number", n)``, ``("whole", digits)`` of one that
no floating-point number is exact for, ``("text", t)``, ``("bytes", hex)``, ``("boolean", b)``, ``("property",
folder, name, ..)``, ``("field", name)`` of the descriptor, ``("identifier", name)`` that field as JMS writes it,
``("first", [v, ..])`` that is there, ``("calculate", v, [(sign, v), ..])`` and ``("mode",)``. A pattern is a list of
parts that anything may stand between, each a list of characters, with "" for any one.

Source: IBM MQ, "Message selector syntax", "Property name restrictions".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

from sharedq.properties.names import (
    DESCRIPTOR,
    DESCRIPTOR_FIELDS,
    RESERVED_WORDS,
    SYNONYMS,
    is_accessible,
    kept_name,
    place_of,
)

Node = tuple[Any, ...]
#: Up to here a ``float`` is exact for every whole number.
MOST_EXACT: Final = 1 << 53
#: How deep brackets, signs and NOT may stand in each other.
_MOST_LEVELS: Final = 30
_COMPARISONS: Final = ("=", "<>", "<=", ">=", "<", ">")
_VALUES: Final = (
    *("number", "text", "bytes", "boolean", "property", "field", "identifier", "first", "calculate", "mode"),
)
_NAMED: Final = ("property", "field", "identifier", "first", "mode")
#: JMS' names whose value is not that of the field.
_OF_JMS: Final[dict[str, Node]] = {
    "JMSMessageID": ("identifier", "MsgId"),
    "JMSCorrelationID": ("first", [("property", "jms", "Cid"), ("identifier", "CorrelId")]),
    "JMSXGroupID": ("first", [("property", "jms", "Gid"), ("identifier", "GroupId")]),
    "JMSDeliveryMode": ("mode",),
    "JMSXDeliveryCount": ("calculate", ("field", "BackoutCount"), [("+", ("number", 1.0))]),
}


class TokenKind(Enum):
    """The kind of a token."""

    WORD = "a reserved word"
    NAME = "a name"
    NUMBER = "a number"
    TEXT = "a text"
    BYTES = "a byte string"
    SIGN = "a sign"
    END = "the end"


class Token(NamedTuple):
    """A token: its kind, its value (a reserved word in capitals) and where it begins."""

    kind: TokenKind
    value: str | float
    at: int


class SelectorError(ValueError):
    """A selection string is not in IBM MQ's syntax.

    Attributes:
        is_extended: it is in the syntax that needs an extended message selection provider.
    """

    is_extended = False


class ExtendedSelectorError(SelectorError):
    """A selection string asks for parts of the data of a message."""

    is_extended = True


_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | "0[xX](?P<bytes>(?:[0-9A-Fa-f]{2})+)"
      | (?P<number>
            0[xX][0-9A-Fa-f]+[lL]?
          | (?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?
          | [0-9]+(?:[eE][+-]?[0-9]+[fFdD]?|[fFdD])
          | [0-9]+[lL]?
        )(?![\w$.])
      | (?P<name>[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*|\$[\w$]*(?:\.[^\W\d][\w$]*)*)
      | (?P<sign><>|<=|>=|[=<>+\-*/(),])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)


_LITERAL: Final = re.compile(r"('(?:[^']|'')*')")


def in_one_line(text: str) -> str:
    """Return the same selection string with a blank for each line end and tab that separates its words."""
    parts = _LITERAL.split(text)
    parts[::2] = (re.sub(r"\s", " ", each) for each in parts[::2])
    return "".join(parts)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a selection string; the last is its end. Raises SelectorError: something in it is none."""
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise SelectorError(f"{text[at : at + 20]!r} is not understood")
        yield _token(match)
        if match.lastgroup == "end":
            return
        at = match.end()


def _token(match: re.Match[str]) -> Token:
    kind, at = match.lastgroup or "", match.start()
    found = match[kind]
    if kind == "text":
        return Token(TokenKind.TEXT, found[1:-1].replace("''", "'"), at)
    if kind == "bytes":
        return Token(TokenKind.BYTES, found.lower(), at)
    if kind == "number":
        return Token(TokenKind.NUMBER, _number(found), at)
    if kind == "name" and found.upper() in RESERVED_WORDS:
        return Token(TokenKind.WORD, found.upper(), at)
    return Token({"name": TokenKind.NAME, "sign": TokenKind.SIGN, "end": TokenKind.END}[kind], found, at)


def _number(text: str) -> float:
    """The number, an ``int`` if it is written as a whole one; those that begin with 0 are octal."""
    digits = text.rstrip("lL")
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
    try:
        if base == 16 or digits.isdigit():
            whole = int(digits, base)
            float(whole)
            return whole
        value = float(text.rstrip("fFdD"))
    except (ValueError, OverflowError):
        raise SelectorError(f"{text[:40]} is no number of base {base}, or too large") from None
    if value == float("inf"):
        raise SelectorError(f"{text[:40]} is too large")
    return value


def parse(text: str) -> Node:
    """The condition that a selection string is. Raises SelectorError: it is none."""
    parser = _Parser(list(tokens(text)))
    tree = parser.condition(parser.either())
    parser.expect(TokenKind.END)
    written: Node = _written(tree)
    return written


def _written(node: Any) -> Any:
    """The tree with its numbers as JSON can say them."""
    if isinstance(node, list):
        return [_written(each) for each in node]
    if not isinstance(node, tuple):
        return node
    if node[0] != "number":
        return (node[0], *(_written(each) for each in node[1:]))
    number = number_of(node[1]) if isinstance(node[1], int) else node[1]
    return ("whole", str(number)) if isinstance(number, int) else ("number", number)


@dataclass(slots=True)
class _Parser:
    found: list[Token]
    at: int = 0
    level: int = 0

    # -- tokens ------------------------------------------------------------------------------------------------

    def accept(self, kind: TokenKind, *values: str) -> Token | None:
        token = self.found[self.at]
        if token.kind != kind or (values and token.value not in values):
            return None
        if kind != TokenKind.END:
            self.at += 1
        return token

    def expect(self, kind: TokenKind, *values: str) -> Token:
        token = self.accept(kind, *values)
        if token is None:
            raise self.failure(f"{' or '.join(values) or kind.value} is expected")
        return token

    def failure(self, why: str) -> SelectorError:
        token = self.found[self.at]
        shown = "at the end" if token.kind == TokenKind.END else f"before {str(token.value)[:20]!r} at {token.at}"
        return SelectorError(f"{why} {shown}")

    # -- conditions --------------------------------------------------------------------------------------------

    def condition(self, node: Node) -> Node:
        """A node as a condition: a property may be a truth value."""
        if node[0] in ("boolean", *_NAMED):
            return ("true", node)
        if node[0] in _VALUES:
            raise self.failure("a condition is expected")
        return node

    def value(self, node: Node) -> Node:
        if node[0] not in _VALUES:
            raise self.failure("a value is expected")
        return node

    def either(self) -> Node:
        return self._several("or", "OR", lambda: self._several("and", "AND", self.negation))

    def _several(self, kind: str, word: str, part: Callable[[], Node]) -> Node:
        first = part()
        if not self.accept(TokenKind.WORD, word):
            return first
        nodes = [self.condition(first), self.condition(part())]
        while self.accept(TokenKind.WORD, word):
            nodes.append(self.condition(part()))
        return (kind, nodes)

    def deeper(self) -> None:
        self.level += 1
        if self.level > _MOST_LEVELS:
            raise self.failure("brackets and signs are too deep")

    def negation(self) -> Node:
        if not self.accept(TokenKind.WORD, "NOT"):
            return self.predicate()
        self.deeper()
        node = ("not", self.condition(self.negation()))
        self.level -= 1
        return node

    def predicate(self) -> Node:
        node = self.sum()
        sign = self.accept(TokenKind.SIGN, *_COMPARISONS)
        if sign:
            return _compared(str(sign.value), self.value(node), self.value(self.sum()))
        if self.accept(TokenKind.WORD, "IS"):
            is_not = self.accept(TokenKind.WORD, "NOT")
            self.expect(TokenKind.WORD, "NULL")
            missing = ("missing", self.named(node))
            return ("not", missing) if is_not else missing
        is_not = self.accept(TokenKind.WORD, "NOT")
        if self.accept(TokenKind.WORD, "BETWEEN"):
            low = self.value(self.sum())
            self.expect(TokenKind.WORD, "AND")
            found: Node = (
                "and",
                [("compare", ">=", self.value(node), low), ("compare", "<=", node, self.value(self.sum()))],
            )
        elif self.accept(TokenKind.WORD, "LIKE"):
            found = self.pattern(self.named(node))
        elif self.accept(TokenKind.WORD, "IN"):
            found = self.listed(self.named(node))
        elif is_not:
            raise self.failure("BETWEEN, LIKE or IN is expected")
        else:
            return node
        return ("not", found) if is_not else found

    def named(self, node: Node) -> Node:
        if node[0] not in _NAMED:
            raise self.failure("the name of a property is expected in front")
        return node

    def pattern(self, node: Node) -> Node:
        text = str(self.expect(TokenKind.TEXT).value)
        escape = ""
        if self.accept(TokenKind.WORD, "ESCAPE"):
            escape = str(self.expect(TokenKind.TEXT).value)
            if len(escape) != 1:
                raise self.failure("ESCAPE takes one character")
        parts: list[list[str]] = [[]]
        characters = iter(text)
        for character in characters:
            if character == escape:
                escaped = next(characters, "")
                if escaped not in ("%", "_", escape) or not escaped:
                    raise self.failure("only %, _ and the escape character itself can be escaped")
                parts[-1].append(escaped)
            elif character == "%":
                parts.append([])
            else:
                parts[-1].append("" if character == "_" else character)
        return ("like", node, parts)

    def listed(self, node: Node) -> Node:
        self.expect(TokenKind.SIGN, "(")
        texts = [str(self.expect(TokenKind.TEXT).value)]
        while self.accept(TokenKind.SIGN, ","):
            texts.append(str(self.expect(TokenKind.TEXT).value))
        self.expect(TokenKind.SIGN, ")")
        return ("in", node, [_literal_for(node, ("text", text))[1] for text in texts])

    # -- values ------------------------------------------------------------------------------------------------

    def sum(self) -> Node:
        return self._calculated(("+", "-"), lambda: self._calculated(("*", "/"), self.factor))

    def _calculated(self, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        first = part()
        if not (sign := self.accept(TokenKind.SIGN, *signs)):
            return first
        steps = [(sign.value, self.value(part()))]
        while sign := self.accept(TokenKind.SIGN, *signs):
            steps.append((sign.value, self.value(part())))
        return ("calculate", self.value(first), steps)

    def factor(self) -> Node:
        sign = self.accept(TokenKind.SIGN, "+", "-")
        if not sign:
            return self.primary()
        self.deeper()
        node = self.value(self.factor())
        self.level -= 1
        if node[0] == "number" and sign.value == "-":
            return ("number", -node[1])
        if node[0] == "number":
            return node
        return ("calculate", ("number", 0.0), [(sign.value, node)])

    def primary(self) -> Node:
        if self.accept(TokenKind.SIGN, "("):
            self.deeper()
            node = self.either()
            self.expect(TokenKind.SIGN, ")")
            self.level -= 1
            return node
        if word := self.accept(TokenKind.WORD, "TRUE", "FALSE"):
            return ("boolean", word.value == "TRUE")
        for kind, name in ((TokenKind.NUMBER, "number"), (TokenKind.TEXT, "text"), (TokenKind.BYTES, "bytes")):
            if token := self.accept(kind):
                return (name, token.value)
        return _named(str(self.expect(TokenKind.NAME).value))


def _named(name: str) -> Node:
    """The value that a name stands for."""
    if name.startswith(DESCRIPTOR):
        field = name.removeprefix(DESCRIPTOR)
        if field not in DESCRIPTOR_FIELDS:
            raise SelectorError(f"{name[:80]}: the descriptor has no such field")
        return ("field", field)
    if name.partition(".")[0] in ("Root", "Body"):
        raise ExtendedSelectorError(f"{name[:80]}: only Root.MQMD is known of a message")
    if name in _OF_JMS:
        return _OF_JMS[name]
    if name not in SYNONYMS:
        return _property(kept_name(name))
    found = [_named(each) for each in SYNONYMS[name]]
    return found[0] if len(found) == 1 else ("first", found)


def _property(name: str) -> Node:
    folder, path = place_of(name)
    if not is_accessible(folder, path):
        raise SelectorError(f"{name[:80]}: no property has this name")
    return ("property", folder, *path)


def _compared(sign: str, left: Node, right: Node) -> Node:
    return ("compare", sign, _literal_for(right, left), _literal_for(left, right))


def _literal_for(other: Node, node: Node) -> Node:
    """A text that is compared with a field of the descriptor, which has no blanks at its end."""
    if node[0] == "text" and other[0] == "field":
        return ("text", node[1].rstrip(" "))
    return node


def number_of(value: int) -> float:
    """A whole number as it is compared: itself if no ``float`` is exact for it and it has 64 bits; else a ``float``."""
    return value if abs(value) > MOST_EXACT and -(1 << 63) <= value < 1 << 63 else float(value)
