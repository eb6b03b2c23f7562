"""Random programs with groups, segments, locks, marks and expiry, on a real queue and on the model.

MODEL_EXAMPLES says how many.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from recovery.resolution import recover
from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.context import generated_msg_id
from sharedq.messages.message import Message as RealMessage
from sharedq.messages.record import PRIORITY_STEP, generated_number
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQPMO
from tests.model.examples import hold_against, in_time
from tests.model.expiry import is_dead, let_time_pass
from tests.model.grouped import GroupedModel
from tests.model.grouped_calls import Ask, Got, Message, Open, Put
from tests.model.grouped_strategies import (
    CORREL_IDS,
    LEVELS,
    LMIG,
    LOGICAL_PUTS,
    LSEG,
    MAY,
    MIG,
    MORE_MEMBERS,
    SEG,
    Member,
    asked,
    asks,
    browses,
    from_under_cursor,
    marking,
    options_of,
    under_cursor,
    units,
    whole_groups,
)
from tests.support.members import TestGroup
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
#: The connection of each handle, and the handles that co-operate in browsing.
HANDLES = (0, 0, 1, 2)
TOGETHER = (1, 2)
#: The last one's units of work are small.
LIMITED, LIMIT = 2, 4
STEPS = 50
MAX_LENGTH = 16
LONG_TIME = 36_000

programs = st.integers(0, len(HANDLES) - 1)
connections = st.sampled_from(sorted(set(HANDLES)))


class Grouped(RuleBasedStateMachine):
    """The same calls on the group and on the model."""

    url = ""
    where = Path()

    def __init__(self) -> None:
        super().__init__()
        self.group = TestGroup(self.url, self.where)
        self.group.add_member("QM1")
        # Marks of the set last until a call ends them: the model knows no time.
        self.group.repository("QM1").alter_qmgr("QM1", {"mark_interval_ms": -1})
        self.model = GroupedModel(HANDLES, TOGETHER)
        self.model.queue.max_length = MAX_LENGTH
        self.model.units[LIMITED].limit = LIMIT
        self.structure = "APPL1"
        self.connections: list[QueueManagerConnection] = []
        self.queues: list[Queue] = []
        self.count = 0
        #: By arrival: scores, MsgIds, and MsgTokens of messages that were returned.
        self.scores: dict[int, int] = {}
        self.msg_ids: dict[int, bytes] = {}
        self.tokens: dict[int, bytes] = {}
        self.expiring: set[int] = set()

    @initialize(is_private=st.booleans(), is_group_indexed=st.booleans())
    def define(self, is_private: bool, is_group_indexed: bool) -> None:
        attributes: dict[str, Any] = {
            "max_msg_length": MAX_LENGTH,
            "index_type": "GROUPID" if is_group_indexed else "NONE",
        }
        if is_private:
            self.structure = "@QM1"
            self.group.define_private("QM1", "Q", **attributes)
        else:
            self.group.define_structure("APPL1")
            self.group.define_shared("Q", **attributes)
        self.model.queue.is_group_indexed = is_group_indexed
        self.connections = [self._connect(connection) for connection in sorted(set(HANDLES))]
        self.queues = [self._open(number) for number in range(len(HANDLES))]

    def _connect(self, connection: int) -> QueueManagerConnection:
        made = self.group.connect()
        made.connection.max_uncommitted = self.model.units[connection].limit
        return made

    def _open(self, number: int) -> Queue:
        options = BOTH | (OpenOption.CO_OP if number in TOGETHER else 0)
        return self.connections[HANDLES[number]].open("Q", options)

    # -- calls -----------------------------------------------------------------------------------------------------

    @rule(
        number=programs,
        members=st.one_of(st.lists(st.sampled_from(MORE_MEMBERS), min_size=1, max_size=4), whole_groups),
        priorities=st.tuples(st.integers(0, 3), st.integers(0, 3)),
        correl_id=st.sampled_from(CORREL_IDS),
        in_unit=st.sampled_from([False, False, True]),
        expires=st.sampled_from([False] * 6 + [True]),
    )
    def put_members(
        self,
        number: int,
        members: list[Member],
        priorities: tuple[int, int],
        correl_id: bytes,
        in_unit: bool,
        expires: bool,
    ) -> None:
        """The first of these may expire, and has its own priority."""
        for at, (group_id, seq, offset, flags, length, persistence) in enumerate(members):
            place = (priorities[bool(at)], persistence, correl_id, group_id, seq, offset, flags)
            message = Message(self._body()[:length], *place, expires=expires and not at)
            self._put(number, Put(message, in_unit=in_unit))

    @rule(
        number=programs,
        priority=st.integers(0, 3),
        correl_id=st.sampled_from(CORREL_IDS),
        in_unit=st.booleans(),
        expires=st.sampled_from([False, False, False, True]),
        persistence=st.integers(0, 1),
    )
    def put_plain(
        self, number: int, priority: int, correl_id: bytes, in_unit: bool, expires: bool, persistence: int
    ) -> None:
        message = Message(self._body(), priority, persistence, correl_id, expires=expires)
        self._put(number, Put(message, in_unit=in_unit))

    @rule(
        number=programs,
        members=st.lists(st.sampled_from(LOGICAL_PUTS), min_size=1, max_size=4),
        persistence=st.sampled_from([0, 0, 0, 1]),
        in_unit=st.booleans(),
        logical=st.sampled_from([True, True, True, False]),
        expires=st.sampled_from([False, False, False, True]),
    )
    def put_in_order(
        self,
        number: int,
        members: list[tuple[int, int]],
        persistence: int,
        in_unit: bool,
        logical: bool,
        expires: bool,
    ) -> None:
        """Also without the option: a message that continues the group, or names another place than the next one."""
        for flags, length in members:
            body = (self._body() * 7)[:length]
            message = Message(body, 0, persistence, flags=flags, expires=expires)
            current = self.model.programs[number].puts
            if not logical and in_unit and current and self._is_of_kind(message, current):
                message = replace(message, group_id=current.group_id, seq=current.next[0], offset=current.next[1])
            self._put(number, Put(message, logical, in_unit))

    @staticmethod
    def _is_of_kind(message: Message, current: Open) -> bool:
        """A place is not both a segment's and a whole message's: such a group means nothing."""
        is_in_group = bool(message.flags & LMIG)
        return is_in_group == current.in_group and (message.is_segment or not current.in_message)

    def _body(self) -> bytes:
        self.count += 1
        return b"%06d" % self.count

    def _put(self, number: int, put: Put) -> None:
        message, queue = put.message, self.queues[number]
        md = MQMD(
            version=2,
            priority=message.priority,
            persistence=message.persistence,
            correl_id=message.correl_id or bytes(24),
            group_id=message.group_id or bytes(24),
            msg_seq_number=message.seq,
            offset=message.offset,
            msg_flags=message.flags,
            expiry=LONG_TIME if message.expires else -1,
        )
        options = PutOption.SYNCPOINT if put.in_unit else PutOption.NO_SYNCPOINT
        options |= PutOption.LOGICAL_ORDER if put.logical else 0
        connection = queue.connection
        _, reason = verbs.mqput(connection, queue.handle, md, MQPMO(options=int(options)), message.body)
        expected, arrived = self.model.put(number, put, md.group_id)
        assert reason == expected
        if not arrived:
            return
        if arrived[0].group_id == md.group_id != message.group_id and arrived[0].seq == 1 and not arrived[0].offset:
            assert md.group_id.startswith(b"CSQ ")
        structure_number = queue.handle.structure.number
        first = generated_number(md.msg_id, structure_number)
        assert first is not None
        for at, piece in enumerate(arrived):
            self.expiring |= {piece.arrival} if piece.expires else set()
            self.scores[piece.arrival] = piece.place[0] * PRIORITY_STEP + first + at
            self.msg_ids[piece.arrival] = generated_msg_id(connection.origin, structure_number, first + at)

    @rule(priority=st.integers(0, 3), is_fifo=st.booleans())
    def alter_the_order(self, priority: int, is_fifo: bool) -> None:
        self._alter(def_priority=priority, msg_delivery_sequence="FIFO" if is_fifo else "PRIORITY")
        self.model.queue.default_priority, self.model.queue.is_fifo = priority, is_fifo

    @rule(number=programs, ask=asks, put=st.booleans(), get=st.booleans())
    def try_while_inhibited(self, number: int, ask: Ask, put: bool, get: bool) -> None:
        self._alter(put="DISABLED" if put else "ENABLED", get="DISABLED" if get else "ENABLED")
        self.model.queue.are_puts_inhibited, self.model.queue.are_gets_inhibited = put, get
        self.get(number, ask)
        self.browse(number, Ask(browse="under"))
        self._put(number, Put(Message(self._body())))
        self.put_in_order(number, [(MIG, 6), (MIG, 6)], 0, False, True, False)
        self._alter(put="ENABLED", get="ENABLED")
        self.model.queue.are_puts_inhibited = self.model.queue.are_gets_inhibited = False

    def _alter(self, **changes: Any) -> None:
        self.group.repository("QM1").alter("QLOCAL", "Q", changes)

    @rule()
    def let_time_pass(self) -> None:
        let_time_pass(self.group.group.client(), self.group.group.structure(self.structure), "Q")
        self.model.let_time_pass()

    @rule(number=programs, ask=asks)
    def get(self, number: int, ask: Ask) -> None:
        ask = self._known(ask)
        self._compare(self._get(number, ask), self.model.get(number, ask))

    @rule(number=programs, ask=browses)
    def browse(self, number: int, ask: Ask) -> None:
        ask = self._known(ask)
        self._compare(self._get(number, ask), self.model.get(number, ask))

    @rule(number=programs, level=st.sampled_from(sorted(LEVELS)), in_unit=st.booleans(), times=st.integers(2, 6))
    def walk(self, number: int, level: str, in_unit: bool, times: int) -> None:
        """The usual program: logical order, call after call."""
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
        """The usual use of locks."""
        self.browse(number, Ask(browse="first", level=level, logical=logical, lock=True))
        self.get(number, Ask(under_cursor=True, level=level, logical=logical, in_unit=in_unit))

    @rule(number=programs, ask=marking)
    def browse_marking(self, number: int, ask: Ask) -> None:
        self.browse(number, ask)

    @rule(number=programs, marks=st.sampled_from(["hs", "cs"]), times=st.integers(2, 6))
    def sweep(self, number: int, marks: str, times: int) -> None:
        """The usual use of marks: always from the start, each message once."""
        for _ in range(times):
            self.browse(number, Ask(browse="first", marks=marks))

    @precondition(lambda self: any(program.locked for program in self.model.programs))
    @rule(how=st.sampled_from(["first", "next", "under"]), room=st.sampled_from([5, 0]), lock=st.booleans())
    def browse_into_too_short_a_buffer(self, how: str, room: int, lock: bool) -> None:
        """By a handle that has a lock: 2080 ends no lock, and moves nothing."""
        number = next(at for at, program in enumerate(self.model.programs) if program.locked)
        logical = how == "next" and bool(self.model.programs[number].browse_is_logical)
        self.browse(number, Ask(browse=how, logical=logical, lock=lock, room=room))

    @precondition(lambda self: any(self.model.marked()))
    @rule(in_unit=st.booleans())
    def get_what_is_marked(self, in_unit: bool) -> None:
        """By a handle that has marked nothing: its marks go with it."""
        self.get(len(HANDLES) - 1, Ask(in_unit=in_unit))

    @rule(number=programs)
    def unlock(self, number: int) -> None:
        had, locked = self.queues[number].unlock(), self.model.programs[number].locked
        # An expired message may still be locked, or have been discarded.
        is_known = not locked or locked - self.model.dead
        expected = self.model.unlock(number) == MQRC.NONE
        assert had == expected or not is_known

    @rule(number=programs)
    def close_and_open(self, number: int) -> None:
        """MQCLOSE ends a lock, and forgets the retained state."""
        self.queues[number].close()
        self.queues[number] = self._open(number)
        self.model.reopen(number)

    @rule()
    def close_and_open_all(self) -> None:
        """The marks of the set go with its last handle."""
        for queue in self.queues:
            queue.close()
        self.queues = [self._open(number) for number in range(len(HANDLES))]
        self.model.reopen_all()

    def _get(self, number: int, ask: Ask) -> Got:
        arguments = asked(ask, self.msg_ids, self.tokens)
        try:
            return self._as_modelled(self.queues[number].get(options_of(ask), **arguments))
        except MQIError as error:
            return Got(error.reason)

    def _known(self, ask: Ask) -> Ask:
        """It may name messages that never arrived, or that no call has returned."""
        arrival = ask.arrival if ask.arrival in self.msg_ids else 0
        return replace(ask, arrival=arrival, by_token=ask.by_token and arrival in self.tokens)

    def _as_modelled(self, got: RealMessage) -> Got:
        md, empty = got.md, bytes(24)
        arrival = next(arrival for arrival, msg_id in self.msg_ids.items() if msg_id == md.msg_id)
        self.tokens[arrival] = got.msg_token
        in_group, of_message = md.msg_flags & LMIG, md.msg_flags & LSEG
        assert got.group_status == {0: b" ", MIG: b"G", LMIG: b"L"}[in_group]
        assert got.segment_status == {0: b" ", SEG: b"S", LSEG: b"L"}[of_message]
        assert got.segmentation == (b"A" if md.msg_flags & MAY else b" ")
        assert (md.expiry >= 0) == self._expires(arrival)
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
                arrival,
                md.backout_count,
            ),
        )

    @rule(number=programs, level=st.sampled_from(sorted(LEVELS)), logical=st.booleans(), unit=units)
    def commit_and_get(self, number: int, level: str, logical: bool, unit: tuple[bool, bool]) -> None:
        ask = Ask(logical, level, in_unit=unit[0], if_persistent=unit[1])
        refused = self.model.refuses(number, ask)
        try:
            got = self._as_modelled(self.queues[number].commit_and_get(options_of(ask)))
        except MQIError as error:
            got = Got(error.reason)
        if refused not in (MQRC.NONE, MQRC.NO_MSG_AVAILABLE):
            assert got == Got(refused)
            return
        self.model.commit(number)
        self._compare(got, self.model.get(number, ask))

    @rule(number=programs, count=st.integers(1, 5), unit=units)
    def get_many(self, number: int, count: int, unit: tuple[bool, bool]) -> None:
        """A batch also ends before an expired message."""
        ask, expected = Ask(in_unit=unit[0], if_persistent=unit[1]), list[Got]()
        if any(unit) and count > self.model.programs[number].unit.room:
            return
        try:
            got = self.queues[number].get_many(count, options_of(ask))
        except MQIError as error:
            self._compare(Got(error.reason), self.model.get(number, ask))
            return
        for message in got:
            expected.append(self.model.get(number, ask))
            assert message.body == getattr(expected[-1].message, "body", None)
        assert got[0].reason == next((each.reason for each in expected if each.reason), MQRC.NONE)
        assert len(got) == count or not self.model.in_order() or self.model.dead

    @rule(connection=connections)
    def commit(self, connection: int) -> None:
        self.connections[connection].commit()
        self.model.commit(HANDLES.index(connection))

    @rule(connection=connections)
    def back_out(self, connection: int) -> None:
        self.connections[connection].backout()
        self.model.backout(HANDLES.index(connection))

    @rule(connection=connections)
    def die(self, connection: int) -> None:
        process = self.connections[connection].connection.process
        process.stop_renewing()
        recoverer = self.group.connect()
        assert recover(self.group.group, recoverer.connection, process.token, force=True).is_resolved
        recoverer.disconnect()
        self.model.replace_connection(connection)
        self._come_back(connection)

    @rule(connection=connections)
    def leave(self, connection: int) -> None:
        """MQDISC commits, and closes everything."""
        self.connections[connection].disconnect()
        self.model.commit(HANDLES.index(connection))
        self.model.replace_connection(connection)
        self._come_back(connection)

    def _come_back(self, connection: int) -> None:
        self.connections[connection] = self._connect(connection)
        for number, its in enumerate(HANDLES):
            if its == connection:
                self.queues[number] = self._open(number)

    # -- what must agree -------------------------------------------------------------------------------------------

    def _compare(self, got: Got, expected: Got) -> None:
        assert got.reason == expected.reason
        assert (got.message is None) == (expected.message is None)
        if got.message is not None and expected.message is not None:
            assert got.message == replace(expected.message, effective_priority=0, expires=False)

    def _expires(self, arrival: int) -> bool:
        return arrival in self.expiring

    @invariant()
    def the_queue_agrees(self) -> None:
        keys, client = self.group.group.structure(self.structure), self.group.group.client()
        queue = keys.queue("Q")
        plain: Any = client.zrange(queue.available, 0, -1, withscores=True)
        members: Any = client.zrange(queue.members, 0, -1, withscores=True)
        ids = [message_id for message_id, _ in sorted([*plain, *members], key=lambda entry: entry[1])]
        records: Any = client.hmget(keys.messages, ids) if ids else []
        bodies = [record[int.from_bytes(record[3:5]) :] for record in records if not is_dead(record)]
        assert bodies == [message.body for message in self.model.in_order()]
        assert int(client.hget(queue.queue, "gm") or 0) == len(members)
        # An expired message is counted, and locked, until a call looks at it.
        living = [len(program.locked - self.model.dead) for program in self.model.programs]
        locked = [len(program.locked) for program in self.model.programs]
        assert sum(living) <= int(client.hget(queue.queue, "lk") or 0) <= sum(locked)
        assert sum(map(bool, living)) <= client.hlen(queue.locks) <= sum(map(bool, locked))
        held = {m.arrival for unit in self.model.units.values() for m in (*unit.put, *unit.got)} - self.model.dead
        stored: Any = client.hvals(keys.messages)
        there = sum(not is_dead(record) for record in stored)
        assert there == len(bodies) + len(held) + sum(living)
        assert not client.exists(queue.waiters)
        if not members:
            assert not client.exists(queue.groups)
        if not ids:
            assert not client.exists(queue.index)
        assert client.hlen(queue.marks) >= len(set().union(*self.model.marked()) - self.model.dead)
        if not (ids or any(locked)):
            assert not client.exists(queue.marks)
            assert not client.hexists(queue.queue, "mk")

    @invariant()
    def the_marks_agree(self) -> None:
        """The marks of each holder, as far as they are visible: locked messages are hidden."""
        client, base = self.group.group.client(), self.queues[0].handle.queue.marks_of
        holders = [f"{queue.connection.token}#{queue.handle.number}" for queue in self.queues]
        there = {message.arrival for message in self.model.in_order()}
        dead = {self.scores[arrival] for arrival in self.model.dead}
        for holder, marked in zip([*holders, "C"], self.model.marked(), strict=True):
            sets: Any = [client.zrange(f"{base}{holder}\n{kind}", 0, -1, withscores=True) for kind in "ar"]
            scores = {int(score) for found in sets for _, score in found}
            assert scores - dead == {self.scores[arrival] for arrival in marked & there}

    @invariant()
    def the_cursors_agree(self) -> None:
        for queue, program in zip(self.queues, self.model.programs, strict=True):
            under = program.under_cursor
            assert queue.handle.gets.cursor.score == (0 if under is None else self.scores[under.arrival])

    def teardown(self) -> None:
        self.group.close()


@pytest.mark.rule("mqi/locks", "Locks agree with the model in random programs with groups and units of work.")
@pytest.mark.rule(
    "mqi/marks", "Marks agree with the model in random programs with groups, locks, units of work and short buffers."
)
@pytest.mark.rule(
    "mqi/skip-backout",
    "MARK_SKIP_BACKOUT agrees with the model in random programs with groups, locks, marks and kills.",
)
@pytest.mark.invariant(1)
@in_time
def test_groups_behave_like_the_model(redis_server: Server, tmp_path: Path) -> None:
    hold_against(Grouped, redis_server, tmp_path, steps=STEPS)
