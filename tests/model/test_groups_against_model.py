"""Random programs with groups, segments, locks and marks, on a real queue and on the model.

MODEL_EXAMPLES says how many.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from recovery.resolve import recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.put_messages import PRIORITY_STEP
from sharedq.record import generated_number
from tests.model.grouped import Ask, Got, GroupedModel, Message
from tests.support.members import TestGroup
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
PROGRAMS = 3
#: Those whose handles co-operate in browsing.
TOGETHER = (0, 1)
STEPS = 50
MIG, LMIG, SEG, LSEG = 8, 24, 2, 6
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
#: Members that may come in any order and more than once: GroupId, MsgSeqNumber, Offset, MsgFlags, bytes, Persistence.
MEMBERS = [
    *[(b"A" * 24, 1, 0, MIG, 6, 0), (b"A" * 24, 2, 0, MIG, 6, 0), (b"A" * 24, 3, 0, LMIG, 6, 0)],
    *[(b"B" * 24, 1, 0, MIG, 6, 1), (b"B" * 24, 2, 0, LMIG | SEG, 6, 1), (b"B" * 24, 2, 6, LMIG | LSEG, 6, 1)],
    *[(b"C" * 24, 1, 0, SEG, 6, 1), (b"C" * 24, 1, 6, SEG, 6, 1), (b"C" * 24, 1, 12, LSEG, 0, 1)],
    *[(b"D" * 24, 1, 0, MIG | SEG, 6, 0), (b"D" * 24, 1, 6, MIG | LSEG, 6, 0), (b"D" * 24, 2, 0, LMIG, 6, 0)],
    (b"E" * 24, 1, 0, LMIG, 6, 0),
    (b"F" * 24, 1, 0, 1, 6, 0),
]
CORREL_IDS = [b"", b"", b"X" * 24, b"Y" * 24]

programs = st.integers(0, PROGRAMS - 1)
#: Most buffers are long enough; bodies have six bytes, or more where segments are put together.
rooms = st.sampled_from([1000, 1000, 1000, 1000, 8, 5, 0])
asks = st.builds(
    Ask,
    logical=st.booleans(),
    level=st.sampled_from(["", "", *LEVELS]),
    in_unit=st.booleans(),
    browse=st.just(""),
    skips=st.booleans(),
    correl_id=st.sampled_from([b"", b"", *CORREL_IDS]),
    group_id=st.sampled_from([b"", b"", b"", b"A" * 24, b"B" * 24, b"C" * 24, b"D" * 24, b"F" * 24]),
    seq=st.sampled_from([None, None, None, 1, 2]),
    offset=st.sampled_from([None, None, None, 0, 6]),
    room=rooms,
    cuts=st.booleans(),
).map(lambda ask: replace(ask, skips=ask.skips and ask.in_unit))
browses = st.builds(
    lambda ask, how, lock: replace(ask, in_unit=False, browse=how, lock=lock, skips=False),
    asks,
    st.sampled_from(["first", "next", "next"]),
    st.booleans(),
)
under_cursor = st.builds(
    Ask,
    logical=st.booleans(),
    level=st.sampled_from(["", "", "complete"]),
    browse=st.just("under"),
    lock=st.booleans(),
    room=rooms,
    cuts=st.booleans(),
)
from_under_cursor = st.builds(
    lambda ask, in_unit, skips: replace(
        ask, browse="", under_cursor=True, lock=False, in_unit=in_unit, skips=in_unit and skips
    ),
    under_cursor,
    st.booleans(),
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


class Grouped(RuleBasedStateMachine):
    """The same calls on the group and on the model."""

    url = ""
    where = Path()

    def __init__(self) -> None:
        super().__init__()
        self.group = TestGroup(self.url, self.where)
        self.group.add_member("QM1")
        self.group.define_structure("APPL1")
        self.group.define_shared("Q")
        # Marks of the set last until somebody ends them: the model knows no time.
        self.group.repository("QM1").alter_qmgr("QM1", {"mark_interval_ms": -1})
        self.model = GroupedModel(PROGRAMS, TOGETHER)
        self.connections: list[QueueManagerConnection] = [self.group.connect() for _ in range(PROGRAMS)]
        self.queues: list[Queue] = [self._open(number) for number in range(PROGRAMS)]
        self.count = 0
        #: Scores of messages by their arrival.
        self.scores: dict[int, int] = {}

    def _open(self, number: int) -> Queue:
        return self.connections[number].open("Q", BOTH | (OpenOption.CO_OP if number in TOGETHER else 0))

    # -- calls -----------------------------------------------------------------------------------------------------

    @rule(
        number=programs,
        member=st.sampled_from(MEMBERS),
        priority=st.integers(0, 1),
        correl_id=st.sampled_from(CORREL_IDS),
        in_unit=st.booleans(),
    )
    def put_member(
        self,
        number: int,
        member: tuple[bytes, int, int, int, int, int],
        priority: int,
        correl_id: bytes,
        in_unit: bool,
    ) -> None:
        group_id, seq, offset, flags, length, persistence = member
        self._put(
            number,
            Message(self._body()[:length], priority, persistence, correl_id, group_id, seq, offset, flags),
            in_unit,
        )

    @rule(number=programs, priority=st.integers(0, 1), correl_id=st.sampled_from(CORREL_IDS), in_unit=st.booleans())
    def put_plain(self, number: int, priority: int, correl_id: bytes, in_unit: bool) -> None:
        self._put(number, Message(self._body(), priority, 0, correl_id), in_unit)

    def _body(self) -> bytes:
        self.count += 1
        return b"%06d" % self.count

    def _put(self, number: int, message: Message, in_unit: bool) -> None:
        md = MQMD(
            version=2,
            priority=message.priority,
            persistence=message.persistence,
            correl_id=message.correl_id or bytes(24),
            group_id=message.group_id or bytes(24),
            msg_seq_number=message.seq,
            offset=message.offset,
            msg_flags=message.flags,
        )
        options = PutOption.SYNCPOINT if in_unit else PutOption.NO_SYNCPOINT
        self.queues[number].put(message.body, md, options=options)
        arrived = self.model.put(number, message, in_unit=in_unit)
        arrival_number = generated_number(md.msg_id, self.queues[number].handle.structure.number)
        assert arrival_number is not None
        self.scores[arrived.arrival] = arrived.place[0] * PRIORITY_STEP + arrival_number

    @rule(number=programs, ask=asks)
    def get(self, number: int, ask: Ask) -> None:
        self._compare(self._get(number, ask), self.model.get(number, ask))

    @rule(number=programs, ask=browses)
    def browse(self, number: int, ask: Ask) -> None:
        self._compare(self._get(number, ask), self.model.get(number, ask))

    @rule(number=programs, level=st.sampled_from(sorted(LEVELS)), in_unit=st.booleans(), times=st.integers(2, 6))
    def walk(self, number: int, level: str, in_unit: bool, times: int) -> None:
        """What most programs do: logical order, call after call."""
        for _ in range(times):
            self.get(number, Ask(logical=True, level=level, in_unit=in_unit))

    @rule(number=programs, level=st.sampled_from(sorted(LEVELS)), times=st.integers(2, 8), lock=st.booleans())
    def walk_browsing(self, number: int, level: str, times: int, lock: bool) -> None:
        for at in range(times):
            self.browse(number, Ask(logical=True, level=level, browse="next" if at else "first", lock=lock))

    @rule(number=programs, ask=under_cursor)
    def browse_under_cursor(self, number: int, ask: Ask) -> None:
        self.browse(number, ask)

    @rule(number=programs, ask=from_under_cursor)
    def get_under_cursor(self, number: int, ask: Ask) -> None:
        self.get(number, ask)

    @rule(number=programs, level=st.sampled_from(["", "complete"]), logical=st.booleans(), in_unit=st.booleans())
    def lock_and_take(self, number: int, level: str, logical: bool, in_unit: bool) -> None:
        """What locks are for."""
        self.browse(number, Ask(browse="first", level=level, logical=logical, lock=True))
        self.get(number, Ask(under_cursor=True, level=level, logical=logical, in_unit=in_unit))

    @rule(number=programs, ask=marking)
    def browse_marking(self, number: int, ask: Ask) -> None:
        self.browse(number, ask)

    @rule(number=programs, marks=st.sampled_from(["hs", "cs"]), times=st.integers(2, 6))
    def sweep(self, number: int, marks: str, times: int) -> None:
        """What marks are for: always from the start, each message once."""
        for _ in range(times):
            self.browse(number, Ask(browse="first", marks=marks))

    @precondition(lambda self: any(program.locked for program in self.model.programs))
    @rule(how=st.sampled_from(["first", "next", "under"]), room=st.sampled_from([5, 0]), lock=st.booleans())
    def browse_into_too_short_a_buffer(self, how: str, room: int, lock: bool) -> None:
        """By whoever has something locked: 2080 ends no lock, and moves nothing."""
        number = next(at for at, program in enumerate(self.model.programs) if program.locked)
        logical = how == "next" and bool(self.model.programs[number].browse_is_logical)
        self.browse(number, Ask(browse=how, logical=logical, lock=lock, room=room))

    @precondition(lambda self: any(self.model.marked()))
    @rule(in_unit=st.booleans())
    def get_what_is_marked(self, in_unit: bool) -> None:
        """By somebody who has marked nothing: with it go its marks."""
        self.get(PROGRAMS - 1, Ask(in_unit=in_unit))

    @rule(number=programs)
    def unlock(self, number: int) -> None:
        had = self.queues[number].unlock()
        assert self.model.unlock(number) == (MQRC.NONE if had else MQRC.NO_MSG_LOCKED)

    @rule(number=programs)
    def close_and_open(self, number: int) -> None:
        """MQCLOSE ends a lock, and forgets what was retained."""
        self.queues[number].close()
        self.queues[number] = self._open(number)
        self.model.reopen(number)

    @rule()
    def close_and_open_all(self) -> None:
        """With the last handle that co-operates, the marks of the set are gone."""
        for queue in self.queues:
            queue.close()
        self.queues = [self._open(number) for number in range(PROGRAMS)]
        self.model.reopen_all()

    def _get(self, number: int, ask: Ask) -> Got:
        options = LEVELS[ask.level] | BROWSES[ask.browse] | (GetOption.SYNCPOINT if ask.in_unit else 0)
        options |= GetOption.LOCK if ask.lock else 0
        options |= GetOption.ACCEPT_TRUNCATED_MSG if ask.cuts else 0
        options |= GetOption.MARK_SKIP_BACKOUT if ask.skips else 0
        options |= GetOption.MSG_UNDER_CURSOR if ask.under_cursor else 0
        options |= sum(MARKS[letter] for letter in ask.marks)
        if ask.logical:
            options |= GetOption.LOGICAL_ORDER
        match, by = MQMD(version=2), 0
        if ask.correl_id:
            match.correl_id, by = ask.correl_id, by | MatchOption.MATCH_CORREL_ID
        if ask.group_id:
            match.group_id, by = ask.group_id, by | MatchOption.MATCH_GROUP_ID
        if ask.seq is not None:
            match.msg_seq_number, by = ask.seq, by | MatchOption.MATCH_MSG_SEQ_NUMBER
        if ask.offset is not None:
            match.offset, by = ask.offset, by | MatchOption.MATCH_OFFSET
        try:
            got = self.queues[number].get(options, match=match, match_options=by, max_length=ask.room)
        except MQIError as error:
            return Got(error.reason)
        md = got.md
        empty = bytes(24)
        return Got(
            got.reason,
            Message(
                got.body,
                md.priority,
                md.persistence,
                md.correl_id if md.correl_id != empty else b"",
                md.group_id if md.group_id != empty else b"",
                md.msg_seq_number,
                md.offset,
                md.msg_flags,
                0,
                md.backout_count,
            ),
        )

    @rule(number=programs)
    def commit(self, number: int) -> None:
        self.connections[number].commit()
        self.model.commit(number)

    @rule(number=programs)
    def back_out(self, number: int) -> None:
        self.connections[number].backout()
        self.model.backout(number)

    @rule(number=programs)
    def die(self, number: int) -> None:
        process = self.connections[number].connection.process
        process.stop_renewing()
        recoverer = self.group.connect()
        assert recover(self.group.group, recoverer.connection, process.token, force=True).is_resolved
        recoverer.disconnect()
        self.connections[number] = self.group.connect()
        self.queues[number] = self._open(number)
        self.model.replace_program(number)

    # -- what must agree -------------------------------------------------------------------------------------------

    @staticmethod
    def _compare(got: Got, expected: Got) -> None:
        assert got.reason == expected.reason
        assert (got.message is None) == (expected.message is None)
        if got.message is not None and expected.message is not None:
            assert got.message == Message(**{**vars(expected.message), "arrival": 0})

    @invariant()
    def the_queue_agrees(self) -> None:
        keys, client = self.group.group.structure("APPL1"), self.group.group.client()
        queue = keys.queue("Q")
        plain: Any = client.zrange(queue.available, 0, -1, withscores=True)
        members: Any = client.zrange(queue.members, 0, -1, withscores=True)
        ids = [message_id for message_id, _ in sorted([*plain, *members], key=lambda entry: entry[1])]
        records: Any = client.hmget(keys.messages, ids) if ids else []
        bodies = [record[int.from_bytes(record[3:5]) :] for record in records]
        assert bodies == [message.body for message in self.model.in_order()]
        assert int(client.hget(queue.queue, "gm") or 0) == len(members)
        locked = [len(program.locked) for program in self.model.programs]
        held = sum(len(program.put) + len(program.got) for program in self.model.programs) + sum(locked)
        assert int(client.hget(queue.queue, "lk") or 0) == sum(locked)
        assert client.hlen(queue.locks) == sum(map(bool, locked))
        assert client.hlen(keys.messages) == len(ids) + held
        if not members:
            assert not client.exists(queue.groups)
        if not ids:
            assert not client.exists(queue.index)
        assert client.hlen(queue.marks) >= len(set().union(*self.model.marked()))
        if not (ids or any(locked)):
            assert not client.exists(queue.marks)
            assert not client.hexists(queue.queue, "mk")

    @invariant()
    def the_marks_agree(self) -> None:
        """Of each holder, as far as they are to be seen: what is locked is hidden."""
        client, base = self.group.group.client(), self.queues[0].handle.queue.marks_of
        holders = [f"{queue.connection.token}#{queue.handle.number}" for queue in self.queues]
        there = {message.arrival for message in self.model.in_order()}
        for holder, marked in zip([*holders, "C"], self.model.marked(), strict=True):
            sets: Any = [client.zrange(f"{base}{holder}\n{kind}", 0, -1, withscores=True) for kind in "ar"]
            scores = {int(score) for found in sets for _, score in found}
            assert scores == {self.scores[arrival] for arrival in marked & there}

    @invariant()
    def the_cursors_agree(self) -> None:
        for queue, program in zip(self.queues, self.model.programs, strict=True):
            under = program.under_cursor
            assert queue.handle.cursor.score == (0 if under is None else self.scores[under.arrival])

    def teardown(self) -> None:
        self.group.close()


# As many examples as were asked for take as long as they take.
@pytest.mark.timeout(0 if "MODEL_EXAMPLES" in os.environ else 300)
@pytest.mark.slow
def test_groups_behave_like_the_model(redis_server: Server, tmp_path: Path) -> None:
    Grouped.url, Grouped.where = redis_server.url, tmp_path
    run_state_machine_as_test(
        Grouped,
        settings=settings(
            max_examples=int(os.environ.get("MODEL_EXAMPLES", "30")),
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
