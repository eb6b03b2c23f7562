"""An alias with TARGTYPE(TOPIC): what is put through its name is published."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import (
    MQCC,
    MQRC,
    GetOption,
    IntSelector,
    MsgFlag,
    ObjectType,
    OpenOption,
    PutOption,
)
from sharedq.mqi.limits import PRIORITY_AS_Q_DEF
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from sharedq.properties.handle import MessageHandle
from sharedq.reading.plan import find_parts
from sharedq.session.topics import TopicHandle
from tests.mqi.topics.scene import PROVIDED, bodies
from tests.support.accounts import assert_accounted
from tests.support.backups import mqsc
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of

OUTPUT = OpenOption.OUTPUT


@pytest.fixture
def prices(group: TestGroup) -> TestGroup:
    """PRICES stands for the topic object PRICE, whose topic string is price/apples."""
    mqsc(group, "DEFINE TOPIC(PRICE) TOPICSTR('price/apples')")
    group.define("QM1", alias())
    return group


def alias(**attributes: Any) -> QueueAlias:
    return QueueAlias(**{"name": "PRICES", "target": "PRICE", "target_type": "TOPIC", **attributes})


def alter(group: TestGroup, **changes: Any) -> None:
    group.repository("QM1").alter("QALIAS", "PRICES", changes)


@pytest.mark.rule("mqi/topics", "A put through an alias with TARGTYPE(TOPIC) publishes to the topic that TARGET names.")
def test_puts_of_the_native_api_publish(prices: TestGroup) -> None:
    connection = prices.connect()
    subscription = connection.subscribe("price/#")
    with connection.open("PRICES", OUTPUT) as queue:
        queue.put(b"1")
        queue.put_many([(MQMD(), b"2"), (MQMD(), b"3")])
        assert (queue.name, queue.resolved_name, queue.warning) == ("PRICES", "", MQRC.NONE)
    connection.put1("PRICES", b"4")
    assert bodies(subscription) == [b"1", b"2", b"3", b"4"]
    assert not connection.connection.objects


def test_puts_of_the_verbs_publish(prices: TestGroup) -> None:
    connection = prices.connect()
    subscription, hconn = connection.subscribe("price/#"), connection.connection
    od = MQOD(version=4, object_name=b"PRICES")
    handle, comp_code, _ = verbs.mqopen(hconn, od, int(OUTPUT))
    assert comp_code == MQCC.OK
    assert isinstance(handle, TopicHandle)
    assert (od.res_object_string, od.resolved_type) == (b"price/apples", ObjectType.TOPIC)
    assert verbs.mqput(hconn, handle, MQMD(), MQPMO(), b"1") == (MQCC.OK, MQRC.NONE)
    assert verbs.mqget(hconn, handle, MQMD(), MQGMO(options=int(GetOption.NO_WAIT)), 10)[3] == MQRC.NOT_OPEN_FOR_INPUT
    assert verbs.mqinq(hconn, handle, (int(IntSelector.Q_TYPE),))[2] == MQRC.NOT_OPEN_FOR_INQUIRE
    assert verbs.mqclose(hconn, handle) == (MQCC.OK, MQRC.NONE)
    assert verbs.mqput1(hconn, MQOD(object_name=b"PRICES"), MQMD(), MQPMO(), b"2") == (MQCC.OK, MQRC.NONE)
    assert bodies(subscription) == [b"1", b"2"]


def test_a_remote_definition_and_the_name_of_the_manager_lead_to_the_topic(prices: TestGroup) -> None:
    prices.define("QM1", QueueRemote(name="FAR", remote_queue="PRICES", remote_qmgr="QM1"))
    connection = prices.connect()
    subscription = connection.subscribe("price/#")
    connection.put1("FAR", b"1")
    connection.put1("PRICES", b"2", qmgr_name="QM1")
    connection.put1("PRICES", b"3", qmgr_name=prices.group.name)
    assert bodies(subscription) == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    "options",
    [
        OpenOption.INPUT_AS_Q_DEF,
        OpenOption.INPUT_SHARED,
        OpenOption.INPUT_EXCLUSIVE,
        OpenOption.BROWSE,
        OpenOption.INQUIRE,
        OpenOption.SET,
        OpenOption.INPUT_SHARED | OpenOption.OUTPUT,
    ],
)
def test_only_output_is_an_option_for_it(prices: TestGroup, options: OpenOption) -> None:
    connection = prices.connect()
    assert reason_of(lambda: connection.open("PRICES", options)) == MQRC.OPTION_NOT_VALID_FOR_TYPE
    assert not connection.connection.objects


def test_gets_inquiries_and_sets_through_it_are_refused(prices: TestGroup) -> None:
    queue = prices.connect().open("PRICES", OUTPUT)
    assert reason_of(queue.get) == MQRC.NOT_OPEN_FOR_INPUT
    assert reason_of(queue.commit_and_get) == MQRC.NOT_OPEN_FOR_INPUT
    assert reason_of(queue.unlock) == MQRC.NOT_OPEN_FOR_BROWSE
    assert reason_of(lambda: queue.inquire(IntSelector.Q_TYPE)) == MQRC.NOT_OPEN_FOR_INQUIRE
    assert reason_of(lambda: queue.set({})) == MQRC.NOT_OPEN_FOR_SET
    queue.close()
    assert reason_of(lambda: queue.put(b"")) == MQRC.HOBJ_ERROR
    assert reason_of(queue.close) == MQRC.HOBJ_ERROR


@pytest.mark.parametrize("target", ["", "MISSING", "ORDERS"])
def test_a_target_that_is_no_topic_object_is_unknown(prices: TestGroup, target: str) -> None:
    prices.define_shared("ORDERS")
    alter(prices, target=target)
    connection = prices.connect()
    assert reason_of(lambda: connection.open("PRICES", OUTPUT)) == MQRC.UNKNOWN_ALIAS_BASE_Q
    assert reason_of(lambda: connection.put1("PRICES", b"x")) == MQRC.UNKNOWN_ALIAS_BASE_Q


def test_a_topic_that_is_called_as_a_queue_takes_nothing_from_the_queue(prices: TestGroup) -> None:
    prices.define_shared("PRICE")
    connection = prices.connect()
    subscription = connection.subscribe("price/#")
    connection.put1("PRICES", b"1")
    assert bodies(subscription) == [b"1"]
    assert prices.repository("QM1").queue_status("PRICE").depth == 0


@pytest.mark.parametrize("attributes", [{"put": "DISABLED"}, {"target": "PEAR"}, {"target_type": "QUEUE"}])
def test_an_alter_of_the_alias_holds_for_open_handles(prices: TestGroup, attributes: dict[str, Any]) -> None:
    mqsc(prices, "DEFINE TOPIC(PEAR) TOPICSTR('price/pears')")
    prices.define_shared("PRICE")
    connection = prices.connect()
    subscription = connection.subscribe("price/#")
    queue = connection.open("PRICES", OUTPUT)
    alter(prices, **attributes)
    expected = MQRC.PUT_INHIBITED if "put" in attributes else MQRC.OBJECT_CHANGED
    assert reason_of(lambda: queue.put(b"x")) == expected
    assert reason_of(lambda: queue.put_many([(MQMD(), b"x")])) == expected
    alter(prices, put="ENABLED", target="PRICE", target_type="TOPIC")
    queue.put(b"again")
    assert bodies(subscription) == [b"again"]


def test_a_handle_of_a_queue_does_not_become_one_of_a_topic(prices: TestGroup) -> None:
    prices.define_shared("PRICE")
    alter(prices, target_type="QUEUE")
    queue = prices.connect().open("PRICES", OUTPUT)
    alter(prices, target_type="TOPIC")
    assert reason_of(lambda: queue.put(b"x")) == MQRC.OBJECT_CHANGED


def test_a_deleted_alias_leads_nowhere(prices: TestGroup) -> None:
    queue = prices.connect().open("PRICES", OUTPUT)
    prices.repository("QM1").delete("QALIAS", "PRICES")
    assert reason_of(lambda: queue.put(b"x")) == MQRC.OBJECT_CHANGED


def test_the_topic_may_inhibit_publications(prices: TestGroup) -> None:
    queue = prices.connect().open("PRICES", OUTPUT)
    mqsc(prices, "ALTER TOPIC(PRICE) PUB(DISABLED)")
    assert reason_of(lambda: queue.put(b"x")) == MQRC.PUT_INHIBITED


def test_authority_is_that_of_the_topic(prices: TestGroup) -> None:
    mqsc(prices, "SET AUTHREC PROFILE(PRICE) OBJTYPE(TOPIC) PRINCIPAL('otto') AUTHADD(PUB)")
    hconn = prices.connect().connection

    def opens(user: bytes) -> MQRC:
        od = MQOD(object_name=b"PRICES", alternate_user_id=user)
        return verbs.mqopen(hconn, od, int(OUTPUT | OpenOption.ALTERNATE_USER_AUTHORITY))[2]

    assert (opens(b"otto"), opens(b"anna")) == (MQRC.NONE, MQRC.NOT_AUTHORIZED)


def test_options_of_publications_and_the_unit_of_work(prices: TestGroup) -> None:
    connection = prices.connect()
    queue = connection.open("PRICES", OUTPUT)
    queue.put(b"nobody", options=PutOption.WARN_IF_NO_SUBS_MATCHED)
    assert queue.warning == MQRC.NO_SUBS_MATCHED
    queue.put(b"kept", options=PutOption.RETAIN)
    subscription = connection.subscribe("price/apples")
    assert bodies(subscription) == [b"kept"]
    queue.put(b"gone", options=PutOption.SYNCPOINT)
    connection.backout()
    queue.put_many([(MQMD(), b"1"), (MQMD(), b"2")], options=PutOption.SYNCPOINT)
    assert bodies(subscription) == []
    connection.commit()
    assert bodies(subscription) == [b"1", b"2"]
    assert reason_of(lambda: queue.put(b"x", options=PutOption.LOGICAL_ORDER)) == MQRC.OPTIONS_ERROR
    segment = MQMD(version=2, msg_flags=int(MsgFlag.SEGMENT))
    assert reason_of(lambda: queue.put(b"x", segment)) == MQRC.SEGMENTATION_NOT_ALLOWED


@pytest.mark.rule("mqi/topics", "put_many through an alias of a topic publishes all messages or none.")
@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT, PutOption.RETAIN, PutOption.SYNCPOINT | PutOption.RETAIN])
def test_many_are_published_or_none(prices: TestGroup, options: int) -> None:
    connection, other = prices.connect(), prices.connect()
    subscription, queue = other.subscribe("price/#"), connection.open("PRICES", OUTPUT)
    assert subscription.queue is not None
    mqsc(prices, f"ALTER TOPIC(PRICE) NPMSGDLV(ALL) USEDLQ(NO)\nALTER QLOCAL({subscription.queue.name}) MAXMSGL(5)")
    queue.put(b"mine", options=PutOption.SYNCPOINT)

    batch = [(MQMD(), b"1"), (MQMD(), b"2"), (MQMD(), b"too long")]
    assert reason_of(lambda: queue.put_many(batch, options=options)) == MQRC.PUBLICATION_FAILURE
    assert bodies(subscription) == []
    queue.put_many(batch[:2], options=options)
    assert bodies(subscription) == ([] if options & PutOption.SYNCPOINT else [b"1", b"2"])
    connection.commit()

    assert bodies(subscription) == ([b"mine", b"1", b"2"] if options & PutOption.SYNCPOINT else [b"mine"])
    assert bodies(other.subscribe("price/apples")) == ([b"2"] if options & PutOption.RETAIN else [])
    assert_accounted(prices.group)


def test_properties_come_with_the_publication(prices: TestGroup) -> None:
    connection = prices.connect()
    subscription = connection.subscribe("price/#")
    given, got = MessageHandle(), MessageHandle()
    given.set("colour", "red")
    connection.open("PRICES", OUTPUT).put(b"1", properties=given)
    assert subscription.queue is not None
    subscription.queue.get(GetOption.NO_WAIT, properties=got)
    assert got.get("colour") == "red"


@pytest.mark.rule("mqi/topics", "DEFPRTY and DEFPSIST of an alias of a topic hold for puts through it.")
def test_defaults_are_those_of_the_alias(prices: TestGroup) -> None:
    mqsc(prices, "ALTER TOPIC(PRICE) DEFPRTY(2) DEFPSIST(NO)\nALTER QALIAS(PRICES) DEFPRTY(7) DEFPSIST(YES)")
    connection = prices.connect()
    subscription = connection.subscribe("price/#")
    connection.put1("PRICES", b"1", MQMD(priority=PRIORITY_AS_Q_DEF))
    md = subscription.get(GetOption.NO_WAIT).md
    assert (md.priority, md.persistence) == (7, 1)


def test_an_alias_of_a_topic_in_a_distribution_list_is_refused(prices: TestGroup) -> None:
    prices.define_shared("ORDERS")
    with prices.connect().open_list(["ORDERS", "PRICES"]) as opened:
        assert [each.reason for each in opened.responses] == [MQRC.NONE, MQRC.ALIAS_BASE_Q_TYPE_ERROR]


def test_it_cannot_be_read_or_subscribed_to(prices: TestGroup) -> None:
    connection = prices.connect()
    queue = connection.open("PRICES", OUTPUT)
    assert reason_of(lambda: find_parts(prices.group, "PRICES", "QM1")) == MQRC.OPTION_NOT_VALID_FOR_TYPE
    assert reason_of(lambda: connection.subscribe("a", queue=queue, options=PROVIDED)) == MQRC.HOBJ_ERROR


@pytest.mark.rule("mqi/topics", "2480: an alias that is a subscription's destination has become one of a topic.")
def test_a_destination_that_becomes_an_alias_of_a_topic_is_refused(prices: TestGroup) -> None:
    prices.define_shared("ORDERS")
    prices.define_shared("DLQ")
    mqsc(prices, "ALTER QMGR DEADQ(DLQ)")
    alter(prices, target="ORDERS", target_type="QUEUE")
    connection = prices.connect()
    mqsc(prices, "DEFINE SUB(S) TOPICSTR('a') DEST(PRICES)")
    alter(prices, target="PRICE", target_type="TOPIC")
    connection.open_topic("a").publish(b"1")
    (letter,) = (message.body for message in dead_letters(connection))
    assert int.from_bytes(letter[8:12], "little") == MQRC.ALIAS_TARGTYPE_CHANGED


def dead_letters(connection: QueueManagerConnection) -> list[Any]:
    with connection.open("DLQ", OpenOption.INPUT_SHARED) as queue:
        return [queue.get(GetOption.NO_WAIT)]
