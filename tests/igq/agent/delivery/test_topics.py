"""Messages from another member for an alias with TARGTYPE(TOPIC): the agent publishes them."""

from __future__ import annotations

import pytest

from sharedq.api import Subscription
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, SubOption
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.mqi.topics.scene import DURABLE
from tests.mqi.topics.scene import bodies as publications
from tests.support.accounts import assert_accounted
from tests.support.agents import AgentOfQM2, Put, bodies, drain
from tests.support.backups import mqsc
from tests.support.injection import Injection
from tests.support.members import TestGroup
from tests.support.scenes import recover_lost


@pytest.fixture
def prices(agent: AgentOfQM2) -> TestGroup:
    """At QM2, PRICES stands for the topic object PRICE."""
    group = agent.group
    mqsc(group, "DEFINE TOPIC(PRICE) TOPICSTR('price/apples')")
    group.define("QM2", QueueAlias(name="PRICES", target="PRICE", target_type="TOPIC"))
    return group


def subscribed(group: TestGroup, options: int = DURABLE) -> Subscription:
    return group.connect("QM1").subscribe("price/#", name="S", options=options)


@pytest.mark.rule("igq/agent", "A message for an alias with TARGTYPE(TOPIC) is published where it arrives.")
@pytest.mark.parametrize("name", ["PRICES", "FAR"])
def test_a_message_for_an_alias_of_a_topic_is_published(
    prices: TestGroup, agent: AgentOfQM2, put: Put, name: str
) -> None:
    prices.define("QM2", QueueRemote(name="FAR", remote_queue="PRICES", remote_qmgr="QM2"))
    prices.define_shared("ORDERS")
    prices.define("QM2", QueueAlias(name="TO", target="ORDERS"))
    subscription = subscribed(prices)
    sent = [put(name, b"%d" % n, correl_id=b"c" * 24) for n in range(5)]
    put("TO", b"an order")

    assert agent.deliver() == 6

    got = drain(prices.connect("QM1"), subscription.queue.name) if subscription.queue else []
    assert [message.body for message in got] == [b"0", b"1", b"2", b"3", b"4"]
    assert {message.md.put_appl_name for message in got} == {sent[0].put_appl_name}
    assert bodies(prices, "ORDERS") == [b"an order"]
    assert bodies(prices, SYSTEM_DEAD_LETTER_QUEUE) == []
    assert_accounted(prices.group)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", MQRC.PUT_INHIBITED),
        ("ALTER TOPIC(PRICE) PUB(DISABLED)", MQRC.PUT_INHIBITED),
        ("DELETE TOPIC(PRICE)", MQRC.UNKNOWN_ALIAS_BASE_Q),
        ("SET AUTHREC PROFILE(PRICE) OBJTYPE(TOPIC) PRINCIPAL('otto') AUTHADD(PUB)", MQRC.NOT_AUTHORIZED),
    ],
)
def test_what_cannot_be_published_is_dead_lettered(
    prices: TestGroup, agent: AgentOfQM2, put: Put, command: str, reason: MQRC
) -> None:
    put("PRICES", b"1")
    if command:
        mqsc(prices, command)
    else:
        prices.repository("QM2").alter("QALIAS", "PRICES", {"put": "DISABLED"})

    assert agent.deliver() == 0

    (letter,) = drain(prices.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter.body).reason == reason
    assert_accounted(prices.group)


def test_of_a_batch_only_what_is_refused_is_dead_lettered(prices: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    subscription = subscribed(prices)
    mqsc(prices, "ALTER TOPIC(PRICE) USEDLQ(NO) PMSGDLV(ALL)")
    assert subscription.queue is not None
    mqsc(prices, f"ALTER QLOCAL({subscription.queue.name}) MAXMSGL(3)")
    for body in (b"1", b"2", b"long", b"4"):
        put("PRICES", body)

    assert agent.deliver() == 3

    assert publications(subscription) == [b"1", b"2", b"4"]
    (letter,) = drain(prices.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter.body).reason == MQRC.PUBLICATION_FAILURE
    assert_accounted(prices.group)


@pytest.mark.rule("igq/agent", "An agent that dies while it publishes has published all of its batch, or nothing.")
@pytest.mark.parametrize("fault", ["call lost", "reply lost"])
@pytest.mark.parametrize("script", ["structure/put", "admin/decide", "structure/commit"])
def test_a_lost_agent_publishes_once(
    prices: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, script: str, fault: str
) -> None:
    subscription = subscribed(prices, DURABLE | SubOption.FAIL_IF_QUIESCING)
    for n in range(3):
        put("PRICES", b"%d" % n)
    injection = Injection(script, fault)
    with monkeypatch.context() as patched:
        injection.arm(patched)
        with pytest.raises(MQIError) as caught:
            agent.deliver()
        injection.end()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert injection.has_met
    recover_lost(prices, agent.connection.token, by="QM2")

    AgentOfQM2(prices).deliver()

    assert publications(subscription) == [b"0", b"1", b"2"]
    assert bodies(prices, SYSTEM_DEAD_LETTER_QUEUE) == []
    assert_accounted(prices.group)
