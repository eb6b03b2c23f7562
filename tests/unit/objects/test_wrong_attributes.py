"""Every attribute of every object with values that it does not take: the error is a line in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from sharedq.objects.definitions.attributes import Attribute, attributes_of
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.inert_attributes import MODELS

WRONG = ("*", "?", "x" * 5_000, "1x", "-1", "99999999999", "é", "a b", "'", "2026-13-99", "[0-9]", "")
#: Marks that only a regular expression has.
_EXPRESSION = re.compile(r"\^|\$['\"]|\\[dws]|\[0-9\]|\{\d+(,\d*)?\}|[)*+]\?|pattern|pydantic|\(\?")


def _attributes() -> Iterator[tuple[str, Attribute]]:
    for kind, model in MODELS.items():
        for attribute in attributes_of(model):
            yield kind, attribute


def _errors(kind: str, attribute: Attribute) -> Iterator[tuple[str, str]]:
    """Each wrong value with its error: of MQSC's reading first, then of the definition."""
    for wrong in WRONG:
        try:
            value = attribute.parse(wrong)
        except ValueError as error:
            yield wrong, str(error)
            value = wrong
        try:
            parse_definition(MODELS[kind], {"name": "A", attribute.field: value})
        except ValueError as error:
            yield wrong, str(error)


def test_no_error_about_an_attribute_shows_a_regular_expression() -> None:
    found = [(wrong, text) for kind, attribute in _attributes() for wrong, text in _errors(kind, attribute)]

    assert len(found) > 1_000
    for wrong, text in found:
        shown = text.replace(wrong, "") if wrong else text
        assert not _EXPRESSION.search(shown), (wrong, text)
        assert "\n" not in text


def test_every_pattern_of_an_attribute_has_words() -> None:
    for kind, model in MODELS.items():
        for name, info in model.model_fields.items():
            if any(getattr(each, "pattern", None) for each in info.metadata):
                assert info.description, (kind, name)


def test_the_words_of_a_pattern_are_what_is_expected() -> None:
    with pytest.raises(ValueError, match=r"^DESTCORL\(xyz\): 48 hexadecimal digits expected$"):
        parse_definition(MODELS["SUB"], {"name": "A", "destination_correl_id": "xyz"})
