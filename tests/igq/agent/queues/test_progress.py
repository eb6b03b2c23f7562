"""The state that a part of the transmit queue keeps from one move to the next."""

from __future__ import annotations

import pytest

from igq.agent.queues.transmission_queue import BATCH_MESSAGES
from igq.agent.queues.transmit_part import BATCHES_PER_WRITE, WRITES_MAX, Moved, Progress

FULL = BATCHES_PER_WRITE * BATCH_MESSAGES


@pytest.mark.parametrize(
    ("last", "calls"),
    [
        (Moved(), (1, 1)),
        (Moved(left=BATCH_MESSAGES - 1), (1, 1)),
        (Moved(left=BATCH_MESSAGES), (2, 1)),
        (Moved(left=FULL - 1), (BATCHES_PER_WRITE, 1)),
        (Moved(left=FULL), (BATCHES_PER_WRITE, WRITES_MAX)),
        (Moved(left=FULL, is_stuck=True), (BATCHES_PER_WRITE, 1)),
        (Moved(left=FULL, unknown={b"1"}), (BATCHES_PER_WRITE, 1)),
        (Moved(left=FULL, stale={b"A"}), (BATCHES_PER_WRITE, 1)),
    ],
)
def test_the_last_move_decides_how_many_calls_the_next_one_makes(last: Moved, calls: tuple[int, int]) -> None:
    assert Progress().moved(last).calls() == calls


def test_messages_of_a_failed_move_count_once() -> None:
    failed = Progress().failed(3)
    assert (failed.uncounted, failed.counted().uncounted) == (3, 0)


def test_destinations_that_were_met_are_kept_until_they_are_learned() -> None:
    met = Progress().met({b"1"}).met({b"2"})
    assert met.unlearned == met.moved(Moved()).unlearned == frozenset({b"1", b"2"})
    assert met.learned() == Progress()
