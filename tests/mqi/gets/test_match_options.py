"""MQMO_*: each combination finds the first message with all requested fields; the fields that come back."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import Queue
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption
from sharedq.mqi.structures import MQGMO, MQMD
from tests.support.groups import BOTH, LMIG, LOGICAL, LSEG, MIG, SEG, put_member, reason_of, take
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

FIRST, NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
#: The field that each option compares.
FIELDS = {
    MatchOption.MATCH_MSG_ID: "msg_id",
    MatchOption.MATCH_CORREL_ID: "correl_id",
    MatchOption.MATCH_GROUP_ID: "group_id",
    MatchOption.MATCH_MSG_SEQ_NUMBER: "msg_seq_number",
    MatchOption.MATCH_OFFSET: "offset",
}
ALL = [0, *FIELDS, MatchOption.MATCH_MSG_TOKEN]
MEMBERS = ((b"g", 1, MIG, 0), (b"g", 2, LMIG | SEG, 0), (b"h", 1, SEG, 4), (b"h", 1, LSEG, 8))
COMBINATIONS = sorted({sum(chosen) for chosen in product(*((0, int(option)) for option in ALL[1:]))})


@pytest.fixture(params=["shared", "private"])
def queue(group: TestGroup, request: pytest.FixtureRequest) -> Queue:
    """Messages that agree in some fields and differ in others, plain ones and members of groups."""
    (group.define_shared if request.param == "shared" else lambda name: group.define_private("QM1", name))("Q")
    queue = group.connect().open("Q", BOTH)
    for msg_id, correl_id in product((b"", b"M" * 24), (b"", b"C" * 24, b"D" * 24)):
        ids = MQMD(msg_id=msg_id or bytes(24), correl_id=correl_id or bytes(24))
        queue.put(b"plain", replace(ids))
        queue.put(b"high", replace(ids, priority=5))
        for name, seq, flags, offset in (
            (b"g", 1, MIG, 0),
            (b"g", 2, LMIG | SEG, 0),
            (b"h", 1, SEG, 4),
            (b"h", 1, LSEG, 8),
        ):
            put_member(
                queue, name, seq, b"part", flags, offset=offset, msg_id=ids.msg_id, correl_id=ids.correl_id, priority=2
            )
    return queue


def there(queue: Queue) -> list[Message]:
    """The messages on the queue, in order."""
    return [queue.get(NEXT if number else FIRST) for number in range(36)]


@pytest.mark.rule(
    "mqi/match", "A get returns the first message that meets every match option; a null identifier matches any message."
)
def test_each_combination_finds_the_first_message_that_has_all_of_it(queue: Queue) -> None:
    messages = there(queue)
    # Values that one of the messages has, and values that none has.
    for like in (messages[0], messages[7], messages[15], messages[26], messages[-1]):
        for asked, other in product(COMBINATIONS, (None, "correl_id", "group_id")):
            md = replace(like.md, version=2)
            if other:
                setattr(md, other, b"?" * 24)
            expected = [
                message
                for message in messages
                if all(
                    getattr(md, field) in (bytes(24), getattr(message.md, field))
                    for option, field in FIELDS.items()
                    if asked & option
                )
                and (not asked & MatchOption.MATCH_MSG_TOKEN or message.msg_token == like.msg_token)
            ]
            gmo = MQGMO(version=3, options=FIRST, match_options=asked, msg_token=like.msg_token)
            _, _, comp_code, reason = verbs.mqget(queue.connection, queue.handle, md, gmo, 100)
            if not expected:
                assert (comp_code, reason) == (MQCC.FAILED, MQRC.NO_MSG_AVAILABLE)
            else:
                assert (md, gmo.msg_token) == (replace(expected[0].md, version=2), expected[0].msg_token)


@pytest.mark.rule(
    "mqi/match", "A get leaves MsgId and CorrelId in the descriptor, so the next get with it asks for the same message."
)
def test_a_get_matches_msg_id_and_correl_id_by_default_and_nulls_match_all(queue: Queue) -> None:
    assert MQGMO(version=2).match_options == MatchOption.MATCH_MSG_ID | MatchOption.MATCH_CORREL_ID
    first = there(queue)[0]
    md, gmo = MQMD(version=2), MQGMO(version=2, options=FIRST)
    # The first call leaves values in the descriptor that name its message in later calls.
    for how, reason in ((FIRST, MQRC.NONE), (FIRST, MQRC.NONE), (NEXT, MQRC.NO_MSG_AVAILABLE)):
        gmo.options = how
        assert verbs.mqget(queue.connection, queue.handle, md, gmo, 100)[3] == reason
        assert md.msg_id == first.md.msg_id
    md.msg_id = bytes(24)
    assert verbs.mqget(queue.connection, queue.handle, md, gmo, 100)[3] == MQRC.NONE


@pytest.mark.rule(
    "mqi/match",
    "Descriptor, MsgToken, ResolvedQName and the three status fields describe the message that is returned.",
)
def test_a_get_returns_the_messages_own_identifiers(queue: Queue) -> None:
    for known in there(queue):
        md = MQMD(version=2, msg_seq_number=77, offset=77, priority=9, correl_id=b"?" * 24, backout_count=7)
        gmo = MQGMO(version=3, match_options=0)
        body, length, comp_code, reason = verbs.mqget(queue.connection, queue.handle, md, gmo, 100)
        assert (body, length, comp_code, reason) == (known.body, len(known.body), MQCC.OK, MQRC.NONE)
        assert md == replace(known.md, version=2)
        assert (gmo.resolved_q_name, gmo.msg_token, gmo.returned_length) == (b"Q", known.msg_token, len(body))
        status = (gmo.group_status, gmo.segment_status, gmo.segmentation)
        assert status == (known.group_status, known.segment_status, known.segmentation)


@pytest.mark.rule(
    "mqi/waiting", "A get that could find nothing ends with 2016 too where gets are inhibited, and its lock stays."
)
@pytest.mark.parametrize("is_inside", [False, True], ids=["a token of no message", "the rest as a whole message"])
def test_an_inhibited_get_that_needs_no_look_is_2016_too(group: TestGroup, is_inside: bool) -> None:
    """It ends no lock then, as 2033 would."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    for offset, flags in ((0, SEG), (1, LSEG)):
        put_member(queue, b"g", 1, b"x", flags, offset=offset)
    if is_inside:
        assert take(queue, LOGICAL | GetOption.BROWSE_FIRST | GetOption.LOCK) == b"x"
        arguments: dict[str, Any] = {"options": LOGICAL | GetOption.BROWSE_NEXT | GetOption.COMPLETE_MSG}
    else:
        assert take(queue, GetOption.BROWSE_FIRST | GetOption.LOCK) == b"x"
        by_token = {"match_options": MatchOption.MATCH_MSG_TOKEN, "msg_token": b"t" * 16}
        arguments = {"options": int(GetOption.BROWSE_NEXT), **by_token}
    group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
    assert reason_of(queue, **arguments) == MQRC.GET_INHIBITED
    locked = queue.handle.queue.locks
    assert group.group.client().hlen(locked) == 1
    group.repository("QM1").alter("QLOCAL", "Q", {"get": "ENABLED"})
    assert reason_of(queue, **arguments) == MQRC.NO_MSG_AVAILABLE
    assert group.group.client().hlen(locked) == 0
