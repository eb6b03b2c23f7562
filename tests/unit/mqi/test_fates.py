"""Each option and field of a call is read, or has its fate on a page; so has each reason that IBM lists for a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from docs.generator import fates
from sharedq.mqi.constants import MQRC


def test_each_option_is_named_by_the_code_or_has_a_fate() -> None:
    unnamed = {".".join(each) for each in fates.unnamed_options()}
    assert unnamed == {name for names in fates.OPTION_FATES.values() for name in names}


def test_each_field_is_read_by_the_code_or_has_a_fate() -> None:
    unread = {".".join(each) for each in fates.unread_fields()}
    assert unread == {name for names in fates.FIELD_FATES.values() for name in names}


def test_each_field_of_a_client_connection_is_read_by_the_code_or_has_a_fate() -> None:
    assert set(fates.unread_client_fields()) == {name for names in fates.CLIENT_FATES.values() for name in names}


def test_each_listed_reason_is_given_or_has_a_cause() -> None:
    assert fates.never_given() == {name for names in fates.NEVER.values() for name in names}


def test_each_listed_reason_is_one_of_ibms() -> None:
    assert {name for names in fates.VERB_REASONS.values() for name in names} <= set(MQRC.__members__)


@pytest.mark.parametrize("table", [fates.OPTION_FATES, fates.FIELD_FATES, fates.CLIENT_FATES, fates.NEVER])
def test_each_name_has_one_fate(table: Mapping[str, tuple[str, ...]]) -> None:
    counts = Counter(name for names in table.values() for name in names)
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_member_that_an_alias_of_its_family_names_is_found() -> None:
    assert ("SubOption", "CREATE") in fates.named_members()
    assert ("MQRC", "CONN_TAG_IN_USE") in fates.named_members()
