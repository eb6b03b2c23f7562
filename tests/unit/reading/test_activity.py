"""The latest activity of queues, from journal entries."""

from __future__ import annotations

import pytest

from sharedq.reading.activity import activity_of


def entry(at_ms: int, event: str, **fields: str) -> tuple[bytes, list[bytes]]:
    flat = [part.encode() for name, value in ({"e": event} | fields).items() for part in (name, value)]
    return f"{at_ms}-0".encode(), flat


def test_last_put_last_get_and_the_time_between() -> None:
    found = activity_of(
        [entry(1000, "put", q="Q", i="1"), entry(1500, "put", q="Q", i="2x"), entry(3000, "get", q="Q", i="1 2x")]
    )

    queue = found.queues["Q"]
    assert (queue.last_put_ms, queue.last_get_ms) == (1500, 3000)
    assert queue.short_s == pytest.approx(2.0 - 0.5 / 4)
    assert queue.long_s == pytest.approx(2.0 - 0.5 / 32)


def test_a_hop_is_a_get_here_and_a_put_there() -> None:
    found = activity_of(
        [
            entry(1000, "put", q="SYSTEM.QSG.TRANSMIT.QUEUE@QM2", i="1.3"),
            entry(1200, "transfer", q="SYSTEM.QSG.TRANSMIT.QUEUE@QM2", t="Q", i="1.3"),
            entry(1300, "get", q="Q", i="1.3"),
        ]
    )

    assert found.hops == [0.2]
    assert found.queues["SYSTEM.QSG.TRANSMIT.QUEUE"].last_get_ms == 1200
    assert (found.queues["Q"].last_put_ms, found.queues["Q"].short_s) == (1200, 0.1)


def test_a_get_whose_put_was_earlier_has_no_time_on_the_queue() -> None:
    queue = activity_of([entry(1, "get", q="Q", i="1")]).queues["Q"]

    assert (queue.last_get_ms, queue.short_s, queue.last_put_ms) == (1, None, None)


def test_commits_and_backouts_are_passed_over() -> None:
    assert not activity_of([entry(1, "commit", u="u", n="1", r=""), entry(2, "backout", u="u", n="1")]).queues
