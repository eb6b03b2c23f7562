"""MQPUT of a topic: where publications go, in which unit of work, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, CloseOption, MatchOption, OpenOption, PutOption, Report, SubOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD, MQSD
from sharedq.objects.definitions.topics import Topic
from sharedq.redis.link import Link, Reply, ScriptCall
from tests.mqi.topics.scene import CHAR, DURABLE, NEW, PROVIDED, bodies, open_input, publish
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of

pytestmark = pytest.mark.share


@pytest.mark.rule("mqi/topics", "A subscription made at one member receives what any member publishes.")
def test_publications_of_every_member_come(pair: TestGroup) -> None:
    first, second = pair.connect("QM1"), pair.connect("QM2")
    subscriptions = [first.subscribe("price/+"), second.subscribe("price/#"), first.subscribe("p*", options=CHAR)]
    publish(first, "price/apples", b"1")
    publish(second, "price/apples", b"2")
    assert [bodies(each) for each in subscriptions] == [[b"1", b"2"]] * 3


@pytest.mark.rule("mqi/topics", "Publications of one publisher come in their order, each once.")
def test_order_of_a_publisher(pair: TestGroup) -> None:
    publisher, subscriber = pair.connect("QM1"), pair.connect("QM2")
    subscription = subscriber.subscribe("a/#")
    for number in range(30):
        publish(publisher, f"a/{number % 3}", b"%d" % number, options=PutOption.SYNCPOINT if number % 4 == 0 else 0)
        publisher.commit()
    assert bodies(subscription) == [b"%d" % number for number in range(30)]


@pytest.mark.rule("mqi/topics", "A publication under syncpoint is a part of the program's unit of work.")
def test_a_publication_in_a_unit_of_work(pair: TestGroup) -> None:
    publisher, subscriber = pair.connect("QM1"), pair.connect("QM2")
    subscription = subscriber.subscribe("a")
    publish(publisher, "a", b"gone", options=PutOption.SYNCPOINT)
    publisher.backout()
    publish(publisher, "a", b"1", options=PutOption.SYNCPOINT)
    publish(publisher, "a", b"outside")
    assert bodies(subscription) == [b"outside"]
    publisher.commit()
    assert bodies(subscription) == [b"1"]


@pytest.mark.rule("mqi/topics", "A publication goes to private queues of other members by intra-group queuing.")
def test_a_private_destination_of_another_member(pair: TestGroup) -> None:
    publisher, subscriber = pair.connect("QM1"), pair.connect("QM2")
    subscriber.subscribe("a", queue=open_input(subscriber, "IN"), options=PROVIDED)
    publish(publisher, "a", b"1")
    part = publisher.open("SYSTEM.QSG.TRANSMIT.QUEUE", OpenOption.BROWSE | OpenOption.INQUIRE)
    assert pair.repository("QM2").queue_status("SYSTEM.QSG.TRANSMIT.QUEUE").depth == 1
    part.close()


def test_a_shared_destination_serves_several_subscriptions(pair: TestGroup) -> None:
    pair.define_structure()
    pair.define_shared("Q")
    connection, publisher = pair.connect("QM1"), pair.connect("QM2")
    queue = open_input(connection, "Q")
    for topic_string in ("a", "b", "#"):
        connection.subscribe(topic_string, queue=queue, options=PROVIDED)
    publish(publisher, "a", b"1")
    publish(publisher, "b", b"2")
    assert bodies(queue) == [b"1", b"1", b"2", b"2"]


@pytest.mark.rule("mqi/topics", "Each copy has its own MsgId, and the CorrelId of its subscription.")
def test_identifiers_of_copies(group: TestGroup) -> None:
    connection = group.connect()
    sd = MQSD()
    first, second = connection.subscribe("a", descriptor=sd), connection.subscribe("a")
    asked = MQSD(sub_correl_id=NULL_ID)
    third = connection.subscribe("a", options=NEW | SubOption.SET_CORREL_ID, descriptor=asked)
    with connection.open_topic("a") as topic:
        md = topic.publish(b"1", MQMD(correl_id=b"C" * 24))
    messages = [each.get() for each in (first, second, third)]
    assert len({md.msg_id, *(message.md.msg_id for message in messages)}) == 4
    assert messages[0].md.correl_id == sd.sub_correl_id != NULL_ID
    assert messages[1].md.correl_id not in (sd.sub_correl_id, b"C" * 24, NULL_ID)
    assert messages[2].md.correl_id == b"C" * 24


@pytest.mark.rule("mqi/topics", "PubPriority, PubAccountingToken and PubApplIdentityData are in each publication.")
def test_what_a_subscription_says_of_its_publications(group: TestGroup) -> None:
    connection = group.connect()
    sd = MQSD(pub_priority=7, pub_accounting_token=b"T" * 32, pub_appl_identity_data=b"ID")
    subscription = connection.subscribe("a", options=NEW | SubOption.SET_IDENTITY_CONTEXT, descriptor=sd)
    plain = connection.subscribe("a")
    with connection.open_topic("a") as topic:
        topic.publish(b"1", MQMD(priority=3, report=int(Report.COA), reply_to_q=b"R"))
    md, other = subscription.get().md, plain.get().md
    assert (md.priority, md.accounting_token, md.appl_identity_data) == (7, b"T" * 32, b"ID")
    assert (other.priority, other.appl_identity_data, other.report, other.reply_to_q) == (3, b"", 0, b"R")
    assert md.user_identifier == other.user_identifier != b""


def test_defaults_come_from_the_topic(group: TestGroup) -> None:
    topics = group.repository("QM1").topics
    topics.define(Topic(name="PARENT", topic_string="a", def_priority=5, def_persistence="YES"))
    topics.define(Topic(name="CHILD", topic_string="a/b", def_priority=6))
    connection = group.connect()
    subscription = connection.subscribe("#")
    publish(connection, "a/b/c", b"1")
    publish(connection, "x", b"2")
    first, second = subscription.get().md, subscription.get().md
    assert (first.priority, first.persistence, second.priority, second.persistence) == (6, 1, 0, 0)


@pytest.mark.rule("mqi/topics", "PUB(DISABLED) refuses publications with 2051, SUB(DISABLED) subscriptions with 2503.")
def test_inhibited_topics(group: TestGroup) -> None:
    topics, connection = group.repository("QM1").topics, group.connect()
    topic = connection.open_topic("a/b")
    topic.publish(b"1")
    topics.define(Topic(name="T", topic_string="a", publish="DISABLED", subscribe="DISABLED"))
    assert reason_of(lambda: topic.publish(b"2")) == MQRC.PUT_INHIBITED
    assert reason_of(lambda: connection.subscribe("a/b/c")) == MQRC.SUB_INHIBITED
    topics.alter("T", {"publish": "ENABLED"})
    topic.publish(b"3")
    topics.delete("T")
    connection.subscribe("a/b/c")


@pytest.mark.rule("mqi/topics", "A subscription with a wildcard above a topic with WILDCARD(BLOCK) gets nothing of it.")
def test_blocked_wildcards(group: TestGroup) -> None:
    group.repository("QM1").topics.define(Topic(name="T", topic_string="a/b", wildcard="BLOCK"))
    connection = group.connect()
    subscriptions = [connection.subscribe(each) for each in ("#", "a/+/c", "a/b/#", "a/b/c")]
    publish(connection, "a/b/c", b"1")
    publish(connection, "a", b"2")
    assert [bodies(each) for each in subscriptions] == [[b"2"], [], [b"1"], [b"1"]]


@pytest.mark.rule("mqi/topics", "A publication that a durable subscription cannot get fails with 2502; none gets it.")
@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT])
def test_a_publication_that_cannot_be_delivered(group: TestGroup, options: int) -> None:
    group.repository("QM1").topics.define(
        Topic(name="T", topic_string="a", use_dead_letter_queue="NO", def_persistence="YES")
    )
    group.define_structure()
    group.define_shared("FULL", max_depth=1)
    connection = group.connect()
    others = [connection.subscribe("a"), connection.subscribe("a")]
    queue = open_input(connection, "FULL")
    durable = connection.subscribe("a", name="D", queue=queue, options=PROVIDED | SubOption.DURABLE)
    topic = connection.open_topic("a")
    topic.publish(b"1", options=options)
    assert reason_of(lambda: topic.publish(b"2", options=options | PutOption.RETAIN)) == MQRC.PUBLICATION_FAILURE
    connection.commit()
    assert [bodies(each) for each in others] == [[b"1"], [b"1"]]
    assert reason_of(durable.request) == MQRC.NO_RETAINED_MSG
    topic.publish(b"3", MQMD(persistence=0), options=options)
    connection.commit()
    assert [bodies(each) for each in others] == [[b"3"], [b"3"]]
    assert bodies(queue) == [b"1"]
    group.repository("QM1").topics.alter("T", {"persistent_delivery": "ALLAVAIL"})
    queue.put(b"in the way")
    topic.publish(b"4")
    assert [bodies(each) for each in others] == [[b"4"], [b"4"]]
    durable.close(CloseOption.REMOVE_SUB)


def test_dead_letters_of_publications(group: TestGroup) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "SYSTEM.DEAD.LETTER.QUEUE"})
    group.define_structure()
    group.define_shared("FULL", max_depth=0)
    connection = group.connect()
    connection.subscribe("a", name="D", queue=open_input(connection, "FULL"), options=PROVIDED | SubOption.DURABLE)
    publish(connection, "a", b"1")
    assert bodies(open_input(connection, "SYSTEM.DEAD.LETTER.QUEUE"))[0].endswith(b"1")


def test_a_refused_publication_leaves_the_unit_of_work(group: TestGroup) -> None:
    topics = group.repository("QM1").topics
    topics.define(Topic(name="T", topic_string="a", use_dead_letter_queue="NO", non_persistent_delivery="ALL"))
    for structure in ("APPL1", "APPL2"):
        group.define_structure(structure)
        group.define_shared(f"Q{structure}", structure)
    group.define_shared("FULL", max_depth=0)
    connection = group.connect()
    queues = [open_input(connection, name) for name in ("QAPPL1", "QAPPL2", "FULL")]
    for queue in queues[:2]:
        queue.put(b"before", options=PutOption.SYNCPOINT)
        connection.subscribe("a", queue=queue, options=PROVIDED)
    full = connection.subscribe("a", queue=queues[2], options=PROVIDED)
    topic = connection.open_topic("a")
    assert reason_of(lambda: topic.publish(b"1", options=PutOption.SYNCPOINT)) == MQRC.PUBLICATION_FAILURE
    full.close()
    topic.publish(b"2", options=PutOption.SYNCPOINT)
    connection.commit()
    assert [bodies(queue) for queue in queues[:2]] == [[b"before", b"2"]] * 2


def test_a_refused_publication_leaves_its_room_in_the_unit_of_work(group: TestGroup) -> None:
    """In whichever order its copies came to two structures: one is put again by an altered definition."""
    topics = group.repository("QM1").topics
    topics.define(Topic(name="T", topic_string="a", use_dead_letter_queue="NO", non_persistent_delivery="ALL"))
    connection = group.connect()
    queues = structures_with_subscriptions(group, connection, 1)
    group.define_shared("FULL", max_depth=1)
    connection.subscribe("a", queue=open_input(connection, "FULL"), options=PROVIDED)
    topic, unit = connection.open_topic("a"), connection.connection.unit
    topic.publish(b"1")
    group.repository("QM1").alter("QLOCAL", "APPL1.1", {"description": "altered"})
    assert reason_of(lambda: topic.publish(b"2", options=PutOption.SYNCPOINT)) == MQRC.PUBLICATION_FAILURE
    assert (unit.messages, bool(unit.parts)) == (0, False)
    assert [bodies(queue) for queue in queues] == [[b"1"]] * 3


@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_structure_that_refuses_is_one_subscription_that_gets_nothing(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, copies: int, options: int
) -> None:
    """However many of its queues a publication goes to."""
    group.repository("QM1").topics.define(Topic(name="T", topic_string="a", non_persistent_delivery="ALLAVAIL"))
    connection = group.connect()
    queues = structures_with_subscriptions(group, connection, copies)
    call_many = Link.call_many

    def refuse(self: Link, calls: Sequence[ScriptCall]) -> list[Reply]:
        if calls[0][0] == "structure/put" and "APPL2" in calls[0][1][0]:
            if len(calls) == 1:
                raise error_for(MQRC.STORAGE_MEDIUM_FULL, "", "")
            return [[int(MQRC.STORAGE_MEDIUM_FULL)]] * len(calls)
        return call_many(self, calls)

    monkeypatch.setattr(Link, "call_many", refuse)
    publish(connection, "a", b"1", options=options)
    connection.commit()
    assert [bodies(queue) for queue in queues] == [[b"1"], [b"1"], *[[]] * copies]


def test_what_cannot_be_taken_out_of_a_unit_of_work_is_not_committed(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = group.repository("QM1").topics
    topics.define(Topic(name="T", topic_string="a", use_dead_letter_queue="NO", non_persistent_delivery="ALL"))
    connection = group.connect()
    queues = structures_with_subscriptions(group, connection, 1)
    group.define_shared("FULL", max_depth=0)
    connection.subscribe("a", queue=open_input(connection, "FULL"), options=PROVIDED)
    call_many = Link.call_many

    def refuse(self: Link, calls: Sequence[ScriptCall]) -> list[Reply]:
        if calls[0][0] == "structure/undo_puts" and len(calls) > 1:
            return [[int(MQRC.CF_STRUC_IN_USE)]] * len(calls)
        return call_many(self, calls)

    monkeypatch.setattr(Link, "call_many", refuse)
    topic = connection.open_topic("a")
    assert reason_of(lambda: topic.publish(b"1", options=PutOption.SYNCPOINT)) == MQRC.PUBLICATION_FAILURE
    assert reason_of(connection.commit) == MQRC.BACKED_OUT
    assert [bodies(queue) for queue in queues] == [[], [], []]


def structures_with_subscriptions(group: TestGroup, connection: QueueManagerConnection, second: int) -> list[Queue]:
    """Subscribe to the topic "a" for two queues in APPL1 and this many in APPL2. Returns the queues."""
    queues = []
    for structure, count in (("APPL1", 2), ("APPL2", second)):
        group.define_structure(structure)
        for number in range(count):
            group.define_shared(f"{structure}.{number}", structure)
            queues.append(open_input(connection, f"{structure}.{number}"))
            connection.subscribe("a", queue=queues[-1], options=PROVIDED)
    return queues


@pytest.mark.rule("mqi/topics", "MQPMO_WARN_IF_NO_SUBS_MATCHED warns (2550) where nobody gets a publication.")
def test_a_warning_without_subscriptions(group: TestGroup) -> None:
    connection = group.connect()
    topic = connection.open_topic("a")
    topic.publish(b"1", options=PutOption.WARN_IF_NO_SUBS_MATCHED)
    warned = topic.warning
    connection.subscribe("a")
    topic.publish(b"1", options=PutOption.WARN_IF_NO_SUBS_MATCHED)
    assert (warned, topic.warning) == (MQRC.NO_SUBS_MATCHED, MQRC.NONE)


def test_publications_of_ones_own_are_passed_over(group: TestGroup) -> None:
    first, second = group.connect(), group.connect()
    subscription = first.subscribe("a")
    publish(first, "a", b"1", options=PutOption.NOT_OWN_SUBS)
    publish(second, "a", b"2", options=PutOption.NOT_OWN_SUBS)
    assert bodies(subscription) == [b"2"]


def test_sub_levels(group: TestGroup) -> None:
    connection = group.connect()
    high, low = connection.subscribe("a", descriptor=MQSD(sub_level=5)), connection.subscribe("a")
    publish(connection, "a", b"1")
    assert (bodies(high), bodies(low)) == ([b"1"], [])
    high.close()
    publish(connection, "a", b"2")
    assert bodies(low) == [b"2"]


def test_long_publications(group: TestGroup) -> None:
    connection = group.connect()
    subscriptions = [connection.subscribe("a") for _ in range(3)]
    body = bytes(range(256)) * 4000
    publish(connection, "a", body)
    assert [bodies(each) for each in subscriptions] == [[body]] * 3


def test_a_queue_with_publications_of_several_is_got_by_correl_id(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    connection, sd = group.connect(), MQSD()
    queue = open_input(connection, "Q")
    connection.subscribe("b", queue=queue, options=PROVIDED)
    connection.subscribe("a", queue=queue, options=PROVIDED, descriptor=sd)
    publish(connection, "b", b"other")
    publish(connection, "a", b"1")
    match = MQMD(correl_id=sd.sub_correl_id)
    assert queue.get(match=match, match_options=MatchOption.MATCH_CORREL_ID).body == b"1"


def test_durable_subscriptions_get_what_comes_while_nobody_has_them_open(pair: TestGroup) -> None:
    first, second = pair.connect("QM1"), pair.connect("QM2")
    first.subscribe("a", name="D", options=DURABLE).close()
    publish(second, "a", b"1", b"2")
    first.disconnect()
    resumed = second.subscribe(name="D", options=SubOption.RESUME | SubOption.DURABLE)
    assert bodies(resumed) == [b"1", b"2"]
    resumed.close(CloseOption.REMOVE_SUB)
    assert pair.repository("QM1").topics.subscriptions() == []


@pytest.mark.rule("mqi/topics", "Of two retained publications that are published at once, the later one counts.")
def test_retained_at_once(group: TestGroup) -> None:
    first, second, subscriber = (group.connect() for _ in range(3))
    for number, publisher in enumerate((first, second)):
        with publisher.open_topic("a") as topic:
            topic.publish(b"%d" % number, MQMD(priority=number), options=PutOption.SYNCPOINT | PutOption.RETAIN)
    for publisher in (second, first):
        publisher.commit()
    message = subscriber.subscribe("a").get()
    assert (message.body, message.md.priority) == (b"1", 1)
    publish(first, "a", b"2", options=PutOption.RETAIN)
    assert bodies(subscriber.subscribe("#")) == [b"2"]
