"""A logical-order get reads the messages of logical-order puts in order, whatever the physical order."""

from __future__ import annotations

import random
from typing import NamedTuple

from hypothesis import event, given
from hypothesis import strategies as st

from sharedq.logical import (
    ANY_OFFSET,
    ANY_SEQ,
    OK,
    UNUSED,
    HandleOrder,
    PutPosition,
    Wanted,
    after_get,
    after_put,
    check_close,
    check_get,
    check_request,
    put_position,
    split,
    wanted,
)
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MsgFlag, PutOption
from sharedq.mqi.structures import MQGMO, MQMD

LOGICAL = int(PutOption.LOGICAL_ORDER)
SYNCPOINT = int(PutOption.SYNCPOINT)
FIRST = (1, 0)


class Put(NamedTuple):
    """One MQPUT of a program."""

    flags: int
    length: int
    persistence: int
    options: int


class Stored(NamedTuple):
    """A message on the queue."""

    md: MQMD
    length: int
    in_unit: bool


@st.composite
def mostly_well_formed(draw: st.DrawFn) -> list[Put]:
    """Groups, segmented messages and plain ones in turn, with an occasional wrong put."""
    puts: list[Put] = []
    for _ in range(draw(st.integers(1, 6))):
        persistence = draw(st.integers(0, 1))
        options = LOGICAL | draw(st.sampled_from([0, SYNCPOINT]))
        messages = draw(st.integers(0, 4))
        for number in range(messages or 1):
            grouping = 0 if not messages else 24 if number == messages - 1 else 8
            segments = draw(st.integers(0, 3))
            for segment in range(segments or 1):
                flags = grouping | (0 if not segments else 6 if segment == segments - 1 else 2)
                flags |= draw(st.integers(0, 1))
                puts.append(Put(flags, draw(st.integers(1, 60)), persistence, options))
    wild = st.builds(
        Put, st.integers(0, 31), st.integers(0, 60), st.integers(0, 1), st.sampled_from([LOGICAL, LOGICAL | SYNCPOINT])
    )
    for _ in range(draw(st.integers(0, 4))):
        puts.insert(draw(st.integers(0, len(puts))), draw(wild))
    return puts[: draw(st.integers(1, len(puts)))]


def put_all(puts: list[Put], max_length: int) -> tuple[HandleOrder, list[Stored]]:
    """The messages after the program's puts. Refused puts have changed nothing."""
    order, queue, groups = UNUSED, [], 0
    for put in puts:
        md = MQMD(version=2, msg_flags=put.flags, persistence=put.persistence)
        position = put_position(order.puts, put.options, md, put.length)
        if not isinstance(position, PutPosition):
            event(f"refused: {position.name}")
            continue
        assert position.warning == MQRC.NONE
        group_id = position.group_id
        if group_id is None:
            groups += 1
            group_id = b"%024d" % groups
        pieces = split(bytes(put.length), position.msg_flags, max_length, offset=position.offset)
        if not isinstance(pieces, list):
            continue
        for piece in pieces:
            stored = MQMD(
                version=2,
                group_id=group_id,
                msg_seq_number=position.msg_seq_number,
                offset=piece.offset,
                msg_flags=piece.msg_flags,
                persistence=put.persistence,
            )
            queue.append(Stored(stored, len(piece.body), bool(put.options & SYNCPOINT)))
        order = after_put(order, put.options, position, group_id=group_id, persistence=put.persistence)
    return order, queue


def shuffled(queue: list[Stored], seed: int) -> list[Stored]:
    """Another physical order with the same order of the first messages."""
    firsts = iter([item for item in queue if (item.md.msg_seq_number, item.md.offset) == FIRST])
    mixed = list(queue)
    random.Random(seed).shuffle(mixed)
    return [next(firsts) if (item.md.msg_seq_number, item.md.offset) == FIRST else item for item in mixed]


def find(queue: list[Stored], want: Wanted) -> Stored | None:
    for item in queue:
        md = item.md
        if (
            want.group_id in (b"", md.group_id)
            and want.seq in (ANY_SEQ, md.msg_seq_number)
            and want.offset in (ANY_OFFSET, md.offset)
        ):
            return item
    return None


@given(mostly_well_formed(), st.sampled_from([20, 1000]), st.integers(0, 1000), st.booleans())
def test_a_logical_order_get_walks_what_logical_order_puts_left(
    puts: list[Put], max_length: int, seed: int, is_browse: bool
) -> None:
    put_order, queue = put_all(puts, max_length)
    waiting = shuffled(queue, seed)
    order, walked = UNUSED, list[Stored]()
    while True:
        options = int(GetOption.LOGICAL_ORDER)
        retained = order.browses if is_browse else order.gets
        if is_browse:
            options |= GetOption.BROWSE_NEXT
        elif retained.is_open and retained.in_unit:
            options |= GetOption.SYNCPOINT
        gmo = MQGMO(version=2, options=options, match_options=0)
        assert check_request(order, gmo, MQMD(version=2)) == MQRC.NONE
        item = find(waiting, wanted(order, gmo, MQMD(version=2)))
        if item is None:
            break
        if not retained.is_open and not is_browse and item.in_unit:
            options |= GetOption.SYNCPOINT
        assert check_get(order, options, item.md) == OK
        waiting.remove(item)
        walked.append(item)
        order = after_get(order, options, item.md, item.length)

    # Everything, in the order of the puts: also messages out of order, and a group without its end.
    assert walked == queue
    retained = order.browses if is_browse else order.gets
    assert retained.is_open == put_order.puts.is_open
    assert retained.incomplete == put_order.puts.incomplete
    event(f"left open: {retained.incomplete.name}")


@given(mostly_well_formed())
def test_close_warns_of_puts_left_open(puts: list[Put]) -> None:
    order, queue = put_all(puts, 1000)
    outcome = check_close(order)
    last = queue[-1].md.msg_flags if queue else 0
    in_message = bool(last & MsgFlag.SEGMENT) and not last & MsgFlag.LAST_SEGMENT
    in_group = bool(last & MsgFlag.MSG_IN_GROUP) and (in_message or not last & MsgFlag.LAST_MSG_IN_GROUP)
    expected = MQRC.INCOMPLETE_MSG if in_message else MQRC.INCOMPLETE_GROUP if in_group else MQRC.NONE
    assert outcome == (MQCC.WARNING if expected else MQCC.OK, expected)


@given(mostly_well_formed(), st.lists(st.booleans(), min_size=40, max_size=40), st.integers(0, 1000))
def test_physical_order_never_fails_and_leaves_the_position_of_its_message(
    puts: list[Put], logical_calls: list[bool], seed: int
) -> None:
    _, queue = put_all(puts, 1000)
    order = UNUSED
    for item, is_logical in zip(shuffled(queue, seed), logical_calls, strict=False):
        options = int(GetOption.MSG_UNDER_CURSOR) | (LOGICAL if is_logical else 0)
        before = order
        outcome = check_get(order, options, item.md)
        if outcome.comp_code == MQCC.FAILED:
            assert is_logical
            assert order is before
            continue
        assert outcome.comp_code == MQCC.OK or (not is_logical and before.gets.was_logical)
        order = after_get(order, options, item.md, item.length)
        afresh = after_get(UNUSED, options, item.md, item.length)
        assert order == afresh
