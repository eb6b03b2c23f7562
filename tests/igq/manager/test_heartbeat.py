"""Managers renew, look and ask, in virtual time: the cost of an idle group, and how soon a death is seen."""

from __future__ import annotations

import heapq
import random
from itertools import pairwise

import pytest

from igq.manager.membership import BEAT_MIN_S, LOOK, Heartbeat
from recovery.target import due

pytestmark = pytest.mark.share

LEASE_S = 5.0
PERIOD_S = LEASE_S / 3
#: Redis commands of a beat that looks or asks, and one more if it does both: `test_membership` counts them.
BEAT_COMMANDS = 4


class Group:
    """Managers that beat, each with a process and an agent; Redis answers after up to *delay_s*."""

    def __init__(self, count: int, delay_s: float, seed: int = 1) -> None:
        self._draw = random.Random(seed)
        self._delay_s = delay_s
        self.names = [f"M{number}.1" for number in range(count)]
        self._beats = {name: Heartbeat(LEASE_S) for name in self.names}
        self._leases: dict[str, int] = {}
        self._due: list[tuple[float, str]] = []
        self.dead: set[str] = set()
        #: The times at which each manager beat, looked, asked, and first saw that a dead one's lease had run out.
        self.beats: dict[str, list[float]] = {name: [] for name in self.names}
        self.looks: dict[str, list[float]] = {name: [] for name in self.names}
        self.asks: dict[str, list[float]] = {name: [] for name in self.names}
        self.seen: dict[str, float] = {}
        for name in self.names:
            heapq.heappush(self._due, (self._draw.uniform(0, LEASE_S), name))

    def run(self, until_s: float) -> None:
        while self._due[0][0] < until_s:
            at_s, name = heapq.heappop(self._due)
            if name not in self.dead:
                self._beat(name, at_s)
                heapq.heappush(self._due, (self._beats[name].next_s, name))

    def deadline_s(self, name: str) -> float:
        return self._leases[name] / 1000

    def _beat(self, name: str, due_s: float) -> None:
        # The thread wakes up a little late, and the call takes a little time to arrive.
        sent_s = due_s + self._draw.uniform(0, self._delay_s)
        now_ms = int(1000 * (sent_s + self._draw.uniform(0, self._delay_s)))
        beat = self._beats[name]
        looks, asks = beat.begin(due_s)
        for part in ("", ".1", ".2"):
            self._leases[name + part] = now_ms + int(1000 * LEASE_S)
        self.beats[name].append(due_s)
        if asks:
            self.asks[name].append(due_s)
        if looks:
            self.looks[name].append(due_s)
            first = heapq.nsmallest(LOOK, self._leases.items(), key=lambda lease: lease[1])
            found = due(first, now_ms, name)
            if found:
                self.seen.setdefault(name, now_ms / 1000)
            beat.looked(sent_s, now_ms, first, is_recovering=bool(found))
        beat.renewed(sent_s)


@pytest.mark.parametrize("delay_s", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("count", [1, 3, 64])
def test_an_idle_manager_beats_and_looks_no_more_often_than_it_must(count: int, delay_s: float) -> None:
    group, length_s = Group(count, delay_s), 300.0
    group.run(length_s)
    for name in group.names:
        assert len(group.beats[name]) <= 1.02 * length_s / PERIOD_S + 1
        commands = BEAT_COMMANDS * len(group.beats[name])
        commands += len(set(group.looks[name]) & set(group.asks[name]))
        assert commands <= 2.5 * length_s


@pytest.mark.parametrize("count", [3, 64])
def test_a_lease_is_renewed_in_time_and_every_second_beat_asks(count: int) -> None:
    group = Group(count, 0.01)
    group.run(100.0)
    for name in group.names:
        gaps = [later - earlier for earlier, later in pairwise(group.beats[name])]
        assert max(gaps) <= 1.02 * PERIOD_S + 0.02
        asked = [later - earlier for earlier, later in pairwise(group.asks[name])]
        assert max(asked) <= 2 * (1.02 * PERIOD_S + 0.02)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [2, 3, 64])
def test_every_peer_sees_a_death_in_the_moment_when_the_lease_runs_out(count: int, seed: int) -> None:
    group = Group(count, 0.001, seed)
    dying = group.names[seed % count]
    group.run(40.0 + seed / 7)
    group.dead.add(dying)
    group.run(60.0)
    for name in group.names:
        if name != dying:
            assert 0 <= group.seen[name] - group.deadline_s(dying) <= BEAT_MIN_S + 0.01


def test_during_a_recovery_each_beat_looks_and_every_second_one_asks() -> None:
    group = Group(3, 0.001)
    group.run(20.0)
    group.dead.add("M0.1")
    group.run(60.0)
    beats = [at_s for at_s in group.beats["M1.1"] if at_s > 30]
    assert set(beats) <= set(group.looks["M1.1"])
    assert len(beats) // 2 <= len(set(beats) & set(group.asks["M1.1"])) <= len(beats) // 2 + 1


def test_a_change_is_asked_for_at_once() -> None:
    beat = Heartbeat(LEASE_S)
    assert beat.begin(100.0) == (True, True)
    beat.looked(100.0, 1_000, [("M2.1", 4_000)], is_recovering=False)
    beat.renewed(100.0)
    assert beat.begin(101.0) == (False, True)
    beat.hurry()
    assert beat.next_s < 101.0
    assert beat.begin(105.0) == (True, True)
    assert beat.begin(105.0) == (True, False)
    beat.hurry()
    assert beat.begin(105.0) == (True, True)


def test_it_looks_at_once_where_what_was_seen_is_recovered() -> None:
    beat = Heartbeat(LEASE_S)
    beat.begin(100.0)
    beat.looked(100.0, 1_000, [("M2.1", 4_000)], is_recovering=True)
    beat.renewed(100.0)
    beat.look_again()
    assert beat.next_s < 100.0
    assert beat.begin(100.1)[0]


def test_one_that_is_being_given_up_is_never_renewed_again() -> None:
    beat = Heartbeat(LEASE_S)
    beat.stop()
    beat.hurry()
    beat.look_again()
    assert beat.next_s == float("inf")
