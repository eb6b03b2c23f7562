"""Attributes that do nothing: the table fits the models, and a command that asks for one of them says so."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from igq.mqsc.inertness import inert_warnings
from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import parse_command
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.inert_attributes import INERT, MODELS, Inert, inert_value

ROOT = Path(__file__).parents[3]


def warnings(text: str) -> list[str]:
    (source,) = split_commands([text])
    return inert_warnings(parse_command(source))


@pytest.mark.parametrize("inert", INERT, ids=lambda inert: f"{inert.kinds[0]}-{inert.keyword}")
def test_the_table_fits_the_models(inert: Inert) -> None:
    for kind in inert.kinds:
        attribute = by_keyword(MODELS[kind])[inert.keyword]
        if attribute.mqsc.words and not attribute.is_number:
            assert set(inert.done) <= set(attribute.words)


@cache
def words_of_sources() -> dict[Path, frozenset[str]]:
    """The words of each file of the product, but for the definitions."""
    return {
        path: frozenset(re.findall(r"\w+", path.read_text("utf-8")))
        for package in ("sharedq", "igq", "recovery")
        for pattern in ("*.py", "*.lua")
        for path in (ROOT / package).rglob(pattern)
        if "objects/definitions" not in path.as_posix()
    }


#: Their fields have names that mean other things elsewhere.
COMMON = ("STATQ", "ACCTQ", "SUBSCOPE", "SELECTOR", "PSPROP", "CLUSTER", "DEFBIND")
NAMED = [inert for inert in INERT if inert.keyword not in COMMON]


@pytest.mark.parametrize("inert", NAMED, ids=lambda inert: f"{inert.kinds[0]}-{inert.keyword}")
def test_nothing_acts_on_what_the_table_has(inert: Inert) -> None:
    field = by_keyword(MODELS[inert.kinds[0]])[inert.keyword].field
    assert sorted(path.as_posix() for path, words in words_of_sources().items() if field in words) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("DEFINE QLOCAL(A) TRIGGER DEFREADA(YES)", ["DEFREADA(YES) is kept"]),
        ("DEFINE QLOCAL(A) NOTRIGGER DEFREADA(DISABLED)", []),
        ("DEFINE QL(A) QDPHIEV(ENABLED) QDPLOEV(ENABLED) QDEPTHHI(70)", []),
        ("ALTER QLOCAL(A) QSVCIEV(HIGH) QSVCINT(5) STATQ(ON)", ["STATQ(ON) is kept"]),
        ("ALTER QALIAS(A) DEFPRESP(ASYNC)", []),
        ("ALTER QMGR PERFMEV(ENABLED) GROUPUR(ENABLED)", []),
        ("ALTER QMGR GROUPUR(DISABLED) CFCONLOS(TERMINATE)", []),
        ("DEFINE CFSTRUCT(A) RECAUTO(YES) OFFLOAD(SMDS)", ["OFFLOAD(SMDS) is kept"]),
        ("DELETE QLOCAL(A)", []),
    ],
)
def test_a_command_says_what_does_nothing(command: str, said: list[str]) -> None:
    found = warnings(command)
    assert len(found) == len(said)
    assert all(text in line for text, line in zip(said, found, strict=True))


def test_an_unknown_attribute_is_not_inert() -> None:
    assert inert_value("QLOCAL", "NONSENSE", "X") is None
