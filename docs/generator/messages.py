"""The tables of message ids."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import igq.mqsc.messages as mqsc
from docs.generator.markdown import code, table
from igq.output.messages import COUNTED, MESSAGES

_ID = re.compile(r"((?:CSQ|IGQ)\w+): (.*)", re.DOTALL)


def log_table() -> str:
    """The messages of managers and agents, in the order of the ids."""
    return _table(sorted(MESSAGES.items()))


def mqsc_table() -> str:
    """The answers to commands, in the order of the ids."""
    texts = [value for value in vars(mqsc).values() if isinstance(value, str)]
    texts += [
        text
        for value in vars(mqsc).values()
        if isinstance(value, dict)
        for text in value.values()
        if isinstance(text, str)
    ]
    found = {match.groups() for match in map(_ID.fullmatch, texts) if match}
    return _table(sorted((str(number), str(text)) for number, text in found))


def error_table() -> str:
    """The messages that errors begin with, in the order of the ids: they are formatted where they are raised."""
    root = Path(__file__).parents[2]
    sources = (
        path.read_text() for package in ("igq", "recovery", "sharedq") for path in (root / package).rglob("*.py")
    )
    texts = {text for source in sources if _ID.search(source) for text in _formatted(ast.parse(source))}
    return _table(sorted((str(match[1]), str(match[2])) for match in map(_ID.fullmatch, texts) if match))


def _formatted(tree: ast.AST) -> Iterator[str]:
    """The texts of f-strings. A value is its name in braces."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (each.value if isinstance(each, ast.Constant) else _value(each) for each in node.values)
            yield "".join(map(str, parts))


def _value(node: ast.expr) -> str:
    value = node.value if isinstance(node, ast.FormattedValue) else node
    return f"{{{value.id.lower()}}}" if isinstance(value, ast.Name) else "{}"


def _table(messages: list[tuple[str, str]]) -> str:
    return table(("Id", "Text"), [(code(number), _plain(text)) for number, text in messages])


def _plain(text: str) -> str:
    """The text, with the names of its fields in capitals as in the syntax of commands."""
    named = re.sub(r"\{(\w+):?([^{}]*)\}", lambda field: _named(field[1], field[2]), text)
    return named.replace("{}", "...").replace("*", "\\*").replace("_", "\\_")


def _named(field: str, form: str) -> str:
    things = f" {COUNTED[form]}" if form in COUNTED else ""
    return "..." if field.isdigit() else field.upper() + things
