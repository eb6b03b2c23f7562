"""Scripts read definitions of queues, which Python writes as JSON: they name fields and values that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sharedq.objects.definitions.queues import QueueLocal

LUA = Path(__file__).parents[2] / "sharedq" / "lua"
FIELDS: dict[str, Any] = QueueLocal.model_json_schema()["properties"]
#: A text of Lua that has a quote in it, with the texts that are put together with it.
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*\\"(?:[^"\\\n]|\\.)*"')
#: A field, and the value or the pattern of the value.
FIELD = re.compile(r'"(\w+)":\)?(.*)')
#: Patterns of values, and the values that they fit.
CLASSES = {"%d+": "integer", "%d": "digit", "%u+": "word", "%u": "letter"}
#: A field of a definition that a script has decoded.
DECODED = re.compile(r'\bdefinition\.(\w+) == ("\w+")')


def patterns() -> dict[str, tuple[str, str]]:
    """The field and the value that a script names, by the place and its text."""
    found = {}
    for path in sorted(LUA.rglob("*.lua")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            each = ["high", "low", "max"] if '" .. which .. "' in line else [""]
            for word in each:
                for text in TEXT.findall(line.replace('" .. which .. "', word)):
                    match = FIELD.search(text[1:-1].replace('\\"', '"'))
                    if match:
                        found[f"{path.name}:{number} {text}"] = match[1], match[2]
            for field, value in DECODED.findall(line):
                found[f"{path.name}:{number} {field}"] = field, value
    return found


def test_scripts_name_fields_and_values_that_a_queue_has() -> None:
    known = patterns()
    assert len(known) > 15
    wrong = [place for place, (field, value) in known.items() if not can_be(FIELDS.get(field), value)]
    assert wrong == []


def can_be(field: dict[str, Any] | None, value: str) -> bool:
    """Whether a field can have the value, or a value that the pattern fits."""
    if field is None:
        return False
    words, kind = field.get("enum", []), CLASSES.get(value.strip('"()'))
    if kind == "word":
        return bool(words) and all(re.fullmatch("[A-Z]+", word) for word in words)
    if kind == "letter":
        return bool(words) and len({word[0] for word in words}) == len(words)
    if kind:
        is_number = field["type"] == "integer" and field["minimum"] >= 0
        return is_number and (kind == "integer" or field["maximum"] <= 9)
    if value in ("", '""'):
        return bool(field["type"] == "string")
    return value.strip('"') in words


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("no_such_field", '""'),
        ("trigger_control", '"YES"'),
        ("max_depth", '"ENABLED"'),
        ("get", "(%d+)"),
        ("trigger_depth", "(%d)"),
    ],
)
def test_a_pattern_that_would_find_nothing_is_seen(field: str, value: str) -> None:
    assert not can_be(FIELDS.get(field), value)
