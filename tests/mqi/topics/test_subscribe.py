"""MQSUB, MQSUBRQ and MQCLOSE of subscriptions: what they refuse, and what becomes of queues and publications."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from sharedq.admin.member_removal import remove_member
from sharedq.api import QueueManagerConnection, Subscription
from sharedq.calls.handles.subscriptions import delete_orphans
from sharedq.mqi.constants import MQRC, CloseOption, OpenOption, PutOption, SubOption
from sharedq.mqi.structures import MQMD, MQSD
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import Repository
from tests.mqi.topics.scene import CHAR, DURABLE, NEW, PROVIDED, bodies, open_input, publish
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.removals import start, stop

pytestmark = pytest.mark.share

RESUME = SubOption.RESUME | SubOption.DURABLE


def managed(repository: Repository) -> list[str]:
    return [queue.name for queue in repository.display_queues("SYSTEM.MANAGED.*")]


REFUSED: dict[str, tuple[MQRC, dict[str, Any]]] = {
    "no access option": (MQRC.OPTIONS_ERROR, {"options": SubOption.MANAGED}),
    "an unknown option": (MQRC.OPTIONS_ERROR, {"options": NEW | 1 << 30}),
    "both schemes": (MQRC.OPTIONS_ERROR, {"options": CHAR | SubOption.WILDCARD_TOPIC}),
    "both rules of users": (MQRC.OPTIONS_ERROR, {"options": NEW | SubOption.ANY_USERID | SubOption.FIXED_USERID}),
    "a grouped subscription": (MQRC.OPTIONS_ERROR, {"options": PROVIDED | SubOption.GROUP_SUB}),
    "a durable one without a name": (MQRC.SUB_NAME_ERROR, {"options": DURABLE}),
    "no queue": (MQRC.HOBJ_ERROR, {"options": PROVIDED}),
    "no topic": (MQRC.TOPIC_STRING_ERROR, {"topic_string": ""}),
    "an unknown topic object": (MQRC.UNKNOWN_OBJECT_NAME, {"topic": "NOWHERE"}),
    "a topic string that is too long": (MQRC.TOPIC_STRING_ERROR, {"topic_string": "a/" * 5121}),
    "a subscription that is not there": (MQRC.NO_SUBSCRIPTION, {"options": RESUME, "name": "D"}),
    "an alteration of none": (MQRC.NO_SUBSCRIPTION, {"options": SubOption.ALTER | SubOption.DURABLE, "name": "D"}),
    "a selection string that is none": (MQRC.SELECTOR_SYNTAX_ERROR, {"descriptor": MQSD(selection_string=b"a =")}),
    "a selection string that is false": (MQRC.SELECTOR_ALWAYS_FALSE, {"descriptor": MQSD(selection_string=b"1 = 2")}),
    "a selection string that is too long": (
        MQRC.SELECTION_STRING_ERROR,
        {"descriptor": MQSD(selection_string=b"a" * 10_241)},
    ),
    "another version": (MQRC.SD_ERROR, {"descriptor": MQSD(version=2)}),
    "a level beyond 9": (MQRC.SD_ERROR, {"descriptor": MQSD(sub_level=10)}),
    "a level below 0": (MQRC.SD_ERROR, {"descriptor": MQSD(sub_level=-1)}),
    "on request at level 2": (
        MQRC.OPTIONS_ERROR,
        {"options": NEW | SubOption.PUBLICATIONS_ON_REQUEST, "descriptor": MQSD(sub_level=2)},
    ),
    "user data that are too long": (MQRC.SUB_USER_DATA_ERROR, {"descriptor": MQSD(sub_user_data=b"u" * 10_241)}),
    "a name that is too long": (MQRC.SUB_NAME_ERROR, {"name": "n" * 10_241}),
    "a control character in the topic string": (MQRC.TOPIC_STRING_ERROR, {"topic_string": "a\tb"}),
    "a control character in the name": (MQRC.SUB_NAME_ERROR, {"name": "a\nb"}),
    "a control character in the user data": (
        MQRC.SUB_USER_DATA_ERROR,
        {"descriptor": MQSD(sub_user_data=b"a\0b")},
    ),
    "a control character in a text of the selection string": (
        MQRC.SELECTOR_SYNTAX_ERROR,
        {"descriptor": MQSD(selection_string=b"a = 'x\ny'")},
    ),
    "a priority that none is": (MQRC.SD_ERROR, {"descriptor": MQSD(pub_priority=11)}),
}


@pytest.mark.rule("mqi/topics", "An MQSUB that is refused leaves nothing.")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_subscriptions(group: TestGroup, name: str) -> None:
    reason, arguments = REFUSED[name]
    connection = group.connect()
    assert reason_of(partial(connection.subscribe, **{"topic_string": "a", **arguments})) == reason
    assert managed(group.repository("QM1")) == []
    assert group.repository("QM1").topics.subscriptions() == []
    connection.disconnect()


@pytest.mark.rule("mqi/topics", "A topic string with control characters is 2425, whoever uses it.")
@pytest.mark.parametrize("topic_string", ["a\0b", "a\tb", "a\n", "\x7fb", "a\u2028b"])
def test_a_topic_string_has_no_control_characters(group: TestGroup, topic_string: str) -> None:
    connection = group.connect()
    assert reason_of(partial(connection.open_topic, topic_string)) == MQRC.TOPIC_STRING_ERROR
    assert reason_of(partial(connection.subscribe, topic_string)) == MQRC.TOPIC_STRING_ERROR


def test_a_selection_string_may_have_lines(group: TestGroup) -> None:
    connection = group.connect()
    connection.subscribe("a", descriptor=MQSD(selection_string=b"a = 'x'\n\tAND b\r\n= 'it''s'"))
    (found,) = group.repository("QM1").topics.subscriptions()
    assert found.subscription.selector == "a = 'x'  AND b  = 'it''s'"


def test_a_topic_that_allows_no_durable_subscriptions(group: TestGroup) -> None:
    group.repository("QM1").topics.define(Topic(name="T", topic_string="a", durable_subscriptions="NO"))
    connection = group.connect()
    refused = reason_of(lambda: connection.subscribe("a/b", name="D", options=DURABLE))
    assert refused == MQRC.DURABILITY_NOT_ALLOWED
    connection.subscribe("a/b")


def test_maxhands_counts_subscriptions(group: TestGroup) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"max_handles": 4})
    connection = group.connect()
    for _ in range(2):
        connection.subscribe("a")
    assert reason_of(lambda: connection.subscribe("a")) == MQRC.HANDLE_NOT_AVAILABLE


@pytest.mark.rule("mqi/topics", "A subscription that another connection has open is refused with 2429.")
def test_a_durable_subscription_is_open_once(pair: TestGroup) -> None:
    first, second = pair.connect("QM1"), pair.connect("QM2")
    subscription = first.subscribe("a", name="D", options=DURABLE)
    assert reason_of(lambda: second.subscribe(name="D", options=RESUME)) == MQRC.SUBSCRIPTION_IN_USE
    assert reason_of(lambda: second.subscribe("a", name="D", options=DURABLE)) == MQRC.SUB_ALREADY_EXISTS
    subscription.close(CloseOption.KEEP_SUB)
    second.subscribe("a", name="D", options=DURABLE | SubOption.RESUME).close()
    assert reason_of(lambda: first.subscribe("b", name="D", options=RESUME)) == MQRC.TOPIC_NOT_ALTERABLE
    undurable = reason_of(lambda: first.subscribe("a", name="D", options=SubOption.ALTER))
    assert undurable == MQRC.DURABILITY_NOT_ALTERABLE
    altered = SubOption.ALTER | SubOption.DURABLE
    levelled = reason_of(lambda: first.subscribe(name="D", options=altered, descriptor=MQSD(sub_level=2)))
    assert levelled == MQRC.SUBLEVEL_NOT_ALTERABLE
    first.subscribe(name="D", options=RESUME).close(CloseOption.REMOVE_SUB)
    assert managed(pair.repository("QM1")) == []


@pytest.mark.rule("mqi/topics", "MQSO_RESUME takes a subscription as it is: durable or not, managed or not.")
@pytest.mark.parametrize("is_durable", [False, True])
@pytest.mark.parametrize("asked", [0, SubOption.DURABLE, SubOption.CREATE, SubOption.CREATE | SubOption.MANAGED])
def test_resume_takes_what_is_there(pair: TestGroup, asked: int, is_durable: bool) -> None:
    first, second = pair.connect("QM1"), pair.connect("QM2")
    options = DURABLE if is_durable else NEW
    subscription = first.subscribe("a", name="D", options=options)
    resumed = SubOption.RESUME | asked
    if not is_durable:
        assert reason_of(lambda: second.subscribe("a", name="D", options=resumed)) == MQRC.SUBSCRIPTION_IN_USE
        return
    subscription.close()
    publish(first, "a", b"1")
    again = second.subscribe("a", name="D", options=resumed)
    assert (bodies(again), again.handle.subscription.is_durable) == ([b"1"], True)
    again.close()
    assert [each.subscription.name for each in pair.repository("QM1").topics.subscriptions()] == ["D"]


ASKED: dict[str, tuple[int, dict[str, Any]]] = {
    "nothing": (0, {}),
    "everything": (
        SubOption.SET_CORREL_ID
        | SubOption.SET_IDENTITY_CONTEXT
        | SubOption.WILDCARD_CHAR
        | SubOption.FIXED_USERID
        | SubOption.SCOPE_QMGR
        | SubOption.PUBLICATIONS_ON_REQUEST,
        {
            "sub_correl_id": b"C" * 24,
            "pub_accounting_token": b"T" * 32,
            "pub_appl_identity_data": b"ID",
            "pub_priority": 3,
            "sub_expiry": 36_000,
            "sub_user_data": b"data",
            "sub_level": 0,
            "selection_string": b"colour = 'red'",
        },
    ),
}


@pytest.mark.rule("mqi/topics", "MQSO_RESUME returns in the MQSD what the subscription has, for an MQSO_ALTER.")
@pytest.mark.parametrize("name", ASKED)
def test_what_a_resumed_subscription_tells(pair: TestGroup, name: str) -> None:
    options, fields = ASKED[name]
    first, second = pair.connect("QM1"), pair.connect("QM2")
    made = MQSD(**fields)
    first.subscribe("a/*", name="D", options=DURABLE | options, descriptor=made).close()
    assert (made.res_object_string, made.options) == (b"a/*", DURABLE | options)
    resumed = MQSD(sub_user_data=b"other", sub_level=7, pub_priority=8, sub_expiry=5, sub_correl_id=b"X" * 24)
    asked = SubOption.RESUME | SubOption.FAIL_IF_QUIESCING
    second.subscribe(name="D", options=asked, descriptor=resumed).close()
    schemes = 0 if options & SubOption.WILDCARD_CHAR else SubOption.WILDCARD_TOPIC
    stored = SubOption.DURABLE | SubOption.MANAGED | options | schemes | SubOption.FIXED_USERID
    assert resumed == replace(
        made, object_string=b"", options=stored | SubOption.FAIL_IF_QUIESCING, sub_correl_id=made.sub_correl_id
    )
    resumed.pub_priority, asked = 5, SubOption(resumed.options) | SubOption.ALTER
    if resumed.selection_string:
        refused = reason_of(lambda: second.subscribe(name="D", options=asked, descriptor=replace(resumed)))
        assert refused == MQRC.SELECTOR_NOT_ALTERABLE
        resumed.selection_string = b""
    second.subscribe(name="D", options=asked, descriptor=resumed).close()
    last = MQSD()
    first.subscribe(name="D", options=SubOption.RESUME, descriptor=last).close()
    assert last == replace(resumed, options=stored, selection_string=made.selection_string)


@pytest.mark.rule("mqi/topics", "MQSO_ALTER changes what publications say, and where they go.")
def test_an_alteration(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    group.define_shared("OTHER")
    connection = group.connect()
    queues = [open_input(connection, name) for name in ("Q", "OTHER")]
    connection.subscribe("a", name="D", queue=queues[0], options=PROVIDED | SubOption.DURABLE).close()
    altered = SubOption.ALTER | SubOption.DURABLE
    with connection.subscribe(name="D", queue=queues[1], options=altered, descriptor=MQSD(pub_priority=6)):
        publish(connection, "a", b"1")
    assert bodies(queues[0]) == []
    assert queues[1].get().md.priority == 6


@pytest.mark.rule("mqi/topics", "KEEP_SUB is for durable subscriptions only (2045).")
def test_options_of_the_close(group: TestGroup) -> None:
    connection = group.connect()
    subscription = connection.subscribe("a")
    for options, reason in ((CloseOption.KEEP_SUB, 2045), (CloseOption.DELETE, 2045), (1 << 20, 2046)):
        assert reason_of(partial(subscription.close, options)) == reason
    subscription.close(CloseOption.REMOVE_SUB)
    assert reason_of(subscription.close) == MQRC.HOBJ_ERROR
    assert reason_of(subscription.request) == MQRC.HOBJ_ERROR


@pytest.mark.rule("mqi/topics", "The managed queue of a subscription goes with it, when nothing uncommitted is on it.")
def test_managed_queues_go(group: TestGroup) -> None:
    connection, publisher = group.connect(), group.connect()
    subscription = connection.subscribe("a")
    assert len(managed(group.repository("QM1"))) == 1
    publish(publisher, "a", b"1", options=PutOption.SYNCPOINT)
    subscription.close()
    assert len(managed(group.repository("QM1"))) == 1
    assert delete_orphans(group.group) == 1
    publisher.commit()
    assert delete_orphans(group.group) == 0
    assert managed(group.repository("QM1")) == []


def test_a_disconnect_ends_subscriptions(group: TestGroup) -> None:
    connection = group.connect()
    connection.subscribe("a")
    connection.subscribe("b", name="D", options=DURABLE)
    connection.disconnect()
    repository = group.repository("QM1")
    assert [match.subscription.name for match in repository.topics.subscriptions()] == ["D"]
    assert [match.holder for match in repository.topics.subscriptions()] == [""]
    assert len(managed(repository)) == 1


@pytest.mark.rule("mqi/topics", "A new subscription gets what is retained, unless it asks for new publications only.")
def test_retained_publications(pair: TestGroup) -> None:
    publisher, subscriber = pair.connect("QM1"), pair.connect("QM2")
    publish(publisher, "a/b", b"old", b"1", options=PutOption.RETAIN)
    publish(publisher, "a/c", b"2", options=PutOption.RETAIN)
    publish(publisher, "a/c", b"not retained")
    exact, wild = subscriber.subscribe("a/b"), subscriber.subscribe("a/#")
    none = subscriber.subscribe("a/b", options=NEW | SubOption.NEW_PUBLICATIONS_ONLY)
    by_characters = subscriber.subscribe("*b", options=CHAR)
    assert [bodies(exact), sorted(bodies(wild)), bodies(none), bodies(by_characters)] == [
        [b"1"],
        [b"1", b"2"],
        [],
        [b"1"],
    ]
    assert (none.request(), wild.request()) == (1, 2)
    assert [bodies(none), sorted(bodies(wild))] == [[b"1"], [b"1", b"2"]]
    assert reason_of(subscriber.subscribe("x").request) == MQRC.NO_RETAINED_MSG


def test_what_a_retained_publication_says(group: TestGroup) -> None:
    connection = group.connect()
    asked = MQMD(correl_id=b"C" * 24, priority=4, persistence=1, format=b"MQSTR", reply_to_q=b"R")
    with connection.open_topic("a") as topic:
        topic.publish(b"1", asked, options=PutOption.RETAIN)
    sd = MQSD(sub_correl_id=bytes(24))
    subscription = connection.subscribe("a", options=NEW | SubOption.SET_CORREL_ID, descriptor=sd)
    md = subscription.get().md
    assert (md.correl_id, md.priority, md.persistence) == (b"C" * 24, 4, 1)
    assert (md.format.rstrip(), md.reply_to_q.rstrip()) == (b"MQSTR", b"R")


@pytest.mark.rule("mqi/topics", "With PUBLICATIONS_ON_REQUEST publications come by MQSUBRQ only.")
def test_publications_on_request(group: TestGroup) -> None:
    connection = group.connect()
    subscription = connection.subscribe("a", options=NEW | SubOption.PUBLICATIONS_ON_REQUEST)
    publish(connection, "a", b"1", b"2", options=PutOption.RETAIN)
    assert bodies(subscription) == []
    assert subscription.request() == 1
    assert bodies(subscription) == [b"2"]


@pytest.mark.rule("mqi/topics", "A publication put to be retained in a unit of work is retained with its commit.")
def test_retained_in_a_unit_of_work(group: TestGroup) -> None:
    connection = group.connect()
    publish(connection, "a", b"1", options=PutOption.RETAIN)
    publish(connection, "a", b"2", options=PutOption.RETAIN | PutOption.SYNCPOINT)
    other = group.connect()
    assert bodies(other.subscribe("a")) == [b"1"]
    connection.backout()
    assert bodies(other.subscribe("a")) == [b"1"]
    publish(connection, "a", b"3", options=PutOption.RETAIN | PutOption.SYNCPOINT)
    connection.commit()
    assert bodies(other.subscribe("a")) == [b"3"]
    queue = other.open("SYSTEM.RETAINED.PUB.QUEUE", OpenOption.BROWSE | OpenOption.INQUIRE)
    assert group.repository("QM1").queue_status("SYSTEM.RETAINED.PUB.QUEUE").depth == 1
    queue.close()


def test_subscriptions_expire(group: TestGroup) -> None:
    connection = group.connect()
    connection.subscribe("a", name="D", options=DURABLE, descriptor=MQSD(sub_expiry=1)).close()
    group.wait_redis_ms(150)
    publish(connection, "a", b"1")
    assert group.repository("QM1").topics.subscriptions() == []
    assert managed(group.repository("QM1")) == []


@pytest.mark.rule("mqi/topics", "A subscription whose MQSUB has returned gets each publication that begins after that.")
def test_a_race_of_subscriptions_and_publications(pair: TestGroup) -> None:
    """Each subscriber says what it may have missed at most: the publications that began before its MQSUB returned."""
    publisher, begun, is_over = pair.connect("QM1"), [0], threading.Event()

    def publish_all() -> None:
        with publisher.open_topic("a/b") as topic:
            for number in range(1, 200):
                begun[0] = number
                topic.publish(b"%d" % number, options=PutOption.RETAIN if number % 3 == 0 else 0)
        is_over.set()

    thread = threading.Thread(target=publish_all)
    subscriptions: list[tuple[int, Subscription]] = []
    connection: QueueManagerConnection = pair.connect("QM2")
    thread.start()
    # A connection has at most MAXHANDS handles.
    while not is_over.is_set() and len(subscriptions) < 100:
        subscription = connection.subscribe(("a/b", "a/+", "#")[len(subscriptions) % 3])
        subscriptions.append((begun[0], subscription))
    thread.join()
    for began, subscription in subscriptions[:40]:
        numbers = [int(body) for body in bodies(subscription)]
        assert len(numbers) == len(set(numbers)), "a publication has come twice"
        assert set(range(began + 1, 200)) <= set(numbers)


def test_subscriptions_go_with_the_private_queues_of_a_removed_member(group: TestGroup) -> None:
    membership = start(group)
    group.define_private("QM2", "IN")
    connection = group.connect("QM2")
    durable = PROVIDED | SubOption.DURABLE
    connection.subscribe("a", name="D", queue=open_input(connection, "IN"), options=durable).close()
    connection.disconnect()
    stop(group, membership)
    remove_member(group.group, "QM2")
    publish(group.connect("QM1"), "a", b"1")
    assert group.repository("QM1").topics.subscriptions() == []
