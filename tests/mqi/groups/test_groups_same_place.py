"""Members at one position of a group: the first counts, and the next one when the first has left."""

from __future__ import annotations

import random
import struct
from contextlib import closing
from typing import Any

import pytest

from sharedq import Queue
from sharedq.mqi.constants import GetOption
from sharedq.redis.keys import structure_keys
from tests.support.groups import BOTH, LMIG, LSEG, MIG, SEG, WHOLE_GROUP, drain, matching, put_member, take
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

SYNCPOINT, COMPLETE = int(GetOption.SYNCPOINT), int(GetOption.COMPLETE_MSG)
#: MsgSeqNumber, Offset, MsgFlags.
PLACES = [(1, 0, MIG), (1, 0, MIG | SEG), (1, 2, MIG | LSEG), (2, 0, LMIG), (2, 0, MIG), (3, 0, LMIG)]
#: Kinds of entries that end with the score of a member.
WITH_SCORE = b"cLSFfhwGH"

Member = tuple[bytes, tuple[int, int, int], bytes]


def index_of(group: TestGroup, name: str) -> list[bytes]:
    """The entries of the queue's index, with the body of each member in place of its score."""
    keys = structure_keys(group.settings.group, "APPL1")
    queue = keys.queue(name)
    client: Any = group.group.client()
    with closing(client):
        bodies = {
            struct.pack(">Q", int(score))[1:]: client.hget(keys.messages, identifier)[-2:]
            for identifier, score in client.zrange(queue.members, 0, -1, withscores=True)
        }
        entries = client.zrange(queue.index, 0, -1)
    found = []
    for entry in entries:
        if entry[:1] == b"K":
            found.append(b"K" + bodies[entry[1:8]] + entry[8:])
        else:
            found.append(entry[:-7] + bodies[entry[-7:]] if entry[-7:] in bodies else entry)
    return sorted(found)


def put(queue: Queue, member: Member) -> None:
    group, (seq, offset, flags), body = member
    put_member(queue, group, seq, body, flags, offset=offset, correl_id=b"C" * 24)


@pytest.mark.parametrize("seed", range(20))
def test_the_index_is_that_of_the_members_that_are_left(group: TestGroup, seed: int) -> None:
    """Members that came and went before leave no trace in the index."""
    chance = random.Random(seed)
    group.define_shared("Q")
    group.define_shared("FRESH")
    connection = group.connect()
    queue, fresh = connection.open("Q", BOTH), connection.open("FRESH", BOTH)
    members: list[Member] = []
    for number in range(60):
        if members and chance.random() < 0.4:
            taken = chance.choice(members)
            group_id, (seq, offset, _), _ = taken
            body = take(queue, SYNCPOINT, **matching(group_id, seq, offset))
            if chance.random() < 0.4:
                connection.backout()
            else:
                connection.commit()
                members = [each for each in members if each[2] != body]
        else:
            members.append((chance.choice([b"a", b"b"]), chance.choice(PLACES), b"%02d" % number))
            put(queue, members[-1])
        if number % 6 == 5:
            drain(fresh)
            for member in members:
                put(fresh, member)
            assert index_of(group, "Q") == index_of(group, "FRESH")


@pytest.mark.rule("mqi/groups", "Of messages at the same place of a group the first counts, and the next after it.")
def test_a_group_id_that_is_used_again_gives_one_group_after_the_other(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    for body in (b"1a", b"1b", b"1c"):
        put_member(queue, b"g", 1, body)
    for body in (b"2a", b"2b"):
        put_member(queue, b"g", 2, body, LMIG)
    assert drain(queue, WHOLE_GROUP) == [b"1a", b"2a", b"1b", b"2b"]
    put_member(queue, b"g", 2, b"2c", LMIG)
    assert drain(queue, WHOLE_GROUP) == [b"1c", b"2c"]


@pytest.mark.rule("mqi/groups", "Of segments at the same place the first is put together, and the next after it.")
@pytest.mark.parametrize("options", [COMPLETE, COMPLETE | SYNCPOINT])
def test_segments_at_one_place_are_put_together_one_after_the_other(group: TestGroup, options: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    for body in (b"1a", b"1b"):
        put_member(queue, b"g", 1, body, SEG)
    for body in (b"2a", b"2b", b"2c"):
        put_member(queue, b"g", 1, body, LSEG, offset=2)
    assert drain(queue, options) == [b"1a2a", b"1b2b"]
    assert drain(queue) == [b"2c"]
