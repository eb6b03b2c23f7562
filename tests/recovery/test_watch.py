"""Leases that have run out: decided from leases and a time, without Redis."""

from __future__ import annotations

import pytest

from recovery.target import Target, due, next_look_ms, valid_qmgr_name

pytestmark = pytest.mark.share


def tokens(leases: dict[str, int], now_ms: int = 1000, own: str = "QM2.4") -> list[str]:
    return [target.token for target in due(leases.items(), now_ms, own)]


def test_a_lease_is_held_until_its_deadline() -> None:
    assert tokens({"QM1.3": 1001}) == []
    assert tokens({"QM1.3": 1000}) == ["QM1.3"]


def test_no_manager_recovers_itself() -> None:
    assert tokens({"QM2.4": 1, "!QM2.4": 1}) == []


def test_a_manager_recovers_its_own_dead_programs_and_connections() -> None:
    assert tokens({"QM2.4": 2000, "QM2.4.7": 1, "QM2.4.8.2": 2}) == ["QM2.4.7", "QM2.4.8.2"]


def test_a_living_manager_recovers_its_own_programs() -> None:
    assert tokens({"QM1.3": 2000, "QM1.3.7": 1}) == []


def test_the_recovery_of_a_dead_manager_covers_its_programs() -> None:
    assert tokens({"QM1.3": 2, "QM1.3.7": 1}) == ["QM1.3"]
    assert tokens({"!QM1.3": 2000, "QM1.3.7": 1}) == []


def test_a_program_whose_manager_is_gone_is_anybodys() -> None:
    assert tokens({"QM1.3.7": 1, "QM1.4": 2000}) == ["QM1.3.7"]


def test_a_claim_that_ran_out_is_taken_over_and_one_in_force_is_not() -> None:
    assert tokens({"!QM1.3": 999}) == ["QM1.3"]
    assert tokens({"!QM1.3": 1001}) == []


def test_an_earlier_incarnation_of_ones_own_is_recovered_like_any_other() -> None:
    assert tokens({"QM2.3": 1, "QM2.4": 2000}) == ["QM2.3"]


def test_dead_managers_come_first_and_the_longest_dead_of_them() -> None:
    leases = {"QM2.4.1": 1, "QM3.1": 20, "QM1.3": 10, "QM2.4.9.1": 2}
    assert tokens(leases) == ["QM1.3", "QM3.1", "QM2.4.1", "QM2.4.9.1"]


def test_the_next_look_is_when_the_earliest_lease_in_force_runs_out() -> None:
    assert next_look_ms([("QM1.3", 1400), ("QM3.1", 1200), ("QM2.4", 900)], 1000, 500) == 200
    assert next_look_ms([("QM1.3", 9000)], 1000, 500) == 500
    assert next_look_ms([], 1000, 500) == 500


@pytest.mark.parametrize("text", ["QM1.3", "QM1.3.7", "QM1.3.7.2", "!QM1.3", "!QM1.3.7.2"])
def test_a_target_says_its_token_again(text: str) -> None:
    target = Target.parse(text)
    assert ("!" if target.is_claim else "") + target.token == text
    assert target.incarnation_token == "QM1.3"


@pytest.mark.parametrize("text", ["", "QM1", "QM1.x", "QM1.1.2.3.4", "QM.A.1", "QM1.1 ", "!!QM1.1", "1QM.1"])
def test_a_lease_that_names_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="names no"):
        Target.parse(text)


def test_a_target_covers_what_is_under_it_and_not_what_merely_begins_alike() -> None:
    target = Target.parse("QM1.3")
    assert target.covers("QM1.3")
    assert target.covers("QM1.3.7.2")
    assert not target.covers("QM1.30.7.2")
    assert not Target.parse("QM1.3.7").covers("QM1.3.70")


@pytest.mark.parametrize("name", ["EWR", "Q", "qm_1", "A" * 48])
def test_names_that_queue_managers_can_have(name: str) -> None:
    assert valid_qmgr_name(name)


@pytest.mark.parametrize("name", ["", "A" * 49, "QM.1", "1QM", "QM1\n", "QM*", "{QM}", "Q M", "\u00c4"])
def test_names_that_queue_managers_cannot_have(name: str) -> None:
    assert not valid_qmgr_name(name)
