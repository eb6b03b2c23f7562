"""The figures of the last hour: one console notes them each minute, in a ring that does not grow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from igq.web.figure_history import FigureHistory
from sharedq.mqi.constants import OpenOption
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.reading.figures import FigureReader, GroupFigures
from sharedq.reading.history import PLACES, is_noted, note_figures, read_history
from tests.support.members import TestGroup


def figures(group: TestGroup, minute: int = 0) -> GroupFigures:
    """The figures as they are, as of a minute of the clock."""
    return replace(FigureReader(group.group).read(), now_ms=(29_000_000 + minute) * 60_000)


def test_a_look_tells_depth_and_counted_puts_and_gets(group: TestGroup) -> None:
    repository = group.repository("QM1")
    repository.define(QueueLocal(name="PRIVATE"))
    repository.define(QueueLocal(name="SHARED", disposition="SHARED", structure="APPL1"))
    repository.alter_qmgr("QM1", {"performance_event": "ENABLED"})
    connection = group.connect("QM1")
    note_figures(group.group, figures(group))
    with connection.open("PRIVATE", OpenOption.OUTPUT | OpenOption.INPUT_SHARED) as queue:
        for _ in range(3):
            queue.put(b"x")
        queue.get()
    connection.put1("SHARED", b"x")
    note_figures(group.group, figures(group, 1))

    before, after = read_history(group.group, "PRIVATE", "QM1")
    assert after.at_ms - before.at_ms == 60_000
    assert (before.depth, after.depth) == (0, 2)
    assert (after.puts, after.gets) == (3, 1)
    assert [each.depth for each in read_history(group.group, "SHARED", "")] == [0, 1]
    assert [each.depth for each in read_history(group.group, "PRIVATE", "")] == [0, 0]
    assert [(each.depth, each.puts) for each in read_history(group.group, "NONE", "QM1")] == [(0, None), (0, None)]


@pytest.mark.invariant(4)
def test_the_ring_has_the_latest_hour_and_no_more(group: TestGroup) -> None:
    look = figures(group)
    for minute in range(PLACES + 5):
        note_figures(group.group, replace(look, now_ms=look.now_ms + minute * 60_000))
    times = [each.at_ms for each in read_history(group.group, "ANY", "QM1")]
    assert times == [look.now_ms + minute * 60_000 for minute in range(5, PLACES + 5)]
    client = group.group.client()
    keys = list(client.scan_iter(f"{group.group.keys.history}*"))
    assert len(keys) == PLACES
    assert all(0 < client.ttl(key) <= 3_600 for key in keys)


def test_two_thousand_queues_take_a_few_megabytes(group: TestGroup) -> None:
    look = figures(group)
    (queue, *_) = [each for each in look.queues if each.qmgr]
    busy = replace(queue.state, available=123_456)
    many = [
        replace(
            queue,
            name=f"SOME.APPLICATION.QUEUE.{number * 7_919 % 100_003:06}",
            state=busy,
            counts=(1, number * 31, number * 17),
        )
        for number in range(2_000)
    ]
    note_figures(group.group, replace(look, queues=many))
    (key,) = group.group.client().scan_iter(f"{group.group.keys.history}*")
    assert (group.group.client().memory_usage(key) or 0) * PLACES < 16_000_000
    (found,) = read_history(group.group, many[7].name, "QM1")
    assert (found.depth, found.puts, found.gets) == (123_456, 7 * 31, 7 * 17)


def test_queues_of_the_system_are_not_looked_at_but_for_dead_letters(group: TestGroup) -> None:
    repository = group.repository("QM1")
    for name in ("SYSTEM.DEAD.LETTER.QUEUE", "SYSTEM.OTHER", "A"):
        repository.define(QueueLocal(name=name), replace=True)
    assert {each.name for each in FigureReader(group.group, is_noted).read().queues} == {
        "SYSTEM.DEAD.LETTER.QUEUE",
        "A",
    }


def test_one_of_the_consoles_looks_in_a_minute(group: TestGroup) -> None:
    first, second = FigureHistory(group.group), FigureHistory(group.group)
    first.look()
    (look,) = read_history(group.group, "ANY", "QM1")
    second.look()
    assert read_history(group.group, "ANY", "QM1") == [look]


def test_a_look_that_fails_harms_nobody(group: TestGroup) -> None:
    group.group.client().hset(group.group.keys.group, "job figures", "no number")
    FigureHistory(group.group).look()
