"""The authority to publish and to subscribe: records for topic objects, up the tree."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export
from igq.mqsc.executor import run
from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, ObjectType, OpenOption, SubOption
from sharedq.mqi.structures import MQMD, MQOD, MQPMO, MQSD
from sharedq.objects.store.authorities import Authorities
from tests.mqi.topics.scene import DURABLE, NEW, bodies, publish
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of

AS_OTHER = OpenOption.OUTPUT | OpenOption.ALTERNATE_USER_AUTHORITY


@pytest.fixture
def mqsc(group: TestGroup) -> Callable[..., str]:
    """Run commands at QM1; returns the output."""

    def call(*commands: str, status: int = 0) -> str:
        out = io.StringIO()
        assert run(commands, group.repository("QM1"), out, is_listed=False) == status, out.getvalue()
        return out.getvalue()

    return call


def give(mqsc: Callable[..., str], profile: str, user: str, what: str) -> None:
    """SET AUTHREC for a topic."""
    mqsc(f"SET AUTHREC PROFILE({profile}) OBJTYPE(TOPIC) PRINCIPAL('{user}') AUTHADD({what})")


def opens(connection: QueueManagerConnection, topic_string: str, user: str = "anna") -> MQRC:
    """The reason of an MQOPEN for publications by that user."""
    od = MQOD(version=4, object_type=ObjectType.TOPIC, object_string=topic_string.encode())
    od.alternate_user_id = user.encode()
    handle, _, reason = verbs.mqopen(connection.connection, od, int(AS_OTHER))
    if handle is not None:
        assert verbs.mqclose(connection.connection, handle)[0] == MQCC.OK
    return reason


def subscribes(
    connection: QueueManagerConnection, topic_string: str, user: str = "anna", options: SubOption = NEW, name: str = ""
) -> MQRC:
    """The reason of an MQSUB by that user."""
    sd = MQSD(alternate_user_id=user.encode(), object_string=topic_string.encode(), sub_name=name.encode())
    sd.options = int(options | SubOption.ALTERNATE_USER_AUTHORITY)
    handle, _, reason = verbs.mqsub(connection.connection, sd, None)
    if handle is not None:
        assert verbs.mqclose(connection.connection, handle)[0] == MQCC.OK
    return reason


@pytest.mark.rule("mqi/topics", "Without authority records for topics, every user may publish and subscribe.")
def test_nothing_is_checked_without_records_for_topics(group: TestGroup, mqsc: Callable[..., str]) -> None:
    mqsc("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) PRINCIPAL('anna') AUTHADD(PUT)")
    connection = group.connect()
    assert (opens(connection, "a"), subscribes(connection, "a")) == (MQRC.NONE, MQRC.NONE)


@pytest.mark.rule("mqi/topics", "PUB and SUB are looked for at topic objects up the tree; without them 2035.")
def test_up_the_tree(group: TestGroup, mqsc: Callable[..., str]) -> None:
    mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('Price/Fruit')", "DEFINE TOPIC(APPLES) TOPICSTR('Price/Fruit/Apples')")
    give(mqsc, "FRUIT", "anna", "PUB")
    give(mqsc, "APPLES", "anna", "SUB")
    give(mqsc, "SYSTEM.BASE.TOPIC", "root", "ALL")
    connection = group.connect()
    may_publish = {
        each: opens(connection, each) for each in ("Price", "Price/Fruit", "Price/Fruit/Apples/Red", "Other")
    }
    assert may_publish == {
        "Price": MQRC.NOT_AUTHORIZED,
        "Price/Fruit": MQRC.NONE,
        "Price/Fruit/Apples/Red": MQRC.NONE,
        "Other": MQRC.NOT_AUTHORIZED,
    }
    may_subscribe = [subscribes(connection, each) for each in ("Price/Fruit", "Price/Fruit/#", "Price/Fruit/Apples/#")]
    assert may_subscribe == [MQRC.NOT_AUTHORIZED, MQRC.NOT_AUTHORIZED, MQRC.NONE]
    assert (opens(connection, "x/y", "root"), subscribes(connection, "#", "root")) == (MQRC.NONE, MQRC.NONE)


def test_profiles_may_be_generic(group: TestGroup, mqsc: Callable[..., str]) -> None:
    mqsc("DEFINE TOPIC(FRUIT.APPLES) TOPICSTR('a')", "DEFINE TOPIC(FRUIT.PEARS) TOPICSTR('p')")
    give(mqsc, "'FRUIT.*'", "anna", "PUB")
    give(mqsc, "FRUIT.PEARS", "anna", "NONE")
    connection = group.connect()
    assert (opens(connection, "a"), opens(connection, "p")) == (MQRC.NONE, MQRC.NOT_AUTHORIZED)


def test_the_user_of_the_program(group: TestGroup, mqsc: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharedq.session.connection.user_identifier", lambda: b"bob")
    give(mqsc, "SYSTEM.BASE.TOPIC", "bob", "PUB,SUB")
    connection = group.connect()
    subscription = connection.subscribe("a")
    publish(connection, "a", b"1")
    assert bodies(subscription) == [b"1"]
    mqsc("SET AUTHREC PROFILE(SYSTEM.BASE.TOPIC) OBJTYPE(TOPIC) PRINCIPAL('bob') AUTHRMV(ALL)")
    assert reason_of(lambda: connection.open_topic("a")) == MQRC.NOT_AUTHORIZED
    assert reason_of(lambda: connection.subscribe("a")) == MQRC.NOT_AUTHORIZED
    od = MQOD(version=4, object_type=ObjectType.TOPIC, object_string=b"a")
    assert verbs.mqput1(connection.connection, od, MQMD(), MQPMO(), b"1") == (MQCC.FAILED, MQRC.NOT_AUTHORIZED)
    mqsc("DELETE AUTHREC PROFILE(SYSTEM.BASE.TOPIC) OBJTYPE(TOPIC) PRINCIPAL('bob')")
    connection.open_topic("a")


@pytest.mark.rule("mqi/topics", "RESUME is the authority to resume a subscription; SUB is one, too.")
def test_resume(group: TestGroup, mqsc: Callable[..., str]) -> None:
    connection = group.connect()
    connection.subscribe("a", name="D", options=DURABLE | SubOption.ANY_USERID).close()
    give(mqsc, "SYSTEM.BASE.TOPIC", "anna", "RESUME")
    give(mqsc, "SYSTEM.BASE.TOPIC", "bob", "SUB")
    resume = SubOption.RESUME | SubOption.DURABLE
    found = [subscribes(connection, "a", user, resume, "D") for user in ("anna", "bob", "carl")]
    assert found == [MQRC.NONE, MQRC.NONE, MQRC.NOT_AUTHORIZED]
    assert subscribes(connection, "a", "anna") == MQRC.NOT_AUTHORIZED


def test_commands(group: TestGroup, mqsc: Callable[..., str]) -> None:
    give(mqsc, "T", "anna", "PUB,SUB")
    mqsc("SET AUTHREC PROFILE(T) OBJTYPE(QUEUE) PRINCIPAL('anna') AUTHADD(PUT)")
    assert "AUTHLIST(PUB,SUB)" in mqsc("DISPLAY AUTHREC PROFILE(T) OBJTYPE(TOPIC)")
    shown = mqsc("DISPLAY AUTHREC")
    assert "OBJTYPE(QUEUE)" in shown
    assert "OBJTYPE(TOPIC)" in shown
    mqsc("SET AUTHREC PROFILE(T) OBJTYPE(TOPIC) PRINCIPAL('anna') AUTHADD(PUT)", status=10)
    mqsc("SET AUTHREC PROFILE(T) OBJTYPE(QUEUE) PRINCIPAL('anna') AUTHADD(SUB)", status=10)
    text = export(group.group, read_catalog(group.group), ExportSelection(one_line=True)).lines
    assert "SET AUTHREC PROFILE('T') OBJTYPE(TOPIC) PRINCIPAL('anna') AUTHADD(PUB,SUB)" in text
    mqsc("DELETE AUTHREC PROFILE(T) OBJTYPE(TOPIC) PRINCIPAL('anna')")
    assert Authorities(group.group, "TOPIC").records() == []
    assert len(Authorities(group.group).records()) == 1
