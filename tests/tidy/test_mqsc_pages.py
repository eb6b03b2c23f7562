"""docs/reference lists the existing commands of MQSC and message ids."""

from __future__ import annotations

import re
from pathlib import Path

from igq.mqsc import messages
from igq.mqsc.language.words import OBJECTS, OTHER_OBJECTS, OTHER_VERBS, TAKES, VERBS, supported
from igq.output.messages import MESSAGES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def test_the_commands_are_those_that_the_parser_knows() -> None:
    section = (REFERENCE / "mqsc.md").read_text("utf-8").partition("\n## Commands\n")[2].partition("\n## ")[0]
    # A long list of objects goes on in a row without a verb.
    section = re.sub(r" \|\n\|  \|  \| ", " ", section)
    rows = re.findall(r"^\| `(\w+)` \| `\w+` \| (.*?) ?\|$", section, re.MULTILINE)
    assert [f"{verb} {objects}".strip() for verb, objects in rows] == supported()
    assert {verb.name for verb in VERBS} == TAKES.keys()
    assert {word.name for word in OBJECTS} == {name for names in TAKES.values() for name in names}


def test_no_command_is_both_there_and_not() -> None:
    assert not {verb.name for verb in VERBS} & {verb.name for verb in OTHER_VERBS}
    assert all(word.is_meant_by(word.name) for word in (*OTHER_VERBS, *OTHER_OBJECTS))


def test_the_ids_that_are_not_ibms_are_documented() -> None:
    said = {name for name in MESSAGES if name.startswith("IGQ")}
    texts = [text for text in vars(messages).values() if isinstance(text, str)]
    said |= {text.partition(":")[0] for text in texts if re.match(r"IGQ\d{4}[IEW]:", text)}
    page = (REFERENCE / "messages.md").read_text("utf-8")
    assert said <= set(re.findall(r"^\| `(IGQ\d{4}[IEW])`", page, re.MULTILINE))
