"""Random MQPUTs and MQGETs about groups, and how an MQGET is asked of the real queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from sharedq.mqi.constants import GetOption, MatchOption
from sharedq.mqi.structures import MQMD
from tests.model.grouped_calls import Ask

MIG, LMIG, SEG, LSEG, MAY = 8, 24, 2, 6, 1
LEVELS = {
    "": 0,
    "segments": int(GetOption.ALL_SEGMENTS_AVAILABLE),
    "messages": int(GetOption.ALL_MSGS_AVAILABLE),
    "complete": int(GetOption.COMPLETE_MSG),
}
BROWSES = {
    "": 0,
    "first": int(GetOption.BROWSE_FIRST),
    "next": int(GetOption.BROWSE_NEXT),
    "under": int(GetOption.BROWSE_MSG_UNDER_CURSOR),
}
MARKS = {
    "h": int(GetOption.MARK_BROWSE_HANDLE),
    "c": int(GetOption.MARK_BROWSE_CO_OP),
    "H": int(GetOption.UNMARK_BROWSE_HANDLE),
    "C": int(GetOption.UNMARK_BROWSE_CO_OP),
    "s": int(GetOption.UNMARKED_BROWSE_MSG),
}
#: Members in any order, possibly repeated: GroupId, MsgSeqNumber, Offset, MsgFlags, bytes, Persistence.
Member = tuple[bytes, int, int, int, int, int]
MEMBERS: list[Member] = [
    *[(b"A" * 24, 1, 0, MIG, 6, 0), (b"A" * 24, 2, 0, MIG, 6, 0), (b"A" * 24, 3, 0, LMIG, 6, 0)],
    *[(b"B" * 24, 1, 0, MIG, 6, 1), (b"B" * 24, 2, 0, LMIG | SEG, 6, 1), (b"B" * 24, 2, 6, LMIG | LSEG, 6, 1)],
    *[(b"C" * 24, 1, 0, SEG, 6, 1), (b"C" * 24, 1, 6, SEG, 6, 1), (b"C" * 24, 1, 12, LSEG, 0, 1)],
    *[(b"D" * 24, 1, 0, MIG | SEG, 6, 0), (b"D" * 24, 1, 6, MIG | LSEG, 6, 0), (b"D" * 24, 2, 0, LMIG, 6, 0)],
    # A second last one.
    (b"A" * 24, 2, 0, LMIG, 6, 0),
    (b"E" * 24, 1, 0, LMIG, 6, 0),
    (b"F" * 24, 1, 0, MAY, 6, 0),
    (b"A" * 24, 1, 0, MAY, 6, 0),
]
#: With a segment more that says it is the last: the getter that takes one of them first decides which go together.
MORE_MEMBERS = [*MEMBERS, (b"C" * 24, 1, 6, LSEG, 6, 1)]
#: MsgFlags of messages in logical order, and the length. A message longer than MAXMSGL may be split.
LOGICAL_PUTS = [
    *[(0, 6), (MIG, 6), (MIG, 6), (LMIG, 6), (SEG, 6), (SEG, 6), (LSEG, 6), (LSEG, 0), (SEG, 0)],
    *[(MIG | SEG, 6), (MIG | LSEG, 6), (LMIG | SEG, 6), (LMIG | LSEG, 6)],
    *[(MAY, 40), (MIG | MAY, 20), (LMIG | MAY, 20), (MIG | SEG | MAY, 20), (LSEG | MAY, 20), (MIG, 20)],
]
CORREL_IDS = [b"", b"", b"X" * 24, b"Y" * 24]

#: Most buffers are long enough. Bodies have six bytes, or more if segments are put together.
whole_groups = st.sampled_from(sorted({member[0] for member in MEMBERS})).flatmap(
    lambda group_id: st.permutations([member for member in MEMBERS if member[0] == group_id])
)
rooms = st.sampled_from([1000, 1000, 1000, 1000, 8, 5, 0])
units = st.sampled_from([(False, False), (False, False), (True, False), (True, False), (False, True)])


def _in_unit(ask: Ask, unit: tuple[bool, bool], skips: bool) -> Ask:
    return replace(ask, in_unit=unit[0], if_persistent=unit[1], skips=skips and unit[0])


matching = st.builds(
    Ask,
    logical=st.booleans(),
    level=st.sampled_from(["", "", *LEVELS]),
    correl_id=st.sampled_from([b"", b"", *CORREL_IDS]),
    group_id=st.sampled_from([b"", b"", b"", b"A" * 24, b"B" * 24, b"C" * 24, b"D" * 24, b"F" * 24]),
    seq=st.sampled_from([None, None, None, 1, 2]),
    offset=st.sampled_from([None, None, None, 0, 6]),
    arrival=st.sampled_from([0] * 12 + [1, 2, 3, 5, 8]),
    by_token=st.booleans(),
    room=rooms,
    cuts=st.booleans(),
    waits=st.sampled_from([False] * 5 + [True]),
)
asks = st.builds(_in_unit, matching, units, st.booleans())
browses = st.builds(
    lambda ask, how, lock: replace(ask, browse=how, lock=lock),
    matching,
    st.sampled_from(["first", "next", "next"]),
    st.booleans(),
)
under_cursor = st.builds(
    Ask,
    logical=st.booleans(),
    level=st.sampled_from(["", "", "", "complete", "complete", "segments", "messages"]),
    browse=st.just("under"),
    lock=st.booleans(),
    room=rooms,
    cuts=st.booleans(),
)
from_under_cursor = st.builds(
    lambda ask, unit, skips: _in_unit(replace(ask, browse="", under_cursor=True, lock=False), unit, skips),
    under_cursor,
    units,
    st.booleans(),
)
marking = st.builds(
    Ask,
    browse=st.sampled_from(["first", "first", "next", "next", "under"]),
    correl_id=st.sampled_from([b"", b"", *CORREL_IDS]),
    group_id=st.sampled_from([b"", b"", b"A" * 24]),
    marks=st.sampled_from(["h", "c", "s", "hs", "hs", "cs", "cs", "hc", "hcs", "H", "C", "HC", "hC", "Hc"]),
    room=rooms,
    cuts=st.booleans(),
)


def options_of(ask: Ask) -> int:
    """MQGMO_* options."""
    options = LEVELS[ask.level] | BROWSES[ask.browse] | sum(MARKS[letter] for letter in ask.marks)
    options |= GetOption.SYNCPOINT if ask.in_unit else 0
    options |= GetOption.SYNCPOINT_IF_PERSISTENT if ask.if_persistent else 0
    options |= GetOption.LOCK if ask.lock else 0
    options |= GetOption.ACCEPT_TRUNCATED_MSG if ask.cuts else 0
    options |= GetOption.MARK_SKIP_BACKOUT if ask.skips else 0
    options |= GetOption.MSG_UNDER_CURSOR if ask.under_cursor else 0
    options |= GetOption.LOGICAL_ORDER if ask.logical else 0
    options |= GetOption.WAIT if ask.waits else 0
    return int(options)


def asked(ask: Ask, msg_ids: dict[int, bytes], tokens: dict[int, bytes]) -> dict[str, Any]:
    """Arguments of ``Queue.get``, by MsgIds and MsgTokens of the messages as they arrived."""
    match, by, token = MQMD(version=2), 0, bytes(16)
    if ask.correl_id:
        match.correl_id, by = ask.correl_id, by | MatchOption.MATCH_CORREL_ID
    if ask.group_id:
        match.group_id, by = ask.group_id, by | MatchOption.MATCH_GROUP_ID
    if ask.seq is not None:
        match.msg_seq_number, by = ask.seq, by | MatchOption.MATCH_MSG_SEQ_NUMBER
    if ask.offset is not None:
        match.offset, by = ask.offset, by | MatchOption.MATCH_OFFSET
    if ask.arrival and ask.by_token:
        token, by = tokens[ask.arrival], by | MatchOption.MATCH_MSG_TOKEN
    elif ask.arrival:
        match.msg_id, by = msg_ids[ask.arrival], by | MatchOption.MATCH_MSG_ID
    return {"match": match, "match_options": by, "msg_token": token, "max_length": ask.room, "wait_ms": 1}
