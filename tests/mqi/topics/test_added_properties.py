"""The additions of publish/subscribe to a publication, as PSPROP says, and what selectors see of them."""

from __future__ import annotations

import io
import struct

import pytest

from igq.mqsc.executor import run
from sharedq.api import Queue, QueueManagerConnection, Subscription
from sharedq.messages.message import Message
from sharedq.mqi.constants import Format, GetOption, OpenOption, PutOption
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFH, MQCFIN, MQCFST, PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD, MQSD
from sharedq.properties.folders import folder_name
from sharedq.properties.handle import MessageHandle
from sharedq.properties.headers import read_chain
from sharedq.session import topics
from tests.mqi.gets.test_long_messages_cost import commands_of
from tests.mqi.topics.scene import NEW, bodies, open_input, publish
from tests.support.members import TestGroup

FORCE = GetOption.PROPERTIES_FORCE_MQRFH2


def got_with_properties(source: Subscription | Queue) -> tuple[Message, MessageHandle]:
    """Get a message and its properties."""
    handle = MessageHandle()
    queue = source.queue if isinstance(source, Subscription) else source
    assert queue is not None
    return queue.get(properties=handle), handle


def coloured() -> MessageHandle:
    """A handle with the property ``colour``."""
    handle = MessageHandle()
    handle.set("colour", "red")
    return handle


def administered(group: TestGroup, form: str, topic_string: str = "A", user_data: str = "it''s mine") -> Queue:
    """The queue of an administrative subscription with that PSPROP."""
    group.define_structure()
    group.define_shared(f"Q.{form}")
    out = io.StringIO()
    command = f"DEFINE SUB({form}) TOPICSTR({topic_string}) DEST(Q.{form}) PSPROP({form}) USERDATA('{user_data}')"
    run([command], group.repository("QM1"), out)
    assert "IGQ1011W" not in out.getvalue()
    return open_input(group.connect(), f"Q.{form}")


@pytest.mark.rule(
    "mqi/topics", "A publication has its topic string and the user data of its subscription as properties."
)
def test_topic_string_and_user_data(pair: TestGroup) -> None:
    subscriber, publisher = pair.connect("QM1"), pair.connect("QM2")
    with_data = subscriber.subscribe("a/#", descriptor=MQSD(sub_user_data=b"mine <&"))
    without = subscriber.subscribe("a/b")
    publish(publisher, "a/b", b"1")
    message, found = got_with_properties(with_data)
    assert (message.body, message.md.format) == (b"1", b"")
    assert (found.get("MQTopicString"), found.get("MQSubUserData")) == ("a/b", "mine <&")
    assert found.get("MQIsRetained") is None
    message, found = got_with_properties(without)
    assert (found.get("MQTopicString"), found.get("MQSubUserData", "none")) == ("a/b", "none")


@pytest.mark.rule("mqi/topics", "A publication that comes because it was retained says so in a property.")
def test_retained_publications_say_so(group: TestGroup) -> None:
    connection = group.connect()
    early = connection.subscribe("a")
    publish(connection, "a", b"1", options=PutOption.RETAIN)
    late = connection.subscribe("a", descriptor=MQSD(sub_user_data=b"d"))
    assert got_with_properties(early)[1].get("MQIsRetained") is None
    found = got_with_properties(late)[1]
    assert [found.get(f"MQ{name}") for name in ("TopicString", "SubUserData", "IsRetained")] == ["a", "d", True]
    early.request()
    assert got_with_properties(early)[1].get("MQIsRetained") is True


def test_a_program_without_a_handle_gets_what_was_published(group: TestGroup) -> None:
    connection = group.connect()
    subscription = connection.subscribe("a")
    connection.open_topic("a").publish(b"1", MQMD(format=Format.STRING))
    message = subscription.get()
    assert (message.body, message.md.format) == (b"1", Format.STRING)


def test_added_properties_are_in_the_header_of_the_others(group: TestGroup) -> None:
    connection = group.connect()
    subscription = connection.subscribe("a")
    connection.open_topic("a").publish(b"1", MQMD(format=Format.STRING), properties=coloured())
    message = subscription.get(FORCE)
    chain = read_chain(message.md, message.body)
    names = [folder_name(folder.decode()) for header in chain.headers for folder in header.folders]
    assert (names, len(chain.headers), chain.described[-1][2]) == (["usr", "mqps"], 1, Format.STRING)


@pytest.mark.rule("mqi/topics", "Properties that an earlier publication got are replaced in the next one.")
def test_a_publication_is_published_again(group: TestGroup) -> None:
    connection = group.connect()
    first, second = connection.subscribe("a", descriptor=MQSD(sub_user_data=b"d")), connection.subscribe("b")
    publish(connection, "a", b"1")
    _, handle = got_with_properties(first)
    connection.open_topic("b").publish(b"2", properties=handle)
    found = got_with_properties(second)[1]
    assert (found.get("MQTopicString"), found.get("MQSubUserData")) == ("b", None)


def test_psprop_none(group: TestGroup) -> None:
    queue, connection = administered(group, "NONE"), group.connect()
    connection.open_topic("A").publish(b"1", MQMD(format=Format.STRING))
    message = queue.get(FORCE)
    assert (message.body, message.md.format) == (b"1", Format.STRING)


@pytest.mark.rule("mqi/topics", "PSPROP(RFH2): the folder psc of an MQRFH2 says what a publication is about.")
def test_psprop_rfh2(group: TestGroup) -> None:
    connection = group.connect()
    publish(connection, "A", b"0", options=PutOption.RETAIN)
    queue = administered(group, "RFH2")
    assert queue.get().body.endswith(b"0")
    connection.open_topic("A").publish(b"1", MQMD(format=Format.STRING), properties=coloured())
    message = queue.get()
    chain = read_chain(message.md, message.body)
    assert [folder_name(folder.decode()) for folder in chain.headers[0].folders] == ["usr", "psc"]
    text = chain.headers[0].folders[1].decode().strip()
    assert text == "<psc><Command>Publish</Command><Topic>A</Topic><SubUserData>it's mine</SubUserData></psc>"
    assert message.body[chain.length :] == b"1"


@pytest.mark.rule("mqi/topics", "PSPROP(COMPAT): an MQRFH in front of the data, or parameters of a PCF message.")
@pytest.mark.parametrize("encoding", [0x111, 0x222])
def test_psprop_compat(group: TestGroup, encoding: int) -> None:
    queue, connection = administered(group, "COMPAT"), group.connect()
    topic = connection.open_topic("A")
    for handle in (None, coloured()):
        topic.publish(b"1", MQMD(format=Format.STRING, encoding=encoding, coded_char_set_id=1208), properties=handle)
        message = queue.get()
        chain = read_chain(message.md, message.body)
        assert (chain.described[-1][2], len(chain.headers)) == (Format.RF_HEADER_1, int(handle is not None))
        data = message.body[chain.length :]
        order = ">" if encoding == 0x111 else "<"
        struc_id, version, length, its_encoding, ccsid, name, flags = struct.unpack_from(f"{order}4siiii8si", data)
        assert (struc_id, version, its_encoding, ccsid, name, flags) == (b"RFH ", 1, encoding, 1208, b"MQSTR   ", 0)
        text = data[32:length].decode().rstrip()
        assert text == 'MQPSCommand Publish MQPSTopic A MQPSSubUserData "it\'s mine"'
        assert data[length:] == b"1"


def test_psprop_compat_of_a_pcf_message(group: TestGroup) -> None:
    queue, connection = administered(group, "COMPAT"), group.connect()
    data = write(PCFMessage(MQCFH(command=7), (MQCFIN(1, 5),)))
    connection.open_topic("A").publish(data, MQMD(format=Format.PCF, coded_char_set_id=1208))
    message = queue.get()
    assert message.md.format == Format.PCF
    found = read(message.body)
    assert found.header.command == 7
    values = [
        each.value if isinstance(each, MQCFIN) else each.string
        for each in found.parameters
        if isinstance(each, MQCFIN | MQCFST)
    ]
    assert values == [5, b"A", b"it's mine"]


def test_a_header_that_is_not_valid_is_data(group: TestGroup) -> None:
    connection = group.connect()
    subscription = connection.subscribe("a")
    connection.open_topic("a").publish(b"no header", MQMD(format=Format.RF_HEADER_2))
    assert subscription.get().body == b"no header"


@pytest.mark.rule("mqi/topics", "The selection string of a subscription sees MQTopicString, but no user data.")
def test_selection_of_a_subscription(group: TestGroup) -> None:
    connection = group.connect()
    texts = (b"MQTopicString = 'a/b'", b"MQTopicString LIKE 'a/c%'", b"MQSubUserData IS NULL", b"MQIsRetained IS NULL")
    found = [connection.subscribe("a/#", options=NEW, descriptor=MQSD(selection_string=each)) for each in texts]
    publish(connection, "a/b", b"1")
    publish(connection, "a/c", b"2")
    assert [bodies(each) for each in found] == [[b"1"], [b"2"], [b"1", b"2"], [b"1", b"2"]]


@pytest.mark.rule("mqi/topics", "A selector of a get sees the properties that publish/subscribe adds.")
def test_a_selector_of_a_get(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    connection = group.connect()
    for name, data in (("a", b"1"), ("b", b"2")):
        queue = open_input(connection, "Q")
        connection.subscribe(name, queue=queue, options=1 << 1, descriptor=MQSD(sub_user_data=data))
        publish(connection, name, name.encode())
    for text, wanted in (("MQTopicString = 'b'", b"b"), ("MQSubUserData = '1'", b"a")):
        assert connection.open("Q", OpenOption.INPUT_SHARED, selector=text).get().body == wanted


def test_a_hundred_subscriptions_cost_no_more_calls(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "INTERVAL_S", float("inf"))

    def published(connection: QueueManagerConnection, topic_string: str) -> tuple[int, int]:
        publish(connection, topic_string, b"warm")
        commands = commands_of(group, lambda: publish(connection, topic_string, b"x" * 1000))
        scripts = [each for each in commands if each[0] in ("evalsha", "fcall")]
        return len(scripts), sum(len(word) for each in scripts for word in each)

    group.define_structure()
    group.define_shared("Q")
    connection = group.connect()
    lines = [
        f"DEFINE SUB({form}.{n}) TOPICSTR({form}) DEST(Q) PSPROP({form})"
        for form in ("NONE", "MSGPROP")
        for n in range(100)
    ]
    run(lines, group.repository("QM1"), io.StringIO())
    (few, short), (same, longer) = (published(connection, form) for form in ("NONE", "MSGPROP"))
    assert same == few
    # One header: 36 bytes, its folder, and what MONITOR makes of bytes that are no characters.
    assert longer - short < 100 * 250
