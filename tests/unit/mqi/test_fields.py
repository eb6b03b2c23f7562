"""A compiled reader returns the same values as `attrgetter`."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter

import pytest

from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO
from sharedq.mqi.types import reader, reader_into


@pytest.mark.parametrize("structure", [MQMD, MQGMO, MQPMO, MQOD])
def test_a_reader_returns_the_fields_in_their_order(structure: type) -> None:
    names = [field.name for field in fields(structure)]
    value = structure(version=2)
    assert reader(names)(value) == attrgetter(*names)(value)
    assert reader(names[1:])(value) == attrgetter(*names[1:])(value)


def test_a_reader_of_one_field_returns_a_tuple() -> None:
    assert reader(["priority"])(MQMD(priority=4)) == (4,)


def test_a_reader_makes_a_call_with_the_fields() -> None:
    told = reader_into(lambda *values: values, ["msg_type", "report"])(MQMD(msg_type=1, report=2))
    assert told == (1, 2)


def test_a_reader_refuses_another_structure() -> None:
    with pytest.raises(AttributeError):
        reader(["msg_id"])(MQGMO())
