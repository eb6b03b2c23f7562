"""Sixty-four managers in one group: the cost of an idle group, and the death of one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import redis

from igq.agent.services.pool import LOOK_S as POOL_LOOK_S
from recovery.claim import recoveries
from sharedq.members.lease import RENEWALS_PER_LEASE
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.reading.journal import read_entries
from tests.support.crowd import Member, waiting_agents
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until
from tests.support.server import Server

pytestmark = pytest.mark.slow
MANY = 64
#: Managers that are started at the same time.
TOGETHER = 8
#: The default: the cost of an idle manager depends on it.
LEASE_MS = 5_000
#: Commands a second that an idle manager with its agent may cost.
LIMIT = 3.0
#: Beats of each manager that the test watches.
BEATS = 24
BEATS_A_SECOND = RENEWALS_PER_LEASE / (LEASE_MS / 1000)
#: The last start defines queues. Each agent lists the queues once more for that, at its next look.
BEATS_UNTIL_LISTED = 2 + math.ceil(POOL_LOOK_S * BEATS_A_SECOND)
PATIENCE_S = 300
LOOK_S = 0.05
START = Callable[[int], list[Member]]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[TestGroup]:
    """On its own server, whose commands are counted."""
    server = Server()
    test_group = TestGroup(server.url, tmp_path, lease_ms=LEASE_MS)
    yield test_group
    test_group.close()
    server.close()


def until_they_wait(group: TestGroup, members: Sequence[Member]) -> None:
    names = [member.name for member in members]
    until(
        lambda: all_live(members) and waiting_agents(group.group, names) == len(names),
        "all agents wait",
        PATIENCE_S,
        pause_s=LOOK_S,
    )


@pytest.fixture
def start(group: TestGroup) -> Iterator[START]:
    """Starts this many managers and waits until they have nothing more to do."""
    members: list[Member] = []

    def start_some(count: int) -> list[Member]:
        # Not all at once: they share one interpreter, in which a lease of five seconds can run out meanwhile.
        for first in range(1, count + 1, TOGETHER):
            numbers = range(first, min(first + TOGETHER, count + 1))
            members.extend(Member(group.settings, f"QM{number}") for number in numbers)
            until_they_wait(group, members)
        return members

    yield start_some
    for member in members:
        member.die()


def all_live(members: Sequence[Member]) -> bool:
    """Return True, or raise the error with which one of them has ended."""
    for member in members:
        if member.failure is not None:
            raise RuntimeError(f"{member.name} has ended") from member.failure
    return True


def until_all_beat(members: Sequence[Member], what: str, beats: int = 2) -> None:
    """So many whole beats of each."""
    before = [member.beats for member in members]
    until(
        lambda: all_live(members) and all(m.beats > then + beats for m, then in zip(members, before, strict=True)),
        what,
        PATIENCE_S,
        pause_s=LOOK_S,
    )


def commands(client: redis.Redis) -> int:
    """All commands of Redis, with those of scripts."""
    return sum(int(each["calls"]) for each in client.info("commandstats").values())


def backouts(group: TestGroup, structure: str) -> int:
    """The number of calls that backed something out there."""
    entries = read_entries(group.group.client(), group.group.structure(structure))
    return sum(entry.fields[b"e"] == b"backout" for entry in entries)


@pytest.mark.parametrize("count", [3, MANY])
def test_an_idle_manager_costs_at_most_three_commands_a_second(group: TestGroup, start: START, count: int) -> None:
    """Count by its own beats, three in a lease, so that a slow machine does not matter."""
    members = start(count)
    client = group.group.client()
    until_all_beat(members, "the work that starts cause is over", BEATS_UNTIL_LISTED)
    before, beaten = commands(client), sum(member.beats for member in members)
    wanted = beaten + count * BEATS
    until(lambda: sum(member.beats for member in members) >= wanted, "they beat", PATIENCE_S, pause_s=LOOK_S)
    beats, cost = sum(member.beats for member in members) - beaten, commands(client) - before
    assert cost / beats * BEATS_A_SECOND <= LIMIT


@pytest.mark.invariant(8)
def test_a_failure_that_many_see_is_recovered_once(group: TestGroup, start: START) -> None:
    """Every peer sees the end of its lease at the same moment, and wants to recover it."""
    victim, *peers = start(MANY)
    queues, structures = ("Q.APPL1", "Q.APPL2", "PRIVATE"), ("APPL1", "APPL2", f"@{victim.name}")
    for name, structure in zip(queues[:2], structures, strict=False):
        group.define_structure(structure)
        group.define_shared(name, structure)
    group.define_private(victim.name, "PRIVATE")
    program = group.connect(victim.name)
    for name in queues:
        queue = program.open(name, OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
        queue.put(b"got", options=PutOption.NO_SYNCPOINT)
        queue.get(GetOption.SYNCPOINT)
        queue.put(b"put", options=PutOption.SYNCPOINT)
    victim.die()

    def is_resolved() -> bool:
        return any(peer.heard("CSQE014I", victim.token) for peer in peers)

    until(is_resolved, "a peer has recovered it", PATIENCE_S, pause_s=LOOK_S)
    until_all_beat(peers, "all have looked again")
    for said in ("CSQE008I", "CSQE011I", "CSQE013I", "CSQE012I", "CSQE014I"):
        assert [peer.heard(said, victim.token) for peer in peers].count(0) == len(peers) - 1
        assert sum(peer.heard(said, victim.token) for peer in peers) == 1
    (recovery,) = (each for each in recoveries(group.group) if each.failed == victim.token)
    assert (recovery.state, recovery.claims, recovery.units_of_work, recovery.messages) == ("RESOLVED", 1, 1, 6)
    for name, structure in zip(queues, structures, strict=True):
        # Once, according to the count of backouts.
        assert on_queue(group, name, structure) == [(b"got", 1)]
        assert backouts(group, structure) == 1
