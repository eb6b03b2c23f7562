"""Every message can be formatted with the fields that its sender gives."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

import igq
from igq.output.messages import MESSAGES, text_of

pytestmark = pytest.mark.share

SOURCES = "\n".join(path.read_text() for path in sorted(Path(igq.__file__).parent.rglob("*.py")))


def fields_of(message_id: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(MESSAGES[message_id]) if name}


@pytest.mark.parametrize("message_id", MESSAGES)
def test_each_message_has_an_id_of_ibms_or_our_form_and_names_its_manager(message_id: str) -> None:
    assert re.fullmatch(r"CSQ[A-Z0-9]\d{3}[IEDA]|IGQ\d{4}[IEWDA]", message_id)
    assert "qmgr" in fields_of(message_id)


@pytest.mark.parametrize("message_id", MESSAGES)
def test_each_message_is_used_somewhere(message_id: str) -> None:
    assert SOURCES.count(f'"{message_id}"') >= 2


def test_a_message_is_filled_in() -> None:
    assert text_of("CSQM050I", {"qmgr": "EWR", "pid": 12}) == "EWR IGQ agent starting, pid 12"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 units of work, 1 message"), (1, "1 unit of work, 1 message"), (2, "2 units of work, 1 message")],
)
def test_a_message_counts_things_in_words(count: int, text: str) -> None:
    fields: dict[str, object] = {"qmgr": "QM1", "target": "QM2.1", "units_of_work": count, "messages": 1}
    assert text_of("CSQE014I", fields) == f"QM1 recovery of QM2.1: phase 2 completed, {text}"
