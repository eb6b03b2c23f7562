"""Random gets and browses that wait, in threads, while messages and members of groups come, go and come back.

The moment decides which getters are served. Always, each gets a message that fits it, no getter is served twice, and
none waits for a message that is there. MODEL_EXAMPLES says how many examples run.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.message import Message as RealMessage
from sharedq.messages.record import generated_number
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD
from tests.model.examples import hold_against, in_time
from tests.model.grouped import GroupedModel
from tests.model.grouped_calls import Ask, Message, Put
from tests.model.grouped_strategies import CORREL_IDS, MEMBERS, Member, asked, options_of, whole_groups
from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
#: Programs that get. The last one puts.
GETTERS, PUTTER = 5, 5
STEPS = 30
LONG_MS = 120_000

#: Groups whose messages have segments, which arrive last first.
PERSISTENT = [[member for member in reversed(MEMBERS) if member[0] == name * 24] for name in (b"B", b"C")]
#: The most messages in a unit of work of a program that gets.
ROOM = 3
#: A message has come for a wait that must not have it.
REFUSED = (
    MQRC.SYNCPOINT_LIMIT_REACHED,
    MQRC.INCONSISTENT_UOW,
    MQRC.MATCH_OPTIONS_ERROR,
    MQRC.UOW_NOT_AVAILABLE,
)

getters = st.integers(0, GETTERS - 1)
asks = st.builds(
    Ask,
    logical=st.booleans(),
    level=st.sampled_from(["", "", "segments", "messages", "complete"]),
    in_unit=st.booleans(),
    correl_id=st.sampled_from(CORREL_IDS),
    group_id=st.sampled_from([b"", b"", b"A" * 24, b"C" * 24]),
    seq=st.sampled_from([None, None, None, 2]),
)
wholes = st.builds(
    Ask,
    logical=st.booleans(),
    level=st.sampled_from(["complete", "complete", "complete", "messages", "segments"]),
    in_unit=st.booleans(),
    group_id=st.sampled_from([b"", b"", b"", b"B" * 24, b"C" * 24]),
)
browses = st.builds(
    lambda ask, how, lock: replace(ask, in_unit=False, browse=how, lock=lock),
    asks,
    st.sampled_from(["first", "next"]),
    st.booleans(),
)


class Waits(RuleBasedStateMachine):
    """The same calls on the group and on the model. Waits end in an order that the model is told."""

    url = ""
    where = Path()

    def __init__(self) -> None:
        super().__init__()
        self.group = TestGroup(self.url, self.where)
        self.group.add_member("QM1")
        self.group.define_structure("APPL1")
        self.group.define_shared("Q")
        self.model = GroupedModel(range(GETTERS + 1))
        self.connections: list[QueueManagerConnection] = [self.group.connect() for _ in range(GETTERS + 1)]
        for number in range(GETTERS):
            self.connections[number].connection.max_uncommitted = self.model.units[number].limit = ROOM
        self.queues: list[Queue] = [connection.open("Q", BOTH) for connection in self.connections]
        self.pool = ThreadPoolExecutor(GETTERS)
        self.waits: dict[int, tuple[Ask, Future[RealMessage]]] = {}
        #: By MsgId: each message as it arrived.
        self.arrived: dict[bytes, Message] = {}
        self.count = 0

    # -- calls -----------------------------------------------------------------------------------------------------

    @rule(number=getters, ask=st.one_of(asks, asks, browses))
    def get(self, number: int, ask: Ask) -> None:
        """It waits if nothing is there, and gets the usual answer if something is."""
        if number in self.waits:
            return
        expected = self.model.get(number, ask)
        if expected.reason != MQRC.NO_MSG_AVAILABLE:
            body: bytes | None = None
            try:
                got = self.queues[number].get(options_of(ask), **asked(ask, {}, {}))
                body, reason = got.body, got.reason
            except MQIError as error:
                reason = error.reason
            assert (reason, body) == (expected.reason, getattr(expected.message, "body", None))
        elif not self.model.refuses(number, ask):
            arguments: dict[str, Any] = {**asked(ask, {}, {}), "wait_ms": LONG_MS}
            options = options_of(ask) | GetOption.WAIT
            self.waits[number] = ask, self.pool.submit(self.queues[number].get, options, **arguments)
        else:
            # Nothing that fits can come: no wait, but the handle's locked message is free.
            with pytest.raises(NoMsgAvailable):
                self.queues[number].get(options_of(ask), **asked(ask, {}, {}))
        self._settle()

    @rule(
        crowd=st.lists(st.one_of(asks, asks, browses), min_size=GETTERS, max_size=GETTERS),
        have_put=st.sets(getters),
    )
    def wait_for_what_comes(self, crowd: list[Ask], have_put: set[int]) -> None:
        """All free programs wait on an empty queue, some with a unit of work under way."""
        for number in have_put:
            self.put_in_unit(number)
        while self.model.in_order():
            got = self.queues[PUTTER].get()
            assert got.body == getattr(self.model.get(PUTTER, Ask()).message, "body", None)
        for number, ask in enumerate(crowd):
            self.get(number, ask)

    @rule(
        crowd=st.lists(wholes, min_size=GETTERS, max_size=GETTERS),
        have_put=st.sets(getters),
        members=st.sampled_from(PERSISTENT),
    )
    def wait_for_something_whole(self, crowd: list[Ask], have_put: set[int], members: list[Member]) -> None:
        """A group that not all of them may have, and that comes piece by piece."""
        self.wait_for_what_comes(crowd, have_put)
        self.put_members(members, 0, b"", in_unit=False)

    @rule(
        members=st.one_of(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=2), whole_groups),
        priority=st.integers(0, 1),
        correl_id=st.sampled_from(CORREL_IDS),
        in_unit=st.booleans(),
    )
    def put_members(self, members: list[Member], priority: int, correl_id: bytes, in_unit: bool) -> None:
        for group_id, seq, offset, flags, length, persistence in members:
            body = self._body()[:length]
            self._put(Message(body, priority, persistence, correl_id, group_id, seq, offset, flags), in_unit)
        self._commit(in_unit)

    @rule(
        correl_ids=st.lists(st.sampled_from(CORREL_IDS), min_size=1, max_size=4),
        priority=st.integers(0, 1),
        in_unit=st.booleans(),
    )
    def put_plain(self, correl_ids: list[bytes], priority: int, in_unit: bool) -> None:
        for correl_id in correl_ids:
            specific = {
                number
                for number, (ask, _) in self.waits.items()
                if ask == Ask(in_unit=ask.in_unit, correl_id=correl_id) and correl_id
            }
            # A browse with a lock counts as a get when one is chosen.
            locking = {
                number
                for number, (ask, _) in self.waits.items()
                if ask.browse and ask.lock and ask.correl_id == correl_id
            }
            message = self._put(Message(self._body(), priority, 0, correl_id), in_unit)
            if specific and not in_unit:
                assert any(number not in self.waits for number in specific | locking), message
        self._commit(in_unit)

    def _commit(self, in_unit: bool) -> None:
        if in_unit:
            self.connections[PUTTER].commit()
            self.model.commit(PUTTER)
            self._settle()

    @rule(number=getters)
    def put_in_unit(self, number: int) -> None:
        """From now on it may get less, or nothing outside its unit of work."""
        if number not in self.waits and self.model.units[number].room:
            self._put(Message(self._body()), in_unit=True, number=number)

    @rule(number=getters, commits=st.booleans())
    def end_unit(self, number: int, commits: bool) -> None:
        if number in self.waits:
            return
        if commits:
            self.connections[number].commit()
            self.model.commit(number)
        else:
            self.connections[number].backout()
            self.model.backout(number)
        self._settle()

    @rule(number=getters, correl_id=st.sampled_from(CORREL_IDS))
    def commit_and_wait(self, number: int, correl_id: bytes) -> None:
        """The commit, the look and the wait are one call where the queue is all that the unit of work has touched."""
        if number in self.waits:
            return
        self.model.commit(number)
        match = MQMD(version=2, correl_id=correl_id) if correl_id else None
        options = GetOption.SYNCPOINT | GetOption.WAIT
        call = self.queues[number].commit_and_get
        self.waits[number] = (
            Ask(in_unit=True, correl_id=correl_id),
            self.pool.submit(call, options, wait_ms=LONG_MS, match=match),
        )
        self._settle()

    @rule(number=getters)
    def unlock(self, number: int) -> None:
        if number not in self.waits:
            self.queues[number].unlock()
            self.model.unlock(number)
            self._settle()

    @rule(number=getters)
    def close_and_open(self, number: int) -> None:
        if number not in self.waits:
            self.queues[number].close()
            self.queues[number] = self.connections[number].open("Q", BOTH)
            self.model.reopen(number)
            self._settle()

    @rule()
    def inhibit(self) -> None:
        """It ends every wait."""
        repository = self.group.repository("QM1")
        repository.alter("QLOCAL", "Q", {"get": "DISABLED"})
        for _, future in self.waits.values():
            assert isinstance(error := future.exception(30), MQIError)
            assert error.reason == MQRC.GET_INHIBITED
        self.waits.clear()
        repository.alter("QLOCAL", "Q", {"get": "ENABLED"})

    def _body(self) -> bytes:
        self.count += 1
        return b"%06d" % self.count

    def _put(self, message: Message, in_unit: bool, number: int = PUTTER) -> Message:
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
        _, (arrived,) = self.model.put(number, Put(message, in_unit=in_unit), md.group_id)
        assert generated_number(md.msg_id, self.queues[PUTTER].handle.structure.number) is not None
        self.arrived[md.msg_id] = arrived
        if not in_unit:
            self._settle()
        return arrived

    # -- what must agree -------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Wait until each wait has ended or goes on. Then no program waits for a message that is there."""
        waiters = self.queues[PUTTER].handle.queue.waiters
        client = self.group.group.client()

        def is_settled() -> bool:
            # A registered waiter has looked, and was not woken since.
            waiting = sum(not future.done() for _, future in self.waits.values())
            # The order matters: a refused waiter ends, and wakes another one before that.
            return client.zcard(waiters) == waiting

        until(is_settled, "every wait has ended or goes on")
        done = [number for number, (_, future) in self.waits.items() if future.done()]
        # A refused or browsed message may have been got, or locked, since.
        for number in sorted(done, key=self._went_away):
            ask, future = self.waits.pop(number)
            error = future.exception()
            if isinstance(error, MQIError) and error.reason in REFUSED:
                # The getter of an earlier first message is in `done`, too.
                assert error.reason in self.model.refusals(number, ask)
                continue
            self._served(number, ask, future.result())
        for number, (ask, _) in self.waits.items():
            assert not self.model.fitting(number, ask)
        keys, queue = self.group.group.structure("APPL1"), self.queues[PUTTER].handle.queue
        there: set[Any] = {*client.zrange(queue.available, 0, -1), *client.zrange(queue.members, 0, -1)}
        assert len(there) == len(self.model.in_order())
        held = sum(len(program.locked) for program in self.model.programs)
        held += sum(len(unit.put) + len(unit.got) for unit in self.model.units.values())
        assert client.hlen(keys.messages) == len(there) + held

    def _went_away(self, number: int) -> tuple[bool, bool]:
        """Whether its wait ended with a message that is no longer on the queue."""
        ask, future = self.waits[number]
        return future.exception() is None, not ask.browse or ask.lock

    def _served(self, number: int, ask: Ask, got: RealMessage) -> None:
        found = self.arrived[got.md.msg_id]
        # After a unit of work it is another message to the model, except for its place.
        now = next((each for each in self.model.available if each.arrival == found.arrival), found)
        self.model.served(number, ask, now)
        assert got.body.startswith(found.body)

    def teardown(self) -> None:
        self.inhibit()
        self.pool.shutdown()
        self.group.close()


@pytest.mark.rule(
    "mqi/waiting", "In random programs no getter waits for a message that it could have, as in the model."
)
@in_time
def test_waits_end_as_in_the_model(redis_server: Server, tmp_path: Path) -> None:
    hold_against(Waits, redis_server, tmp_path, steps=STEPS)
