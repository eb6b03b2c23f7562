"""Random programs on real queues and on the model must see the same. MODEL_EXAMPLES says how many (default 30)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from recovery.resolution import recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.message import Message as Got
from sharedq.mqi.constants import MQRC, GetOption, IntSelector, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.model.examples import hold_against, in_time
from tests.model.queues import Message, Model
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.SET
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
PROGRAMS = 3
#: The connection that opens its queues through aliases.
BY_ALIAS = 2
#: Queue -> structure. A unit of work over both needs a decision record.
QUEUES = {"Q": "APPL1", "R": "APPL2"}
CORREL_IDS = [b"A" * 24, b"B" * 24]
STEPS = 40

programs = st.integers(0, PROGRAMS - 1)
queues = st.sampled_from(sorted(QUEUES))
priorities = st.integers(0, 2)
correl_ids = st.sampled_from([bytes(24), *CORREL_IDS])


class Against(RuleBasedStateMachine):
    """The same calls on the group and on the model."""

    url = ""
    where = Path()
    #: Of the queues and aliases.
    attributes: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.group = TestGroup(self.url, self.where)
        self.group.add_member("QM1")
        for queue, structure in QUEUES.items():
            self.group.define_structure(structure)
            self.group.define_shared(queue, structure, **self.attributes)
            self.group.define("QM1", QueueAlias(name=f"TO.{queue}", target=queue, **self.attributes))
        self.model = Model(PROGRAMS)
        self.connections: list[QueueManagerConnection] = [self.group.connect() for _ in range(PROGRAMS)]
        self.opened: list[dict[str, Queue]] = [self._open(number) for number in range(PROGRAMS)]
        self.msg_ids: dict[bytes, bytes] = {}
        self.count = 0

    def _open(self, number: int) -> dict[str, Queue]:
        prefix = "TO." if number == BY_ALIAS else ""
        return {queue: self.connections[number].open(prefix + queue, BOTH) for queue in QUEUES}

    def _new_message(self, queue: str, priority: int, correl_id: bytes) -> tuple[Message, MQMD]:
        self.count += 1
        message = Message(b"%d" % self.count, queue, priority, correl_id)
        return message, MQMD(priority=priority, correl_id=correl_id, persistence=1)

    # -- calls -----------------------------------------------------------------------------------------------------

    @rule(number=programs, queue=queues, priority=priorities, correl_id=correl_ids, in_unit=st.booleans())
    def put(self, number: int, queue: str, priority: int, correl_id: bytes, in_unit: bool) -> None:
        message, md = self._new_message(queue, priority, correl_id)
        options = PutOption.SYNCPOINT if in_unit else PutOption.NO_SYNCPOINT
        self.opened[number][queue].put(message.body, md, options=options)
        self.msg_ids[message.body] = md.msg_id
        self.model.put(number, message, in_unit=in_unit)

    @rule(number=programs, queue=queues, priority=priorities, correl_id=correl_ids)
    def put_later(self, number: int, queue: str, priority: int, correl_id: bytes) -> None:
        message, md = self._new_message(queue, priority, correl_id)
        self.opened[number][queue].put(message.body, md, options=LATER)
        self.model.put_later(number, message)

    @rule(number=programs, queue=queues, in_unit=st.booleans())
    def get_any(self, number: int, queue: str, in_unit: bool) -> None:
        self._check(self._get(number, queue, in_unit), self.model.get(number, queue, in_unit=in_unit))

    @rule(number=programs, queue=queues, in_unit=st.booleans(), correl_id=st.sampled_from(CORREL_IDS))
    def get_by_correl_id(self, number: int, queue: str, in_unit: bool, correl_id: bytes) -> None:
        got = self._get(number, queue, in_unit, MQMD(correl_id=correl_id), MatchOption.MATCH_CORREL_ID)
        self._check(
            got, self.model.get(number, queue, in_unit=in_unit, fits=lambda message: message.correl_id == correl_id)
        )

    @rule(number=programs, queue=queues, in_unit=st.booleans(), data=st.data())
    def get_by_msg_id(self, number: int, queue: str, in_unit: bool, data: st.DataObject) -> None:
        if not self.msg_ids:
            return
        body = data.draw(st.sampled_from(sorted(self.msg_ids)))
        got = self._get(number, queue, in_unit, MQMD(msg_id=self.msg_ids[body]), MatchOption.MATCH_MSG_ID)
        self._check(got, self.model.get(number, queue, in_unit=in_unit, fits=lambda message: message.body == body))

    def _get(
        self, number: int, queue: str, in_unit: bool, match: MQMD | None = None, by: MatchOption | None = None
    ) -> Got | None:
        options = GetOption.SYNCPOINT if in_unit else GetOption.NO_SYNCPOINT
        with suppress(NoMsgAvailable):
            return self.opened[number][queue].get(options, match=match, match_options=by)
        return None

    @rule(number=programs, queue=queues, is_first=st.booleans())
    def browse(self, number: int, queue: str, is_first: bool) -> None:
        got = None
        with suppress(NoMsgAvailable):
            got = self.opened[number][queue].get(GetOption.BROWSE_FIRST if is_first else GetOption.BROWSE_NEXT)
        self._check(got, self.model.browse(number, queue, is_first=is_first))

    @rule(number=programs, queue=queues, in_unit=st.booleans(), count=st.integers(2, 5))
    def get_many(self, number: int, queue: str, in_unit: bool, count: int) -> None:
        options = GetOption.SYNCPOINT if in_unit else GetOption.NO_SYNCPOINT
        got = list[Got]()
        with suppress(NoMsgAvailable):
            got = self.opened[number][queue].get_many(count, options)
        expected = [self.model.get(number, queue, in_unit=in_unit) for _ in range(count)]
        assert [message.body for message in got] == [message.body for message in expected if message]

    @rule(queue=queues, is_alias=st.booleans())
    def alter(self, queue: str, is_alias: bool) -> None:
        self.count += 1
        kind, name = ("QALIAS", f"TO.{queue}") if is_alias else ("QLOCAL", queue)
        self.group.repository("QM1").alter(kind, name, {"description": str(self.count)})
        self.model.alter(queue)

    @rule(number=programs, queue=queues, setter=st.integers(0, BY_ALIAS - 1))
    def set_inhibited_for_a_while(self, number: int, queue: str, setter: int) -> None:
        """MQSET, by any connection."""
        opened = self.opened[number][queue]
        for value in (1, 0):
            self.opened[setter][queue].set({IntSelector.INHIBIT_GET: value, IntSelector.INHIBIT_PUT: value})
            self.model.alter(queue)
            self.model.learn(setter, queue)
            if value:
                for call, reason in ((opened.get, 2016), (lambda: opened.put(b"no"), 2051)):
                    with pytest.raises(MQIError) as caught:
                        call()
                    assert caught.value.reason == reason
                self.model.ask(number, queue)
        if number != setter:
            self.model.programs[number].inhibited.add(queue)

    @rule(number=programs)
    def commit(self, number: int) -> None:
        self._commit(number, self.connections[number].commit)

    def _commit(self, number: int, commit: Callable[[], object]) -> None:
        if self.model.commit(number):
            commit()
            return
        with pytest.raises(MQIError) as caught:
            commit()
        assert caught.value.reason == MQRC.BACKED_OUT

    @rule(number=programs)
    def back_out(self, number: int) -> None:
        self.connections[number].backout()
        self.model.backout(number)

    @rule(number=programs, queue=queues)
    def commit_and_get(self, number: int, queue: str) -> None:
        got = list[Got]()

        def commit() -> None:
            with suppress(NoMsgAvailable):
                got.append(self.opened[number][queue].commit_and_get(GetOption.SYNCPOINT))

        is_committed = not any(m.is_doomed for m in self.model.programs[number].pending)
        is_committed = is_committed and not self.model.programs[number].has_failed
        self._commit(number, commit)
        if is_committed:
            self._check(got[0] if got else None, self.model.get(number, queue, in_unit=True))

    @rule(number=programs)
    def die(self, number: int) -> None:
        process = self.connections[number].connection.process
        process.stop_renewing()
        recoverer = self.group.connect()
        assert recover(self.group.group, recoverer.connection, process.token, force=True).is_resolved
        recoverer.disconnect()
        self._replace(number)

    @rule(number=programs)
    def leave_and_come_back(self, number: int) -> None:
        """MQDISC commits."""
        self._commit(number, self.connections[number].disconnect)
        self._replace(number)

    def _replace(self, number: int) -> None:
        self.connections[number] = self.group.connect()
        self.opened[number] = self._open(number)
        self.model.replace_program(number)

    # -- what must agree -------------------------------------------------------------------------------------------

    @staticmethod
    def _check(got: Got | None, expected: Message | None) -> None:
        assert (got is None) == (expected is None)
        if got is not None and expected is not None:
            assert got.body == expected.body
            assert got.md.priority == expected.priority
            assert got.md.correl_id == expected.correl_id
            assert got.md.backout_count == expected.backout_count

    @invariant()
    def queues_agree(self) -> None:
        for queue, structure in QUEUES.items():
            expected = [(message.body, message.backout_count) for message in self.model.on_queue(queue)]
            assert [(self._body(body), count) for body, count in on_queue(self.group, queue, structure)] == expected

    @staticmethod
    def _body(stored: bytes) -> bytes:
        return stored

    @invariant()
    def nothing_else_is_stored(self) -> None:
        for queue, structure in QUEUES.items():
            held = [m for program in self.model.programs for m in (*program.put, *program.got) if m.queue == queue]
            assert stored(self.group, structure) == len(self.model.on_queue(queue)) + len(held)

    def teardown(self) -> None:
        self.group.close()


@pytest.mark.invariant(1, 5)
@in_time
def test_real_queues_behave_like_the_model(redis_server: Server, tmp_path: Path) -> None:
    hold_against(Against, redis_server, tmp_path, steps=STEPS)
