"""Commands about topics and subscriptions."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export
from igq.mqsc.executor import run
from sharedq.mqi.constants import CloseOption, PutOption, SubOption
from tests.mqi.topics.scene import DURABLE, bodies, open_input, publish
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

Run = Callable[..., str]


@pytest.fixture
def mqsc(group: TestGroup) -> Run:
    """Run commands at QM1; returns the output."""

    def call(*commands: str, status: int = 0) -> str:
        out = io.StringIO()
        assert run(commands, group.repository("QM1"), out, is_listed=False) == status, out.getvalue()
        return out.getvalue()

    return call


def test_topics_are_defined_altered_displayed_and_deleted(mqsc: Run) -> None:
    mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('Price/Fruit') DEFPSIST(YES) DEFPRTY(4) DESCR('Fruit') QSGDISP(GROUP)")
    shown = mqsc("DISPLAY TOPIC(FRUIT) ALL")
    for text in ("TOPICSTR(Price/Fruit)", "DEFPSIST(YES)", "DEFPRTY(4)", "PUB(ASPARENT)", "QSGDISP(GROUP)"):
        assert text in shown
    mqsc("ALTER TOPIC(FRUIT) PUB(DISABLED) DEFPRTY(ASPARENT)")
    shown = mqsc("DISPLAY TOPIC(FR*) PUB DEFPRTY")
    assert "PUB(DISABLED)" in shown
    assert "DEFPRTY(ASPARENT)" in shown
    assert "2425" in mqsc("DEFINE TOPIC(OTHER) TOPICSTR('Price/Fruit')", status=10)
    assert "already exists" in mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('x')", status=10)
    assert "TOPICSTR" in mqsc("DEFINE TOPIC(OTHER)", status=10)
    assert "cannot be altered" in mqsc("ALTER TOPIC(FRUIT) TOPICSTR('x')", status=10)
    mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('Price/Fruit') REPLACE", "DEFINE TOPIC(LIKEIT) TOPICSTR('y') LIKE(FRUIT)")
    mqsc("DELETE TOPIC(FRUIT)")
    assert "was not found" in mqsc("DELETE TOPIC(FRUIT)", status=10)
    assert "SYSTEM.BASE.TOPIC" in mqsc("DISPLAY TOPIC(*)")


@pytest.mark.rule(
    "mqi/topics", "EXPIRY of a subscription counts from the command that gives it; then nothing comes any more."
)
@pytest.mark.parametrize("destination", ["DEST(Q)", "DESTCLAS(MANAGED)"])
def test_expiry_of_a_subscription(group: TestGroup, mqsc: Run, destination: str) -> None:
    group.define_structure()
    group.define_shared("Q")
    mqsc(f"DEFINE SUB(S) TOPICSTR(a) {destination}", f"DEFINE SUB(T) TOPICSTR(a) {destination} EXPIRY(36000)")
    assert "EXPIRY(UNLIMITED)" in mqsc("DISPLAY SUB(S) EXPIRY")
    assert "EXPIRY(36000)" in mqsc("DISPLAY SUB(T)")
    mqsc("ALTER SUB(S) EXPIRY(0)", "DEFINE SUB(T) TOPICSTR(a) EXPIRY(UNLIMITED) REPLACE")
    publish(group.connect(), "A", b"1")
    assert [each.subscription.name for each in group.repository("QM1").topics.subscriptions()] == ["T"]
    mqsc("DEFINE SUB(U) TOPICSTR(a) DEST(Q) EXPIRY(-2)", status=10)


def test_attributes_that_do_nothing_are_told_of(mqsc: Run) -> None:
    assert "IGQ1011W" in mqsc("DEFINE TOPIC(T) TOPICSTR('t') MCAST(ENABLED)")


def test_subscriptions_are_defined_altered_displayed_and_deleted(group: TestGroup, mqsc: Run) -> None:
    group.define_structure()
    group.define_shared("Q")
    mqsc("DEFINE SUB('Apples') TOPICSTR('Price/Apples') DEST(Q) PUBPRTY(3) USERDATA('data')")
    connection = group.connect()
    publish(connection, "Price/Apples", b"1")
    queue = open_input(connection, "Q")
    message = queue.get()
    assert (message.body, message.md.priority) == (b"1", 3)
    shown = mqsc("DISPLAY SUB('Apples') ALL")
    for text in (
        "TOPICSTR(Price/Apples)",
        "DEST(Q)",
        "DURABLE(YES)",
        "SUBTYPE(ADMIN)",
        "DESTCLAS(PROVIDED)",
        "PUBPRTY(3)",
    ):
        assert text in shown
    mqsc("ALTER SUB('Apples') PUBPRTY(ASPUB)")
    publish(connection, "Price/Apples", b"2")
    assert queue.get().md.priority == 0
    assert "cannot be altered" in mqsc("ALTER SUB('Apples') TOPICSTR('x')", status=10)
    assert "already exists" in mqsc("DEFINE SUB('Apples') TOPICSTR('x') DEST(Q)", status=10)
    mqsc("DEFINE SUB('Apples') TOPICSTR('Price/Apples') DEST(Q) USERDATA('other') REPLACE")
    assert "USERDATA(other)" in mqsc("DISPLAY SUB(*) USERDATA")
    refused = mqsc("DEFINE SUB(S) TOPICSTR('x') DEST(NOWHERE)", status=10)
    assert "SUB(S) could not be processed" in refused
    assert "(2085): there is no queue NOWHERE." in refused
    mqsc("DELETE SUB('Apples')")
    publish(connection, "Price/Apples", b"3")
    assert bodies(queue) == []
    assert "was not found" in mqsc("DELETE SUB('Apples')", status=10)


def test_a_managed_subscription_of_a_command(group: TestGroup, mqsc: Run) -> None:
    mqsc("DEFINE SUB(M) TOPICSTR('a/#') DESTCLAS(MANAGED)")
    connection = group.connect()
    publish(connection, "a/b", b"1")
    resumed = connection.subscribe(name="M", options=SubOption.RESUME | SubOption.DURABLE)
    assert "in use" in mqsc("DELETE SUB(M)", status=10)
    status = mqsc("DISPLAY SBSTATUS(M)")
    assert f"ACTCONN({connection.connection.token})" in status
    assert bodies(resumed) == [b"1"]
    resumed.close()
    mqsc("DELETE SUB(M)")
    assert group.repository("QM1").display_queues("SYSTEM.MANAGED.*") == []


@pytest.mark.rule("mqi/topics", "DEFINE SUB gets what is retained, unless REQONLY(YES) says that MQSUBRQ asks for it.")
@pytest.mark.parametrize("destination", ["DEST(Q)", "DESTCLAS(MANAGED)"])
def test_a_subscription_of_a_command_gets_what_is_retained(group: TestGroup, mqsc: Run, destination: str) -> None:
    group.define_structure()
    group.define_shared("Q")
    connection = group.connect()
    publish(connection, "a/b", b"old", b"1", options=PutOption.RETAIN)
    publish(connection, "a/c", b"2", options=PutOption.RETAIN)
    publish(connection, "z", b"3", options=PutOption.RETAIN)
    mqsc(f"DEFINE SUB(W) TOPICSTR('a/#') {destination}", f"DEFINE SUB(N) TOPICSTR('z') {destination} REQONLY(YES)")
    assert "NUMMSGS(2)" in mqsc("DISPLAY SBSTATUS(W)")
    assert "NUMMSGS(0)" in mqsc("DISPLAY SBSTATUS(N)")
    publish(connection, "a/b", b"4")
    if destination == "DEST(Q)":
        found = bodies(open_input(connection, "Q"))
    else:
        found = bodies(connection.subscribe(name="W", options=SubOption.RESUME | SubOption.DURABLE))
    assert sorted(found) == [b"1", b"2", b"4"]


def test_a_subscription_that_cannot_get_what_is_retained_is_not_made(group: TestGroup, mqsc: Run) -> None:
    group.define_structure()
    group.define_shared("Q", put="DISABLED")
    connection = group.connect()
    publish(connection, "a", b"1", options=PutOption.RETAIN)
    assert "2526" in mqsc("DEFINE SUB(S) TOPICSTR('a') DEST(Q)", status=10)
    assert "was not found" in mqsc("DISPLAY SUB(S)", status=10)


def test_the_status_of_topics(group: TestGroup, mqsc: Run) -> None:
    connection = group.connect()
    connection.subscribe("a/b")
    connection.subscribe("a/#")
    publish(connection, "a/c", b"1", options=PutOption.RETAIN)
    shown = mqsc("DISPLAY TPSTATUS('#') RETAINED SUBCOUNT PUB")
    assert "TPSTATUS(a/b)" in shown
    assert shown.count("SUBCOUNT(1)") == shown.count("RETAINED(YES)") == 1
    assert "PUB(ENABLED)" in shown
    assert "SUBTYPE(API)" in mqsc("DISPLAY TPSTATUS('a/b') TYPE(SUB)")
    assert "CSQM297I" in mqsc("DISPLAY TPSTATUS('nowhere')")
    mqsc("CLEAR TOPICSTR('a/c') CLRTYPE(RETAINED)")
    assert "RETAINED(YES)" not in mqsc("DISPLAY TPSTATUS('#')")


def test_the_root_of_the_tree_has_a_status(mqsc: Run) -> None:
    mqsc("DEFINE TOPIC(T) TOPICSTR(a) PUB(DISABLED)", "ALTER TOPIC(SYSTEM.BASE.TOPIC) DEFPRTY(3)")
    for pattern in ("", "#"):
        shown = mqsc(f"DISPLAY TPSTATUS('{pattern}') ADMIN DEFPRTY WHERE(ADMIN EQ SYSTEM.BASE.TOPIC)")
        assert "TPSTATUS( )" in shown
        assert "DEFPRTY(3)" in shown
    assert "SYSTEM.BASE.TOPIC" not in mqsc("DISPLAY TPSTATUS('+')")


@pytest.mark.rule("mqi/topics", "DISPLAY TPSTATUS TYPE(PUB) shows the connections that publish to a topic string.")
def test_the_publishers_of_a_topic(group: TestGroup, mqsc: Run) -> None:
    first, second = group.connect(), group.connect()
    first.open_topic("a/b")
    second.open_topic("a/b")
    second.open_topic("a/c")
    shown = mqsc("DISPLAY TPSTATUS('a/#') TYPE(PUB)")
    assert shown.count("TPSTATUS(a/b)") == 2
    assert shown.count("TPSTATUS(a/c)") == 1
    assert shown.count(f"ACTCONN({second.connection.token})") == 2
    assert mqsc(f"DISPLAY TPSTATUS('#') TYPE(PUB) WHERE(ACTCONN EQ '{first.connection.token}')").count("ACTCONN") == 1
    first.disconnect()
    second.disconnect()
    assert "CSQM297I" in mqsc("DISPLAY TPSTATUS('a/#') TYPE(PUB)")


def test_the_publish_subscribe_status_of_a_manager(group: TestGroup, mqsc: Run) -> None:
    before = mqsc("DISPLAY PUBSUB")
    assert "STATUS(ACTIVE)" in before
    assert "TYPE(LOCAL)" in before
    assert "SUBCOUNT(0)" in before
    group.connect().subscribe("a/b")
    assert "SUBCOUNT(1)" in mqsc("DISPLAY PUBSUB TYPE(LOCAL) SUBCOUNT")
    nodes = mqsc("DISPLAY TPSTATUS('#')").count("   TPSTATUS(")
    assert f"TPCOUNT({nodes})" in mqsc("DISPLAY PUBSUB ALL")
    assert "CSQM297I" in mqsc("DISPLAY PUBSUB TYPE(CHILD)")


def test_topics_and_subscriptions_are_exported(group: TestGroup, mqsc: Run) -> None:
    group.define_structure()
    group.define_shared("Q")
    mqsc(
        "DEFINE TOPIC(FRUIT) TOPICSTR('Price/Fruit') DEFPRTY(4) PUB(DISABLED)",
        "DEFINE SUB('it''s') TOPICSTR('Price/+') DEST(Q) PUBPRTY(3) WSCHEMA(TOPIC)",
        "DEFINE SUB(M) TOPICSTR('Price*') DESTCLAS(MANAGED) WSCHEMA(CHAR)",
    )
    connection = group.connect()
    durable = connection.subscribe("a", name="API", options=DURABLE)
    selection = ExportSelection(kinds=("TOPIC", "SUB"), one_line=True)
    lines = export(group.group, read_catalog(group.group), selection).lines
    assert not any("API" in line for line in lines)
    assert any("SYSTEM.BASE.TOPIC" in line for line in lines)
    durable.close(CloseOption.REMOVE_SUB)
    before = lines
    mqsc("DELETE TOPIC(FRUIT)", "DELETE SUB('it''s')", "DELETE SUB(M)")
    mqsc(*before)
    assert export(group.group, read_catalog(group.group), selection).lines == before


@pytest.mark.parametrize("name", ["TOPIC(NO)", "SUB(NO)", "SBSTATUS(NO)"])
def test_a_display_of_one_name_that_is_not_there_fails(mqsc: Run, name: str) -> None:
    mqsc("DEFINE TOPIC(T) TOPICSTR('t')")
    assert "was not found" in mqsc(f"DISPLAY {name}", status=10)
    assert "CSQM297I" in mqsc(f"DISPLAY {name.replace('NO', 'NO*')}")
    assert "CSQM297I" in mqsc("DISPLAY TOPIC(T) WHERE(DESCR EQ nothing)")
