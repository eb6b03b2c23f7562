"""Random publishers and subscribers on a real group and on the model must see the same."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from recovery.resolution import recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.api import Subscription as Opened
from sharedq.mqi.constants import MQRC, CloseOption, GetOption, OpenOption, PutOption, SubOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD, MQSD
from tests.model.examples import hold_against, in_time
from tests.model.topics import Subscription, TopicsModel
from tests.support.members import TestGroup
from tests.support.scenes import on_queue
from tests.support.server import Server

MEMBERS = ("QM1", "QM2")
PROGRAMS, STEPS = 3, 40
#: The queue that programs give to subscriptions.
PROVIDED = "Q"
TOPICS = ["a", "a/b", "a/b/c", "b", "d/b"]
BY_LEVEL = [*TOPICS, "#", "+", "a/#", "a/+", "+/b", "a/+/c", "#/c", "a/#/c"]
BY_CHARACTER = ["*", "a*", "a/?", "?", "*b", "a/b"]
KINDS = ["managed", "provided", "durable", "on request", "new only", "selecting"]
PUBLISHED = [PutOption.NO_SYNCPOINT, PutOption.SYNCPOINT | PutOption.RETAIN]
patterns = st.one_of(
    st.tuples(st.sampled_from(BY_LEVEL), st.just(False)), st.tuples(st.sampled_from(BY_CHARACTER), st.just(True))
)
programs = st.integers(0, PROGRAMS - 1)


class Against(RuleBasedStateMachine):
    """The same calls on the group and on the model."""

    url = ""
    where = Path()

    def __init__(self) -> None:
        super().__init__()
        self.group = TestGroup(self.url, self.where)
        for member in MEMBERS:
            self.group.add_member(member)
        self.group.define_structure()
        self.group.define_shared(PROVIDED)
        self.model = TopicsModel(PROGRAMS)
        self.connections = [self._connect(number) for number in range(PROGRAMS)]
        self.queues = [self._open(number) for number in range(PROGRAMS)]
        self.opened: dict[Subscription, Opened] = {}
        self.names: dict[Subscription, str] = {}
        self.count = 0

    def _connect(self, number: int) -> QueueManagerConnection:
        return self.group.connect(MEMBERS[number % len(MEMBERS)])

    def _open(self, number: int) -> Queue:
        return self.connections[number].open(PROVIDED, OpenOption.INPUT_SHARED)

    def _draw(self, data: st.DataObject, *, is_open: bool) -> Subscription:
        found = [each for each in self.model.subscriptions if (each.holder is not None) == is_open]
        assume(found)
        return data.draw(st.sampled_from(found))

    # -- calls -----------------------------------------------------------------------------------------------------

    @rule(
        number=programs,
        topic=st.sampled_from(TOPICS),
        priority=st.integers(0, 1),
        in_unit=st.booleans(),
        is_retained=st.booleans(),
    )
    def publish(self, number: int, topic: str, priority: int, in_unit: bool, is_retained: bool) -> None:
        self.count += 1
        body = b"%d" % self.count
        options = PutOption.SYNCPOINT if in_unit else PutOption.NO_SYNCPOINT
        with self.connections[number].open_topic(topic) as opened:
            md = MQMD(priority=priority, persistence=1)
            opened.publish(body, md, options=options | (PutOption.RETAIN if is_retained else 0))
        self.model.publish(number, topic, body, priority, in_unit=in_unit, is_retained=is_retained)

    @rule(number=programs, topic=st.sampled_from(TOPICS), options=st.sampled_from(PUBLISHED))
    def publish_what_cannot_be(self, number: int, topic: str, options: PutOption) -> None:
        """It is refused, and the model knows nothing of it."""
        with self.connections[number].open_topic(topic) as opened, pytest.raises(MQIError) as caught:
            opened.publish(b"wrong", MQMD(expiry=0), options=options)
        assert caught.value.reason == MQRC.EXPIRY_ERROR

    @rule(number=programs, pattern=patterns, kind=st.sampled_from(KINDS))
    def subscribe(self, number: int, pattern: tuple[str, bool], kind: str) -> None:
        text, is_by_character = pattern
        options = SubOption.CREATE | (SubOption.WILDCARD_CHAR if is_by_character else SubOption.WILDCARD_TOPIC)
        options |= SubOption(0) if kind == "provided" else SubOption.MANAGED
        options |= SubOption.DURABLE if kind == "durable" else SubOption(0)
        options |= SubOption.PUBLICATIONS_ON_REQUEST if kind == "on request" else SubOption(0)
        options |= SubOption.NEW_PUBLICATIONS_ONLY if kind == "new only" else SubOption(0)
        self.count += 1
        name = f"SUB {self.count}" if kind == "durable" else ""
        queue = self.queues[number] if kind == "provided" else None
        sd = MQSD(selection_string=b"Root.MQMD.Priority = 1") if kind == "selecting" else MQSD()
        opened = self.connections[number].subscribe(text, name=name, options=options, queue=queue, descriptor=sd)
        made = Subscription(
            text,
            is_by_character,
            opened.handle.subscription.destination,
            number,
            is_managed=kind != "provided",
            is_on_request=kind == "on request",
            is_durable=kind == "durable",
            priority=1 if kind == "selecting" else None,
        )
        self.opened[made], self.names[made] = opened, name
        self.model.subscribe(number, made, new_only=kind == "new only")

    @rule(number=programs, data=st.data(), other=st.sampled_from([SubOption.NON_DURABLE, SubOption.DURABLE]))
    def resume(self, number: int, data: st.DataObject, other: SubOption) -> None:
        """Any program at any member goes on with a durable subscription, and is told of it."""
        closed, sd = self._draw(data, is_open=False), MQSD()
        name, options = self.names[closed], SubOption.RESUME | other
        self.opened[closed] = self.connections[number].subscribe(name=name, options=options, descriptor=sd)
        assert sd.res_object_string == closed.pattern.encode()
        assert sd.options & SubOption.DURABLE
        assert bool(sd.options & SubOption.WILDCARD_CHAR) == closed.is_by_character
        closed.holder = number

    @rule(data=st.data())
    def request(self, data: st.DataObject) -> None:
        subscription = self._draw(data, is_open=True)
        assert subscription.holder is not None
        count = self.model.request(subscription.holder, subscription)
        if count:
            assert self.opened[subscription].request() == count
            return
        with pytest.raises(MQIError) as caught:
            self.opened[subscription].request()
        assert caught.value.reason == MQRC.NO_RETAINED_MSG

    @rule(data=st.data(), in_unit=st.booleans())
    def get(self, data: st.DataObject, in_unit: bool) -> None:
        subscription = self._draw(data, is_open=True)
        assert subscription.holder is not None
        options = GetOption.SYNCPOINT if in_unit else GetOption.NO_SYNCPOINT
        got = None
        with suppress(NoMsgAvailable):
            got = self.opened[subscription].get(options).body
        expected = self.model.get(subscription.holder, subscription.queue, in_unit=in_unit)
        assert got == (None if expected is None else expected.body)

    @rule(data=st.data(), is_removed=st.booleans())
    def close(self, data: st.DataObject, is_removed: bool) -> None:
        subscription = self._draw(data, is_open=True)
        self.opened[subscription].close(CloseOption.REMOVE_SUB if is_removed else 0)
        subscription.is_durable = subscription.is_durable and not is_removed
        self.model.close(subscription)

    @rule(number=programs)
    def commit(self, number: int) -> None:
        self.connections[number].commit()
        assert self.model.commit(number)

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
        self._replace(number)

    @rule(number=programs)
    def leave_and_come_back(self, number: int) -> None:
        """MQDISC commits."""
        self.connections[number].disconnect()
        assert self.model.commit(number)
        self._replace(number)

    def _replace(self, number: int) -> None:
        self.connections[number] = self._connect(number)
        self.queues[number] = self._open(number)
        self.model.replace_program(number)

    # -- what must agree -------------------------------------------------------------------------------------------

    @invariant()
    def queues_agree(self) -> None:
        for queue in {PROVIDED, *(each.queue for each in self.model.subscriptions)}:
            expected = [(message.body, message.backout_count) for message in self.model.on_queue(queue)]
            # Before the data there is the header of what publish/subscribe adds.
            found = [
                (body.rpartition(b"</mqps>")[2].strip(b" "), count)
                for body, count in on_queue(self.group, queue, "APPL1")
            ]
            assert found == expected

    @invariant()
    def subscriptions_agree(self) -> None:
        stored = self.group.repository("QM1").topics.subscriptions()
        assert sorted(each.subscription.topic_string for each in stored) == sorted(
            each.pattern for each in self.model.subscriptions
        )

    def teardown(self) -> None:
        self.group.is_accounted = True
        self.group.close()


@pytest.mark.invariant(1, 5)
@in_time
def test_real_topics_behave_like_the_model(redis_server: Server, tmp_path: Path) -> None:
    hold_against(Against, redis_server, tmp_path, steps=STEPS)
