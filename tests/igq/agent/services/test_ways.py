"""The way that the messages of a part take next: every combination of what can be known."""

from __future__ import annotations

from itertools import product

import pytest

from igq.agent.services.part import Batch, Known, Way, next_way

pytestmark = pytest.mark.share

#: By batch, is_waiting, is_stuck, is_checked ("": either): the way. The first row that fits counts.
TABLE = [
    (Batch.NONE, True, "", "", Way.HOP),
    (Batch.NONE, False, True, "", Way.TAKE),
    (Batch.NONE, False, False, "", Way.MOVE),
    (Batch.MISSING, "", "", "", Way.WAIT),
    (Batch.TAKEN, "", "", False, Way.CARRY),
    (Batch.TAKEN, "", "", True, Way.PUT),
    (Batch.CARRIED, "", "", "", Way.TAKE),
    (Batch.CARRIED_TO_OWN, "", "", "", Way.COMMIT),
    (Batch.NOT_CARRIED, "", "", "", Way.PUT),
    (Batch.BACKED_OUT, "", "", "", Way.TAKE),
    (Batch.DONE, "", "", "", Way.MOVE),
]
ALL = [
    Known(is_waiting, is_stuck, batch, is_checked)
    for batch in Batch
    for is_waiting, is_stuck, is_checked in product((False, True), repeat=3)
]


def rows(known: Known) -> list[Way]:
    facts = (known.batch, known.is_waiting, known.is_stuck, known.is_checked)
    return [way for *row, way in TABLE if all(cell in ("", fact) for cell, fact in zip(row, facts, strict=True))]


@pytest.mark.parametrize("known", ALL, ids=lambda known: f"{known.batch.name}-{known[0]:d}{known[1]:d}{known[3]:d}")
def test_each_combination_of_what_is_known_has_one_way(known: Known) -> None:
    assert [next_way(known)] == rows(known)


def test_a_round_begins_with_a_move() -> None:
    assert next_way(Known()) is Way.MOVE


def test_a_batch_that_went_back_is_put_and_never_carried_again() -> None:
    """Else the agent would try the same batch for ever."""
    assert next_way(Known(is_stuck=True, batch=Batch.BACKED_OUT)) is Way.TAKE
    assert next_way(Known(is_stuck=True, batch=Batch.NOT_CARRIED)) is Way.PUT
