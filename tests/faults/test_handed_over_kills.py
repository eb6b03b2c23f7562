"""Programs that are killed while they wait, or are handed what they wait for: each message is in one place."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest

from recovery.resolve import recover
from sharedq.mqi.constants import OpenOption
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.faults

ROUNDS = 15
#: Longest time between the beginning of a wait and the kill, seconds; the put is somewhere in between.
SPREAD_S = 0.004


def test_whoever_is_killed_has_it_or_gives_it_back(group: TestGroup) -> None:
    """What the journal says was got and not returned is what the dead ones took along: nothing else is missing."""
    group.define_shared("Q")
    chance = random.Random(7)
    with group.connect() as connection:
        queue = connection.open("Q", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
        for number in range(ROUNDS):
            body = b"%d" % number
            program = Program(group.settings)
            process = program.token.rpartition(".")[0]
            program.ask("wait")
            if chance.random() < 0.5:
                until(lambda: _waiters(group) == 1, "it waits")
            time.sleep(chance.random() * SPREAD_S)
            queue.put(body)
            time.sleep(chance.random() * SPREAD_S)
            program.process.kill()
            told = program.process.communicate()[0].strip()
            group.group.client().zadd(group.group.keys.leases, {process: 1}, xx=True)
            assert recover(group.group, connection.connection, process).is_resolved
            here = on_queue(group, "Q")
            away = _taken(group)
            assert (here, away) in (([(body, 0)], Counter()), ([], Counter({process: 1}))), number
            assert not told or (told.encode(), here) == (body, [])
            assert _waiters(group) == 0
            if here:
                assert queue.get().body == body
            group.group.client().delete(group.group.structure("APPL1").journal)


def _waiters(group: TestGroup) -> int:
    return group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters)


def _taken(group: TestGroup) -> Counter[str]:
    """By the journal: how many messages each process got, those not counted that came back."""
    found = Counter[str]()
    entries: Any = group.group.client().xrange(group.group.structure("APPL1").journal)
    for _, fields in entries:
        if fields[b"e"] in (b"get", b"return"):
            found[fields[b"o"].decode().rpartition(".")[0]] += 1 if fields[b"e"] == b"get" else -1
    return Counter({process: count for process, count in found.items() if count})
