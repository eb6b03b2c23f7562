"""Segmentation by the queue manager, and reassembly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq.logical import NOTHING, UNUSED, Segment, after_get, reassembled, segment_status, split, stored_flags
from sharedq.mqi.constants import MQRC, GetOption, MsgFlag, MsgType
from sharedq.mqi.structures import MQMD

F = MsgFlag
MIG, LMIG, SEG, LSEG, SOK = (
    F.MSG_IN_GROUP,
    F.LAST_MSG_IN_GROUP,
    F.SEGMENT,
    F.LAST_SEGMENT,
    F.SEGMENTATION_ALLOWED,
)
GROUP = b"G" * 24
BODY = bytes(range(100))


def pieces(body: bytes, flags: int, max_length: int, offset: int = 0) -> list[Segment]:
    answer = split(body, flags, max_length, offset=offset)
    assert isinstance(answer, list), answer
    return answer


def as_messages(segments: list[Segment], **fields: object) -> list[tuple[MQMD, bytes]]:
    md = replace(MQMD(version=2, group_id=GROUP), **fields)  # type: ignore[arg-type]
    return [(replace(md, offset=offset, msg_flags=flags), body) for offset, flags, body in segments]


# -- splitting -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [F.NONE, SOK, MIG, SEG | SOK])
def test_a_message_that_fits_is_not_split(flags: int) -> None:
    assert split(BODY, flags, 100, offset=7) == [Segment(7, flags, BODY)]


@pytest.mark.rule(
    "mqi/put-groups",
    "SEGMENTATION_ALLOWED splits a message that MAXMSGL does not hold into segments of multiples of 16 bytes.",
)
@pytest.mark.parametrize(
    ("flags", "middle", "last"),
    [
        (SOK, SOK | SEG, SOK | SEG | LSEG),
        (SOK | MIG, SOK | MIG | SEG, SOK | MIG | SEG | LSEG),
        (SOK | MIG | LMIG, SOK | MIG | LMIG | SEG, SOK | MIG | LMIG | SEG | LSEG),
        # A segment is split further; only what ended the logical message ends it still.
        (SOK | SEG, SOK | SEG, SOK | SEG),
        (SOK | SEG | LSEG, SOK | SEG, SOK | SEG | LSEG),
    ],
)
def test_pieces_are_multiples_of_16_and_the_last_ends_what_was_ended(flags: int, middle: int, last: int) -> None:
    assert split(BODY, flags, 47, offset=1000) == [
        Segment(1000, int(middle), BODY[:32]),
        Segment(1032, int(middle), BODY[32:64]),
        Segment(1064, int(middle), BODY[64:96]),
        Segment(1096, int(last), BODY[96:]),
    ]


def test_a_message_that_cannot_be_split_is_too_big() -> None:
    assert split(BODY, F.NONE, 99) == MQRC.MSG_TOO_BIG_FOR_Q
    assert split(BODY, SEG, 99) == MQRC.MSG_TOO_BIG_FOR_Q
    assert split(BODY, SOK, 15) == MQRC.MSG_TOO_BIG_FOR_Q
    assert split(BODY, F.NONE, 99, qmgr_max_length=98) == MQRC.MSG_TOO_BIG_FOR_Q_MGR
    assert split(BODY, SOK, 99, qmgr_max_length=15) == MQRC.MSG_TOO_BIG_FOR_Q_MGR


def test_the_smaller_limit_counts() -> None:
    assert split(BODY, SOK, 99, qmgr_max_length=32) == split(BODY, SOK, 32)


flag_sets = st.sampled_from([SOK, SOK | MIG, SOK | LMIG, SOK | SEG, SOK | LSEG, SOK | MIG | SEG]).map(stored_flags)


@given(st.binary(min_size=1, max_size=400), flag_sets, st.integers(16, 200), st.integers(16, 200), st.integers(0, 99))
def test_splitting_twice_keeps_every_byte_in_its_place(
    body: bytes, flags: int, first_limit: int, second_limit: int, offset: int
) -> None:
    whole = pieces(body, flags, first_limit, offset)
    again = [part for piece in whole for part in pieces(piece.body, piece.msg_flags, second_limit, piece.offset)]
    assert b"".join(part.body for part in again) == body
    for part in again:
        assert part.body == body[part.offset - offset :][: len(part.body)]
        assert 0 < len(part.body) <= second_limit
        assert part.msg_flags & ~(SEG | LSEG) == flags & ~(SEG | LSEG)
    assert not any(part.msg_flags & LSEG for part in again[:-1])
    ends = bool(flags & LSEG) or not flags & SEG
    assert bool(again[-1].msg_flags & LSEG) == (ends and (len(again) > 1 or bool(flags & SEG)))


# -- putting together ----------------------------------------------------------------------------------------------


@given(st.binary(min_size=17, max_size=400), st.integers(16, 100), st.sampled_from([SOK, SOK | MIG, SOK | MIG | LMIG]))
def test_a_split_message_comes_back(body: bytes, limit: int, flags: int) -> None:
    segments = as_messages(pieces(body, flags, limit))
    result = reassembled(segments)
    assert (result.body, result.used, result.reason) == (body, len(segments), MQRC.NONE)
    assert result.md.msg_flags & ~(SEG | LSEG) == flags
    if len(segments) > 1:
        assert result.md.msg_flags & (SEG | LSEG) == SEG | LSEG
        assert segment_status(result.md.msg_flags) == b"L"


@pytest.mark.rule("mqi/groups", "COMPLETE_MSG returns the descriptor of the first segment.")
def test_the_descriptor_is_that_of_the_first_segment() -> None:
    segments = as_messages(pieces(BODY, SOK | MIG, 48))
    for position, (md, _) in enumerate(segments):
        md.msg_id, md.format, md.priority = bytes([position]) * 24, b"F%d" % position, position
    first = replace(segments[0][0])
    result = reassembled(segments)
    assert result.md == replace(first, msg_flags=int(SOK | MIG | SEG | LSEG))
    assert segments[0][0] == first


def test_a_message_that_is_no_segment_stays_as_it_is() -> None:
    md = MQMD(version=2, group_id=GROUP, msg_flags=int(MIG), msg_seq_number=2)
    assert reassembled([(md, BODY)]) == (md, BODY, 1, MQRC.NONE)


#: of each segment: character set, encoding -> segments used, reason
MIXTURES = [
    ([(1, 1), (1, 1), (1, 1), (1, 1)], 4, MQRC.NONE),
    ([(1, 1), (1, 1), (2, 1), (2, 1)], 2, MQRC.INCONSISTENT_CCSIDS),
    ([(1, 1), (2, 1), (1, 1), (1, 1)], 1, MQRC.INCONSISTENT_CCSIDS),
    ([(1, 1), (1, 1), (1, 1), (1, 2)], 3, MQRC.INCONSISTENT_ENCODINGS),
    ([(1, 1), (1, 2), (2, 2), (1, 1)], 1, MQRC.INCONSISTENT_ENCODINGS),
    ([(1, 1), (2, 2), (1, 1), (1, 1)], 1, MQRC.INCONSISTENT_CCSIDS),
]


@pytest.mark.parametrize(("mixture", "used", "reason"), MIXTURES)
def test_only_the_leading_segments_that_agree_are_put_together(
    mixture: list[tuple[int, int]], used: int, reason: MQRC
) -> None:
    segments = as_messages(pieces(BODY, SOK | MIG | LMIG, 32))
    for (md, _), (character_set, encoding) in zip(segments, mixture, strict=True):
        md.coded_char_set_id, md.encoding = character_set, encoding
    result = reassembled(segments)
    assert (result.body, result.used, result.reason) == (BODY[: 32 * used], used, reason)

    # Logical order continues with the first segment that was not used.
    after = after_get(UNUSED, GetOption.LOGICAL_ORDER, result.md, len(result.body)).gets
    if reason:
        assert (after.in_group, after.in_message, after.next_position) == (True, True, (1, 32 * used))
    else:
        assert after is NOTHING


@pytest.mark.rule("mqi/groups", "COMPLETE_MSG fills with nulls what a report about a segment lacks of the data.")
def test_reports_about_segments_are_filled_with_nulls() -> None:
    segments = as_messages(
        [Segment(0, int(SEG), b"abc"), Segment(5, int(SEG | LSEG), b"x")], msg_type=int(MsgType.REPORT)
    )
    for (md, _), original_length in zip(segments, (5, 2), strict=True):
        md.original_length = original_length
    assert reassembled(segments).body == b"abc\0\0x\0"


def test_segments_that_are_not_one_whole_message_are_a_mistake() -> None:
    segments = as_messages(pieces(BODY, SOK, 32))
    for wrong in (segments[1:], segments[:-1], [segments[0], *segments[2:]], [*segments, segments[-1]]):
        with pytest.raises(ValueError, match="does not follow"):
            reassembled(wrong)
    with pytest.raises(ValueError, match="stands alone"):
        reassembled([(MQMD(), b"a"), (MQMD(), b"b")])
