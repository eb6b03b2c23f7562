"""The groups that a consumer's batch has whole."""

from __future__ import annotations

import pytest

from igq.rehearsal.load.programs.whole_groups import wholeness
from sharedq.mqi.constants import MsgFlag
from sharedq.mqi.structures import MQMD

A, B = b"A" * 24, b"B" * 24


def member(group: bytes, seq: int, *, is_last: bool = False) -> MQMD:
    flags = MsgFlag.MSG_IN_GROUP | (MsgFlag.LAST_MSG_IN_GROUP if is_last else 0)
    return MQMD(group_id=group, msg_seq_number=seq, msg_flags=int(flags))


def test_a_batch_of_whole_groups_and_single_messages_lacks_nothing() -> None:
    found = wholeness([member(A, 1), member(A, 2, is_last=True), MQMD(), member(B, 1, is_last=True)])
    assert (found.is_headless, found.missing) == (False, ())


def test_a_group_without_its_end_is_to_be_continued() -> None:
    assert wholeness([member(A, 1), member(A, 2), MQMD()]).missing == ((A, 3),)


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param([member(A, 2, is_last=True)], id="begins within a group"),
        pytest.param([member(A, 1), member(A, 3, is_last=True)], id="a member is missing"),
        pytest.param([member(A, 2), member(A, 1)], id="returned after its successor"),
        pytest.param([member(A, 1, is_last=True), member(A, 2)], id="goes on after its end"),
    ],
)
def test_a_member_without_its_predecessor_makes_the_batch_headless(batch: list[MQMD]) -> None:
    assert wholeness(batch).is_headless
