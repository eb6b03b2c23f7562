"""Identifiers shorter than their fields: MQGET pads them with nulls, as MQPUT does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from sharedq import MQIError, Queue
from sharedq.mqi.constants import MQRC, GetOption, IntSelector, MatchOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, MIG, matching, reason_of, take
from tests.support.members import TestGroup
from tests.support.scenes import until

FIRST = int(GetOption.BROWSE_FIRST)
SHORT: dict[str, Any] = {"msg_id": b"M-1", "correl_id": b"ORDER-17", "group_id": b"G"}
MATCHES = {
    "msg_id": MatchOption.MATCH_MSG_ID,
    "correl_id": MatchOption.MATCH_CORREL_ID,
    "group_id": MatchOption.MATCH_GROUP_ID,
}


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("Q")
    return group.connect().open("Q", BOTH)


@pytest.mark.rule(
    "mqi/match", "An identifier that is shorter than its field is padded with nulls, in puts, gets and waits."
)
@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("grouping", [0, GetOption.LOGICAL_ORDER, GetOption.ALL_SEGMENTS_AVAILABLE])
def test_a_message_put_with_a_short_identifier_is_got_with_it(queue: Queue, name: str, grouping: int) -> None:
    given: dict[str, Any] = {name: SHORT[name]} | ({"msg_flags": MIG} if name == "group_id" else {})
    queue.put(b"another", MQMD(version=2, correl_id=b"ORDER-1", msg_id=b"M"))
    queue.put(b"mine", MQMD(version=2, **given))
    for padded in (SHORT[name], SHORT[name] + b"\0", SHORT[name].ljust(24, b"\0")):
        fields: dict[str, Any] = {name: padded}
        asked = MQMD(version=2, **fields)
        message = queue.get(FIRST | grouping, match=asked, match_options=MATCHES[name])
        assert (message.body, getattr(message.md, name)) == (b"mine", SHORT[name].ljust(24, b"\0"))
        # The program's own value stays unchanged.
        assert getattr(asked, name) == padded
    took = queue.get(grouping, match=MQMD(version=2, **given), match_options=MATCHES[name])
    assert took.body == b"mine"


@pytest.mark.parametrize("name", SHORT)
def test_an_empty_identifier_and_a_short_one_of_nulls_ask_for_nothing(queue: Queue, name: str) -> None:
    queue.put(b"any", MQMD(version=2, msg_id=b"M", correl_id=b"C"))
    for nothing in (b"", b"\0", bytes(23)):
        fields: dict[str, Any] = {name: nothing}
        asked = MQMD(version=2, **fields)
        assert queue.get(FIRST, match=asked, match_options=MATCHES[name]).body == b"any"


@pytest.mark.rule("mqi/match", "A MsgToken that is shorter than its field is padded with nulls.")
def test_a_msg_token_without_the_nulls_at_its_end_is_the_same_one(queue: Queue) -> None:
    queue.put(b"first")
    queue.put(b"mine")
    queue.get(FIRST)
    token = queue.get(GetOption.BROWSE_NEXT).msg_token
    by_token = MatchOption.MATCH_MSG_TOKEN
    assert queue.get(FIRST, match_options=by_token, msg_token=token.rstrip(b"\0")).body == b"mine"
    for nothing in (b"", b"\0"):
        assert queue.get(FIRST, match_options=by_token, msg_token=nothing).body == b"first"


@pytest.mark.rule("mqi/match", "An identifier to match that is too long is refused with 2026, a MsgToken with 2186.")
def test_a_search_for_a_long_identifier_is_refused_as_by_mqput(queue: Queue) -> None:
    queue.put(b"here")
    for name in SHORT:
        fields: dict[str, Any] = {name: b"x" * 25}
        md = MQMD(version=2, **fields)
        with pytest.raises(MQIError) as refused:
            queue.put(b"", replace(md, msg_flags=MIG))
        assert refused.value.reason == MQRC.MD_ERROR
        assert reason_of(queue, FIRST, match=md, match_options=MATCHES[name]) == MQRC.MD_ERROR
        # No call looks at it otherwise.
        assert queue.get(FIRST, match=md, match_options=0).body == b"here"
    by_token = MatchOption.MATCH_MSG_TOKEN
    assert reason_of(queue, FIRST, match_options=by_token, msg_token=b"x" * 17) == MQRC.GMO_ERROR


@pytest.mark.rule(
    "mqi/match", "An identifier that is shorter than its field is padded with nulls, in puts, gets and waits."
)
@pytest.mark.parametrize("asked", [{"correl_id": b"ORDER-17"}, {"msg_id": b"M-1"}], ids=str)
def test_a_waiter_with_a_short_identifier_is_woken(group: TestGroup, queue: Queue, asked: dict[str, Any]) -> None:
    keys, client = group.group.structure("APPL1"), group.group.client()
    certain, other = (group.connect().open("Q", BOTH) for _ in range(2))
    for each in (certain, other):
        each.inquire(IntSelector.Q_TYPE)
    known = client.hkeys(keys.owners)

    def until_waiting(count: int) -> None:
        until(lambda: client.zcard(keys.queue("Q").waiters) == count, f"{count} wait")

    with ThreadPoolExecutor(2) as pool:
        mine = pool.submit(take, certain, GetOption.WAIT, wait_ms=5_000, **matching(**asked))
        until_waiting(1)
        queue.put(b"mine", MQMD(msg_id=b"M-1", correl_id=b"ORDER-17"))
        assert mine.result(20) == b"mine"
        ends = [pool.submit(reason_of, certain, GetOption.WAIT, wait_ms=5_000, **matching(**asked))]
        until_waiting(1)
        ends.append(pool.submit(reason_of, other, GetOption.WAIT, wait_ms=5_000))
        until_waiting(2)
        group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
        assert [end.result(20) for end in ends] == [MQRC.GET_INHIBITED] * 2
    assert client.hkeys(keys.owners) == known
