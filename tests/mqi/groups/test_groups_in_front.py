"""Complete messages come in physical order, even with more incomplete ones in front than a get can examine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from sharedq import Queue
from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, LSEG, MIG, SEG, drain, matching, take
from tests.support.members import TestGroup

ALL_MSGS, ALL_SEGMENTS = int(GetOption.ALL_MSGS_AVAILABLE), int(GetOption.ALL_SEGMENTS_AVAILABLE)
COMPLETE, FIRST = int(GetOption.COMPLETE_MSG), int(GetOption.BROWSE_FIRST)
CORREL, OTHER = b"C" * 24, b"D" * 24
#: More messages than one call examines.
MANY = 300

Member = tuple[bytes, int, int, int, bytes]
#: Two groups: one of a message and a logical message, one of a logical message.
MEMBERS: list[Member] = [
    (b"a", 1, 0, MIG, OTHER),
    (b"a", 2, 0, LMIG | SEG, OTHER),
    (b"a", 2, 2, LMIG | LSEG, CORREL),
    (b"b", 1, 0, LMIG | SEG, CORREL),
    (b"b", 1, 2, LMIG | LSEG, OTHER),
]
#: The MsgSeqNumber, Offset and CorrelId of the get.
ASKED = [
    (0, -1, b""),
    (1, -1, b""),
    (2, -1, b""),
    (0, 0, b""),
    (0, 2, b""),
    (2, 2, b""),
    (0, -1, CORREL),
    (2, -1, CORREL),
]


def member(group_id: bytes, seq: int, offset: int, flags: int, correl_id: bytes) -> MQMD:
    return MQMD(
        version=2,
        group_id=group_id.ljust(24, b"."),
        msg_seq_number=seq,
        offset=offset,
        msg_flags=flags,
        correl_id=correl_id,
    )


def asked_by(seq: int, offset: int, correl_id: bytes) -> dict[str, Any]:
    return matching(seq=seq, offset=offset, **({"correl_id": correl_id} if correl_id else {}))


def fitting_of(members: Sequence[Member], seq: int, offset: int, correl_id: bytes) -> list[bytes]:
    """The positions of the messages that fit."""
    return [
        b"%02d" % at
        for at, each in enumerate(members)
        if seq in (0, each[1]) and offset in (-1, each[2]) and correl_id in (b"", each[4])
    ]


def put_incomplete(queue: Queue, count: int, flags: int) -> None:
    """One message of each number, and at each Offset, in its own group."""
    places = [(seq, offset) for seq in (1, 2) for offset in ((0, 2) if flags & SEG else (0,))]
    for seq, offset in places:
        name = b"-%d-%d-%d" % (seq, offset, flags)
        queue.put_many([(member(b"%d" % at + name, seq, offset, flags, CORREL), b"x") for at in range(count)])


@pytest.mark.rule(
    "mqi/match",
    "A get of complete groups or messages returns the first in physical order that fits, however groups are mixed.",
)
@pytest.mark.parametrize("level", [ALL_MSGS, ALL_SEGMENTS])
def test_the_first_in_physical_order_is_found_among_mixed_complete_ones(group: TestGroup, level: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_incomplete(queue, MANY, SEG)
    if level == ALL_MSGS:
        put_incomplete(queue, MANY, MIG)
    for order in permutations(MEMBERS):
        queue.put_many([(member(*each), b"%02d" % at) for at, each in enumerate(order)])
        for seq, offset, correl_id in ASKED:
            fitting, asked = fitting_of(order, seq, offset, correl_id), asked_by(seq, offset, correl_id)
            assert take(queue, FIRST | level, **asked) == fitting[0]
            heads = [body for body in fitting if not order[int(body)][2]]
            if offset < 0:
                whole = take(queue, FIRST | COMPLETE | (level & ALL_MSGS), **asked)
                assert whole[:2] == (heads[0] if heads else b"")
        for name in (b"a", b"b"):
            drain(queue, **matching(name))


@pytest.mark.rule("mqi/match", "A browse of complete groups also counts a group that began before the cursor.")
@pytest.mark.parametrize("level", [ALL_MSGS, ALL_SEGMENTS])
@pytest.mark.parametrize("first", MEMBERS, ids=lambda each: b"%s%d%d" % each[:3])
def test_groups_that_began_before_a_cursor_count_after_it(group: TestGroup, level: int, first: Member) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    others = [each for each in MEMBERS if each != first]
    queue.put(b"--", member(*first))
    put_incomplete(queue, MANY, SEG)
    queue.put_many([(member(*each), b"%02d" % at) for at, each in enumerate(others)])
    for seq, offset, correl_id in ASKED:
        assert take(queue, FIRST | level, **matching(*first[:3])) == b"--"
        fitting = fitting_of(others, seq, offset, correl_id)
        found = take(queue, GetOption.BROWSE_NEXT | level, **asked_by(seq, offset, correl_id))
        assert found == (fitting[0] if fitting else b"")


@pytest.mark.rule(
    "mqi/match",
    "A get of complete groups or messages returns the first in physical order that fits, however groups are mixed.",
)
@pytest.mark.parametrize("level", [ALL_MSGS, ALL_SEGMENTS])
def test_it_is_found_after_many_complete_ones_that_do_not_fit(group: TestGroup, level: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_incomplete(queue, MANY, SEG)
    queue.put_many([(member(b"other%d" % at, 1, 0, LMIG, OTHER), b"no") for at in range(MANY)])
    asked = matching(correl_id=CORREL)
    assert take(queue, level, **asked) == b""
    queue.put(b"yes", member(b"it", 1, 0, LMIG, CORREL))
    assert take(queue, FIRST | level, **asked) == b"yes"
    assert take(queue, level, **asked) == b"yes"
    assert take(queue, level, **asked) == b""


@pytest.mark.rule(
    "mqi/match",
    "A get of complete groups or messages returns the first in physical order that fits, however groups are mixed.",
)
@pytest.mark.parametrize("level", [ALL_MSGS, ALL_SEGMENTS])
def test_it_is_found_at_the_end_of_a_long_group_or_message(group: TestGroup, level: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_incomplete(queue, MANY, SEG)
    long, last = 2 * MANY, member(b"long", 1, 0, LMIG | LSEG, CORREL)
    queue.put_many([(member(b"long", 1, at, LMIG | SEG, OTHER), b"%d" % (at % 10)) for at in range(long)])
    queue.put(b"last", replace(last, offset=long))
    asked = matching(correl_id=CORREL)
    assert take(queue, level, **asked) == b"last"
    assert take(queue, level, **asked) == b""
