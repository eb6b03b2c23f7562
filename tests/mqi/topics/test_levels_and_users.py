"""Levels, users and destinations of subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQRC, PutOption, SubOption
from sharedq.mqi.structures import MQMD, MQPMO, MQSD, MQSRO
from sharedq.objects.definitions.queues import QueueModel
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.definitions.topics import Topic
from tests.mqi.topics.scene import DURABLE, NEW, PROVIDED, bodies, open_input, publish
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of

OTHER_USER = SubOption.ALTERNATE_USER_AUTHORITY


def by(user: str, options: SubOption, **fields: int) -> Callable[[QueueManagerConnection], MQSD]:
    """MQSUB of D by a user; closes it, and returns the descriptor."""

    def call(connection: QueueManagerConnection) -> MQSD:
        sd = MQSD(alternate_user_id=user.encode(), **fields)  # type: ignore[arg-type]
        topic_string = "a" if options & SubOption.CREATE else ""
        connection.subscribe(topic_string, name="D", options=options | OTHER_USER, descriptor=sd).close()
        return sd

    return call


def known(group: TestGroup) -> Subscription:
    (found,) = group.repository("QM1").topics.subscriptions()
    return found.subscription


@pytest.mark.rule(
    "mqi/topics", "Retained publications are of PubLevel 1: subscriptions of a higher level do not get them."
)
@pytest.mark.parametrize(("level", "expected"), [(0, [b"1"]), (1, [b"1"]), (2, []), (9, [])])
def test_retained_publications_come_at_the_first_level(group: TestGroup, level: int, expected: list[bytes]) -> None:
    connection = group.connect()
    publish(connection, "a", b"1", options=PutOption.RETAIN)
    subscription = connection.subscribe("a", descriptor=MQSD(sub_level=level))
    assert bodies(subscription) == expected
    if expected:
        assert subscription.request() == 1
    else:
        assert reason_of(subscription.request) == MQRC.NO_RETAINED_MSG


@pytest.mark.rule("mqi/topics", "PubLevel is 0 to 9, else 2173.")
@pytest.mark.parametrize("level", [-2, -1, 10])
def test_a_publication_of_no_level(group: TestGroup, level: int) -> None:
    connection = group.connect()
    subscription = connection.subscribe("a")
    with connection.open_topic("a") as topic:
        pmo = MQPMO(pub_level=level)
        assert verbs.mqput(connection.connection, topic.handle, MQMD(), pmo, b"1")[1] == MQRC.PMO_ERROR
    assert bodies(subscription) == []


@pytest.mark.rule("mqi/topics", "A subscription is its user's, and nobody else may resume or alter it (2434).")
@pytest.mark.parametrize("option", [SubOption.FIXED_USERID, SubOption(0)])
def test_a_fixed_user(group: TestGroup, option: SubOption) -> None:
    connection = group.connect()
    by("anna", DURABLE | option)(connection)
    assert (known(group).user_id, known(group).variable_user) == ("anna", "FIXED")
    for asked in (SubOption.RESUME, SubOption.ALTER | SubOption.DURABLE, DURABLE | SubOption.RESUME):
        assert reason_of(partial(by("otto", asked), connection)) == MQRC.IDENTITY_MISMATCH
    assert by("anna", SubOption.RESUME)(connection).options & SubOption.FIXED_USERID


@pytest.mark.rule("mqi/topics", "With MQSO_ANY_USERID a subscription becomes that of the user who resumes it.")
def test_any_user(group: TestGroup) -> None:
    connection = group.connect()
    by("anna", DURABLE | SubOption.ANY_USERID)(connection)
    by("otto", SubOption.RESUME)(connection)
    assert (known(group).user_id, known(group).variable_user) == ("otto", "ANY")
    publish(connection, "a", b"1")
    sd = MQSD(alternate_user_id=b"otto")
    resumed = connection.subscribe(name="D", options=SubOption.RESUME | OTHER_USER, descriptor=sd)
    assert resumed.get().md.user_identifier.rstrip() == b"otto"
    resumed.close()


@pytest.mark.rule("mqi/topics", "MQSO_ALTER fixes the user of a subscription, or lets any user have it.")
def test_an_alteration_of_the_rule_of_users(group: TestGroup) -> None:
    connection, alter = group.connect(), SubOption.ALTER | SubOption.DURABLE | SubOption.MANAGED
    by("anna", DURABLE | SubOption.ANY_USERID)(connection)
    by("otto", alter | SubOption.FIXED_USERID)(connection)
    assert reason_of(lambda: by("anna", alter | SubOption.ANY_USERID)(connection)) == MQRC.IDENTITY_MISMATCH
    by("otto", alter | SubOption.ANY_USERID)(connection)
    by("anna", SubOption.RESUME)(connection)
    assert (known(group).user_id, known(group).variable_user) == ("anna", "ANY")


@pytest.mark.rule("mqi/topics", "MQSUB ends with 2522 where there can be no queue for publications.")
@pytest.mark.parametrize("durable", [SubOption(0), SubOption.DURABLE])
@pytest.mark.parametrize("model", ["NONE", "QUEUE", "TEMPORARY"])
def test_a_model_that_makes_no_destination(group: TestGroup, model: str, durable: SubOption) -> None:
    repository = group.repository("QM1")
    group.define_private("QM1", "QUEUE")
    repository.define(QueueModel(name="TEMPORARY", definition_type="TEMPDYN"))
    repository.topics.define(Topic(name="T", topic_string="a", durable_model=model, non_durable_model=model))
    connection = group.connect()
    if model == "TEMPORARY" and not durable:
        connection.subscribe("a", name="D", options=NEW).close()
        return
    refused = reason_of(lambda: connection.subscribe("a", name="D", options=NEW | durable))
    assert refused == MQRC.INVALID_DESTINATION
    assert repository.topics.subscriptions() == []


def test_a_temporary_queue_is_no_destination_of_a_durable_one(group: TestGroup) -> None:
    group.repository("QM1").define(QueueModel(name="TEMPORARY", definition_type="TEMPDYN"))
    group.define_private("QM1", "Q")
    connection = group.connect()
    temporary, durable = open_input(connection, "TEMPORARY"), PROVIDED | SubOption.DURABLE

    def subscribe(options: SubOption, topic_string: str = "a") -> None:
        connection.subscribe(topic_string, name="D", options=options, queue=temporary).close()

    assert reason_of(lambda: subscribe(durable)) == MQRC.INVALID_DESTINATION
    connection.subscribe("a", name="D", options=durable, queue=open_input(connection, "Q")).close()
    assert reason_of(lambda: subscribe(SubOption.ALTER | SubOption.DURABLE, "")) == MQRC.INVALID_DESTINATION
    assert known(group).destination == "Q"
    connection.subscribe("b", options=PROVIDED, queue=temporary).close()


@pytest.mark.parametrize("asked", [SubOption.RESUME, SubOption.ALTER | SubOption.DURABLE, DURABLE | SubOption.RESUME])
def test_a_subscription_whose_queue_is_gone(group: TestGroup, asked: SubOption) -> None:
    group.define_private("QM1", "Q")
    connection = group.connect()
    queue = open_input(connection, "Q")
    made = MQSD(sub_user_data=b"made")
    connection.subscribe("a", name="D", options=PROVIDED | SubOption.DURABLE, queue=queue, descriptor=made).close()
    queue.close()
    group.repository("QM1").delete("QLOCAL", "Q")
    asked &= ~SubOption.MANAGED
    assert reason_of(lambda: connection.subscribe(name="D", options=asked)) == MQRC.INVALID_DESTINATION
    assert known(group).user_data == "made"
    group.define_private("QM1", "Q")
    connection.subscribe(name="D", options=asked).close()


@pytest.mark.rule("mqi/topics", "A subscription that has expired cannot be resumed (2523); its name can be used again.")
def test_an_expired_subscription(group: TestGroup) -> None:
    connection = group.connect()
    connection.subscribe("a", name="D", options=DURABLE, descriptor=MQSD(sub_expiry=1)).close()
    group.wait_redis_ms(150)
    for asked in (SubOption.RESUME, SubOption.ALTER | SubOption.DURABLE):
        assert reason_of(partial(connection.subscribe, name="D", options=asked)) == MQRC.INVALID_SUBSCRIPTION
    connection.subscribe("b", name="D", options=DURABLE | SubOption.RESUME).close()
    assert known(group).topic_string == "b"


@pytest.mark.rule("mqi/topics", "A retained publication that cannot be delivered ends MQSUB with 2526.")
def test_retained_publications_that_cannot_be_delivered(group: TestGroup) -> None:
    group.define_private("QM1", "Q", max_depth=0)
    connection = group.connect()
    publish(connection, "a", b"1", options=PutOption.RETAIN)
    queue = open_input(connection, "Q")
    refused = reason_of(lambda: connection.subscribe("a", options=PROVIDED, queue=queue))
    assert refused == MQRC.RETAINED_NOT_DELIVERED
    assert group.repository("QM1").topics.subscriptions() == []


def test_a_request_of_another_version(group: TestGroup) -> None:
    connection = group.connect()
    handle = connection.subscribe("a").handle
    assert verbs.mqsubrq(connection.connection, handle, 1, MQSRO(version=2))[1] == MQRC.SRO_ERROR
