"""The generated parts of the documentation match the code and the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generator.invariants import INVARIANTS, attackers_of, claimed, scripts_of
from docs.generator.markers import claims
from docs.generator.pages import DOCS, generated_pages, parts_of, refresh
from docs.generator.rules import LONGEST_CELL, NO_OPTIONS, rules
from sharedq.mqi.constants import GetOption
from sharedq.pymqi import CMQCFC
from sharedq.redis.script_source import script_names

#: Invariants that are kept outside Redis, so that no header of a script claims them.
OUTSIDE_REDIS = {7, 9}
_MESSAGE = re.compile(r"\b(?:CSQ[A-Z0-9]\d{3}[A-Z]|IGQ\d{4}[A-Z])\b")
#: The separator of the cells of a row. One with a backslash is part of a cell.
_BAR = re.compile(r"(?<!\\)\|")


@pytest.mark.parametrize("page", generated_pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_a_generated_page_is_up_to_date(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == refresh(text), "run: python -m docs.generator"


def test_every_area_of_rules_is_on_a_page() -> None:
    parts = [part for page in generated_pages() for part in parts_of(page.read_text("utf-8"))]
    assert {f"rules {area}" for area in rules()} == {part for part in parts if part.startswith("rules ")}
    assert len(parts) == len(set(parts))


def test_every_message_that_a_page_names_is_on_the_page_of_messages() -> None:
    known = set(_MESSAGE.findall((DOCS / "reference" / "messages.md").read_text("utf-8")))
    named = {(page.name, each) for page in DOCS.rglob("*.md") for each in _MESSAGE.findall(page.read_text("utf-8"))}
    assert sorted((page, each) for page, each in named if each not in known) == []


def test_a_number_of_our_own_is_that_of_one_message() -> None:
    ids = _MESSAGE.findall((DOCS / "reference" / "messages.md").read_text("utf-8"))
    numbers = [each[:-1] for each in set(ids) if each.startswith("IGQ")]
    assert sorted(each for each in set(numbers) if numbers.count(each) > 1) == []


def test_every_rule_is_one_short_sentence() -> None:
    sentences = [sentence for area in rules().values() for sentence in area]
    assert [text for text in sentences if len(text) > LONGEST_CELL or text[-1] not in ".)"] == []


def test_every_get_option_has_a_rule() -> None:
    text = "\n".join(sentence for area, found in rules().items() if area.startswith("mqi/") for sentence in found)
    names = [name for name in GetOption.__members__ if name not in NO_OPTIONS]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("number", INVARIANTS)
def test_every_invariant_has_scripts_and_tests(number: int) -> None:
    assert attackers_of(number)
    assert bool(scripts_of(number)) != (number in OUTSIDE_REDIS)


def test_scripts_and_tests_claim_invariants_that_exist() -> None:
    assert set().union(*map(claimed, script_names())) == set(INVARIANTS) - OUTSIDE_REDIS
    attacked = {number for claim in claims() if claim.marker == "invariant" for number in claim.arguments}
    assert attacked == set(INVARIANTS)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_no_cell_of_a_table_is_long(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [cell.strip() for line in lines for cell in _BAR.split(line)]
    assert [cell for cell in cells if len(cell) > LONGEST_CELL] == []


def test_the_page_of_pcf_has_the_names_of_ibm_mq() -> None:
    page = (DOCS / "reference" / "pcf.md").read_text("utf-8")
    found = re.findall(r"`(MQ(?:IACF|IACH|CACF|CACH|BACF|GACF)_\w+)` \| (\d+) \|", page)
    assert len(found) > 100
    assert [(name, number) for name, number in found if getattr(CMQCFC, name, None) != int(number)] == []
