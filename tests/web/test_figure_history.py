"""The figures of the last day: one console notes them each minute, in a ring that does not grow."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from igq.operations.status import RecoveryStatus
from igq.web.figure_history import FigureHistory, time_line
from sharedq.mqi.constants import OpenOption
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.reading.figures import FigureReader, GroupFigures
from sharedq.reading.history import (
    MOST_LOOKS,
    SPANS,
    GroupLook,
    ManagerLook,
    note_figures,
    read_group_history,
    read_history,
)
from tests.support.members import TestGroup

_MINUTE = 60_000


def figures(group: TestGroup, ago: int = 0) -> GroupFigures:
    """The figures as they are, as of so many minutes ago."""
    found = FigureReader(group.group).read()
    return replace(found, now_ms=found.now_ms - ago * _MINUTE)


def note_minutes(group: TestGroup, minutes: Iterable[int]) -> GroupFigures:
    """Note one look as that of each of these minutes ago, the earliest first. Return the look, of now."""
    look = figures(group)
    for ago in sorted(minutes, reverse=True):
        note_figures(group.group, replace(look, now_ms=look.now_ms - ago * _MINUTE))
    return look


def test_a_look_tells_depth_age_and_counted_puts_and_gets(group: TestGroup) -> None:
    repository = group.repository("QM1")
    repository.define(QueueLocal(name="PRIVATE"))
    repository.define(QueueLocal(name="SHARED", disposition="SHARED", structure="APPL1"))
    repository.alter_qmgr("QM1", {"performance_event": "ENABLED"})
    connection = group.connect("QM1")
    note_figures(group.group, figures(group, 9))
    with connection.open("PRIVATE", OpenOption.OUTPUT | OpenOption.INPUT_SHARED) as queue:
        for _ in range(3):
            queue.put(b"x")
        queue.get()
    connection.put1("SHARED", b"x")
    note_figures(group.group, figures(group, 8))

    before, after = read_history(group.group, "PRIVATE", "QM1", "hour")
    assert 59_000 < after.at_ms - before.at_ms < 90_000
    assert (before.depth, before.oldest_s, after.depth) == (0, None, 2)
    assert after.oldest_s is not None
    assert (after.puts, after.gets) == (3, 1)
    assert [each.depth for each in read_history(group.group, "SHARED", "", "hour")] == [0, 1]
    assert [each.depth for each in read_history(group.group, "PRIVATE", "", "hour")] == [0, 0]
    none = read_history(group.group, "NONE", "QM1", "hour")
    assert [(each.depth, each.oldest_s, each.puts) for each in none] == [(0, None, None), (0, None, None)]


@pytest.mark.invariant(4)
@pytest.mark.parametrize("span", SPANS)
def test_a_ring_has_the_looks_of_its_span_and_no_more(group: TestGroup, span: str) -> None:
    step, most = SPANS[span]
    look = note_minutes(group, range(most + 2 * step))
    last = look.now_ms // _MINUTE
    times = [each.at_ms // _MINUTE for each in read_history(group.group, "ANY", "QM1", span)]
    wanted = [minute for minute in range(last - most + 1, last + 1) if minute % step == 0]
    # The clock may have gone on to the next minute.
    assert times in (wanted, [minute for minute in wanted if minute != last - most + 1])
    assert [each.at_ms // _MINUTE for each in read_group_history(group.group, span)] == times


@pytest.mark.invariant(4)
def test_each_look_is_kept_as_long_as_its_longest_span(group: TestGroup) -> None:
    look = note_minutes(group, range(30))
    client, last = group.group.client(), look.now_ms // _MINUTE
    for ago in range(30):
        minute = last - ago
        hours = 24 if minute % 15 == 0 else 6 if minute % 5 == 0 else 1
        assert hours * 3_600 - 120 < client.ttl(group.group.keys.history_at(minute % 1_440)) <= hours * 3_600


def test_two_thousand_queues_take_less_than_sixteen_megabytes(group: TestGroup) -> None:
    look = figures(group)
    (queue, *_) = [each for each in look.queues if each.qmgr]
    many = [
        replace(
            queue,
            name=f"SOME.APPLICATION.QUEUE.{number * 7_919 % 100_003:06}",
            state=replace(queue.state, available=number * 7_907 % 100_003),
            oldest_ms=look.now_ms - number * 7_901 % 100_003 * 1_000,
            counts=(1, number * 31, number * 17),
        )
        for number in range(2_000)
    ]
    note_figures(group.group, replace(look, queues=many))
    (key,) = group.group.client().scan_iter(f"{group.group.keys.history}*")
    assert (group.group.client().memory_usage(key) or 0) * MOST_LOOKS < 16_000_000
    (found,) = read_history(group.group, many[7].name, "QM1", "hour")
    assert (found.depth, found.oldest_s) == (7 * 7_907, 7 * 7_901)
    assert (found.puts, found.gets) == (7 * 31, 7 * 17)


def test_a_look_is_one_write_whatever_its_span(group: TestGroup) -> None:
    look = figures(group)
    client = group.group.client()
    for minute in (1, 5, 15):
        at = look.now_ms // _MINUTE // 15 * 15 + minute
        before = client.dbsize(), set(client.scan_iter(f"{group.group.keys.history}*"))
        note_figures(group.group, replace(look, now_ms=at * _MINUTE))
        assert len(set(client.scan_iter(f"{group.group.keys.history}*")) - before[1]) == 1


def test_queues_of_the_system_are_not_noted_but_for_dead_letters(group: TestGroup) -> None:
    repository = group.repository("QM1")
    connection = group.connect("QM1")
    names = ("SYSTEM.DEAD.LETTER.QUEUE", "SYSTEM.OTHER", "A")
    for name in names:
        repository.define(QueueLocal(name=name), replace=True)
        connection.put1(name, b"x")
    note_figures(group.group, figures(group))
    noted = [read_history(group.group, name, "QM1", "hour")[-1].depth for name in names]
    assert noted == [1, 0, 1]


def test_a_look_tells_managers_and_what_an_operator_must_look_at(group: TestGroup) -> None:
    agent = {"state": "RETRY", "short_retries": 3, "long_retries": 2, "pid": 1}
    group.group.client().hset(group.group.keys.agents, "QM1", json.dumps(agent))
    FigureHistory(group.settings).look()
    (look,) = read_group_history(group.group, "hour")
    assert look.managers["QM1"] == ManagerLook(1, "RUNNING", 5)
    assert "IGQ agent of QM1: RETRY" in look.troubles


def test_one_of_the_consoles_looks_in_a_minute(group: TestGroup) -> None:
    first, second = FigureHistory(group.settings), FigureHistory(group.settings)
    first.look()
    (look,) = read_group_history(group.group, "hour")
    second.look()
    assert read_group_history(group.group, "hour") == [look]


def test_a_look_that_fails_harms_nobody(group: TestGroup) -> None:
    group.group.client().hset(group.group.keys.group, "job figures", "no number")
    FigureHistory(group.settings).look()


def test_the_time_line_tells_what_has_changed_between_two_looks() -> None:
    ends = ManagerLook(1, "RUNNING", 0)
    looks = [
        GroupLook(1_000, {"QM1": ends, "QM2": ends}, ()),
        GroupLook(
            2_000,
            {"QM1": ends, "QM2": ManagerLook(1, "FAILED", 0)},
            (
                "queue manager QM2: FAILED, its lease has run out",
                "structure APPL1: FAILED",
                "queue D1 at QM1: 1 dead letter",
                "recovery of QM2.1 by QM1: CLAIMED",
            ),
        ),
        GroupLook(
            3_000,
            {"QM1": ManagerLook(1, "STOPPED", 0), "QM2": ManagerLook(2, "RUNNING", 0)},
            ("queue D1 at QM1: 2 dead letters", "queue D2 at QM1: 1 dead letter"),
        ),
    ]
    detected = datetime.fromtimestamp(2.5, UTC)
    recovery = RecoveryStatus(
        detected_at=detected, failed="QM2.1", by="QM1", state="RESOLVED", units_of_work=4, messages=9, seconds=0.1
    )
    assert sorted(time_line(looks, [recovery])) == sorted(
        [
            (2_000, "queue manager QM2: FAILED, its lease has run out"),
            (2_000, "structure APPL1: FAILED"),
            (2_000, "queue D1 at QM1: 1 dead letter"),
            (2_500, "recovery of QM2.1 by QM1: RESOLVED, 4 units of work"),
            (3_000, "queue manager QM1: STOPPED"),
            (3_000, "queue manager QM2 has started (start 2)"),
            (3_000, "queue manager QM2: RUNNING"),
            (3_000, "no longer: queue manager QM2: FAILED, its lease has run out"),
            (3_000, "no longer: structure APPL1: FAILED"),
            (3_000, "queue D2 at QM1: 1 dead letter"),
        ]
    )
