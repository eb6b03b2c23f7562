"""Spans of puts and gets, and the context that messages carry from one to the other."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, get_current_span

from sharedq import MessageHandle, MQIError, QueueManagerConnection
from sharedq.mqi.constants import MQRC, Format, GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.settings.values import ConfigError
from sharedq.tracing.connections import TracedConnection, context_of, trace_connections
from sharedq.tracing.spans import Spans
from tests.support.groups import BOTH
from tests.support.killed import environment
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SYNCPOINT = PutOption.SYNCPOINT


class Traced:
    """A group with two members, the spans that its traced connections make, and a shared queue Q."""

    def __init__(self, group: TestGroup) -> None:
        group.add_member("QM2")
        group.define_shared("Q")
        self.group, self._memory, self.provider = group, InMemorySpanExporter(), TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self.tracer = self.provider.get_tracer("test")

    def connect(self, qmgr: str = "QM1") -> QueueManagerConnection:
        return TracedConnection(Spans(self.provider), self.group.connect(qmgr).connection)

    def spans(self) -> list[ReadableSpan]:
        return list(self._memory.get_finished_spans())

    def attributes(self) -> list[dict[str, object]]:
        return [dict(span.attributes or {}) for span in self.spans()]


@pytest.fixture
def traced(group: TestGroup) -> Traced:
    return Traced(group)


def ids(context: SpanContext | None) -> tuple[int, int]:
    assert context is not None
    return context.trace_id, context.span_id


def links(span: ReadableSpan) -> list[tuple[int, int]]:
    return [ids(link.context) for link in span.links]


def got_plainly(group: TestGroup, options: GetOption | int = 0) -> tuple[bytes, MessageHandle]:
    """Return the properties that a program without tracing gets from Q."""
    handle = MessageHandle()
    message = group.connect().open("Q", OpenOption.INPUT_SHARED).get(options, properties=handle)
    return message.body, handle


def test_get_at_another_member_is_linked_to_the_put(traced: Traced) -> None:
    md = traced.connect("QM1").put1("Q", b"body", MQMD(correl_id=b"c" * 24))
    message = traced.connect("QM2").open("Q", OpenOption.INPUT_SHARED).get()

    put, get = traced.spans()
    assert (put.name, put.kind, get.name, get.kind) == ("put Q", SpanKind.PRODUCER, "get Q", SpanKind.CONSUMER)
    assert links(get) == [ids(put.context)]
    assert get.parent is not None
    assert ids(get.parent) == ids(put.context)
    assert ids(get_current_span(context_of(message)).get_span_context()) == ids(get.context)
    assert (message.body, message.md.format) == (b"body", md.format)
    common = {
        "messaging.system": "ibmmq",
        "messaging.destination.name": "Q",
        "messaging.message.id": md.msg_id.hex(),
        "messaging.message.conversation_id": (b"c" * 24).hex(),
    }
    sent, received = traced.attributes()
    assert sent.items() >= (common | {"messaging.operation.type": "send", "igq.qmgr": "QM1"}).items()
    assert received.items() >= (common | {"messaging.operation.type": "receive", "igq.qmgr": "QM2"}).items()
    assert sent["messaging.message.body.size"] == 4


def test_get_is_part_of_the_trace_of_its_program(traced: Traced) -> None:
    traced.connect().put1("Q", b"body")

    with traced.tracer.start_as_current_span("work") as work:
        traced.connect().open("Q", OpenOption.INPUT_SHARED).get()

    put, get, _ = traced.spans()
    assert ids(get.parent) == ids(work.get_span_context())
    assert links(get) == [ids(put.context)]


def test_message_carries_the_put_as_a_property(traced: Traced) -> None:
    properties = MessageHandle()
    properties.set("colour", "red")
    queue = traced.connect().open("Q", OpenOption.OUTPUT)
    for body in (b"one", b"two"):
        queue.put(body, properties=properties)

    assert list(properties) == ["colour"], "the program's handle is used for the next message"
    for body, span in zip((b"one", b"two"), traced.spans(), strict=True):
        found, handle = got_plainly(traced.group)
        assert span.context is not None
        assert found == body
        assert handle.get("colour") == "red"
        traceparent = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"
        assert handle.get("traceparent") == traceparent


def test_traceparent_of_the_program_stays(traced: Traced) -> None:
    properties = MessageHandle()
    properties.set("traceparent", PARENT)
    traced.connect().put1("Q", b"body", properties=properties)

    assert got_plainly(traced.group)[1].get("traceparent") == PARENT
    assert links(traced.spans()[0]) == [(int(PARENT[3:35], 16), int(PARENT[36:52], 16))]


def test_moved_message_stays_as_it_is(traced: Traced) -> None:
    opened = traced.connect().open("Q", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
    opened.put_many([(MQMD(), b"body")], options=PutOption.SET_ALL_CONTEXT)
    opened.put(b"body", options=PutOption.SET_ALL_CONTEXT)

    assert [list(got_plainly(traced.group)[1]) for _ in range(2)] == [[], []]


def test_batch_is_one_span_and_each_message_carries_it(traced: Traced) -> None:
    queue = traced.connect().open("Q", BOTH)
    mds = queue.put_many([(MQMD(format=Format.STRING), b"one"), (MQMD(), b"two")])
    messages = queue.get_many(2)

    put, get = traced.spans()
    assert [md.format for md in mds] == [Format.STRING, MQMD().format]
    assert [(each.body, each.md.format) for each in messages] == [(b"one", Format.STRING), (b"two", mds[1].format)]
    assert [each.md.msg_id for each in messages] == [md.msg_id for md in mds]
    assert links(get) == [ids(put.context)] * 2
    assert [each["messaging.batch.message_count"] for each in traced.attributes()] == [2, 2]


def test_program_without_tracing_reads_the_message_by_the_rules_of_propctl(traced: Traced) -> None:
    traced.connect().put1("Q", b"body")
    traced.connect().put1("Q", b"body")
    queue = traced.group.connect().open("Q", OpenOption.INPUT_SHARED)

    assert queue.get(GetOption.NO_PROPERTIES).body == b"body"
    assert queue.get().md.format.rstrip() == Format.RF_HEADER_2.rstrip(), "COMPAT shows a folder usr"


def test_other_properties_are_shown_as_without_tracing(traced: Traced) -> None:
    properties = MessageHandle()
    properties.set("colour", "red")
    traced.connect().put1("Q", b"body", properties=properties)

    message = traced.connect().open("Q", OpenOption.INPUT_SHARED).get()
    assert message.md.format.rstrip() == Format.RF_HEADER_2.rstrip()
    assert b"<colour>red</colour>" in message.body


def test_header_that_is_not_valid_is_put_as_without_tracing(traced: Traced) -> None:
    traced.connect().put1("Q", b"no header", MQMD(format=Format.RF_HEADER_2))

    assert traced.group.connect().open("Q", BOTH).get().body == b"no header"


def test_commit_and_backout_are_events_of_the_span_of_the_program(traced: Traced) -> None:
    connection = traced.connect()
    queue = connection.open("Q", BOTH)
    with traced.tracer.start_as_current_span("work"):
        queue.put(b"gone", options=SYNCPOINT)
        connection.backout()
        queue.put(b"kept", options=SYNCPOINT)
        connection.commit()

    work = traced.spans()[-1]
    assert [event.name for event in work.events] == ["backout", "commit"]
    assert got_plainly(traced.group)[0] == b"kept"


def test_message_that_was_backed_out_is_linked_again(traced: Traced) -> None:
    connection = traced.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"body")
    queue.get(GetOption.SYNCPOINT)
    connection.backout()
    queue.get()

    put, first, again = traced.spans()
    assert links(first) == links(again) == [ids(put.context)]


def test_end_of_a_with_block_is_an_event(traced: Traced) -> None:
    def fail() -> None:
        with traced.connect() as connection:
            connection.put1("Q", b"gone", options=SYNCPOINT)
            raise RuntimeError

    with traced.tracer.start_as_current_span("work"):
        with pytest.raises(RuntimeError):
            fail()
        with traced.connect() as connection:
            connection.put1("Q", b"kept", options=SYNCPOINT)
    assert [event.name for event in traced.spans()[-1].events] == ["backout", "commit"]


def test_errors_are_the_status_and_an_empty_queue_is_none(traced: Traced) -> None:
    queue = traced.connect().open("Q", BOTH)
    with pytest.raises(MQIError):
        queue.get()
    queue.put(b"seen only")
    traced.connect().open("Q", OpenOption.BROWSE).get(GetOption.BROWSE_FIRST)
    queue.close()
    for call in (queue.get, lambda: queue.put(b"")):
        with pytest.raises(MQIError):
            call()

    assert [span.name for span in traced.spans()] == ["put Q", "get Q", "put Q"]
    assert [each.get("error.type") for each in traced.attributes()] == [None, *[str(int(MQRC.HOBJ_ERROR))] * 2]


@pytest.mark.parametrize("wrong", [("md", b""), (MQMD(), "text"), "no pair"])
def test_wrong_arguments_are_refused_as_without_tracing(traced: Traced, wrong: object) -> None:
    def refusal(connection: QueueManagerConnection) -> str:
        with pytest.raises((TypeError, MQIError)) as error:
            connection.open("Q", OpenOption.OUTPUT).put_many([wrong])  # type: ignore[list-item]
        return str(error.value)

    assert refusal(traced.connect()) == refusal(traced.group.connect())


def test_publication_is_linked(traced: Traced) -> None:
    connection = traced.connect()
    subscription = connection.subscribe("news/local")
    with connection.open_topic("news/local") as topic:
        topic.publish(b"rain")
    assert subscription.get().body == b"rain"

    put, get = traced.spans()
    assert (put.name, links(get)) == ("put news/local", [ids(put.context)])


def test_a_publication_with_properties_is_linked(traced: Traced) -> None:
    connection, properties, got = traced.connect(), MessageHandle(), MessageHandle()
    subscription = connection.subscribe("news/local")
    properties.set("kind", "weather")
    with connection.open_topic("news/local") as topic:
        topic.publish(b"rain", properties=properties)
    assert [each.name for each in properties.properties()] == ["kind"]
    assert subscription.queue is not None
    assert subscription.queue.get(properties=got).body == b"rain"
    assert got.get("kind") == "weather"

    put, get = traced.spans()
    assert (put.name, links(get)) == ("put news/local", [ids(put.context)])


def test_program_switches_it_on_and_tasks_keep_their_trace(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    import sharedq

    monkeypatch.setattr(sharedq.api.connection, "make_connection", sharedq.api.connection.make_connection)
    trace_connections(traced.provider)

    async def work() -> None:
        async with await sharedq.connect_async("QM1", settings=traced.group.settings) as connection:
            with traced.tracer.start_as_current_span("work"):
                await connection.put1("Q", b"body")

    asyncio.run(work())
    put, its = traced.spans()
    assert (put.name, ids(put.parent)) == ("put Q", ids(its.context))


PROGRAM = """
import sys
import sharedq
from sharedq.mqi.constants import OpenOption
with sharedq.connect("QM1") as connection:
    connection.put1("Q", b"body")
    queue = connection.open("Q", OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    same = type(queue).put is sharedq.Queue.put and type(queue).get is sharedq.Queue.get
print(same, *(name for name in sys.modules if name.startswith("sharedq.tracing.")))
"""


def run(group: TestGroup, program: str = PROGRAM, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment(group) | variables,
        check=False,
        capture_output=True,
        text=True,
    )


def test_off_runs_the_same_functions_and_puts_nothing_into_messages(traced: Traced) -> None:
    done = run(traced.group)
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert (
        traced.group.connect().open("Q", OpenOption.INPUT_SHARED).get(GetOption.PROPERTIES_FORCE_MQRFH2).body == b"body"
    )


def test_setting_prints_spans_to_standard_error(traced: Traced) -> None:
    done = run(traced.group, IGQ_TRACING="true", OTEL_TRACES_EXPORTER="console")
    assert done.stdout.startswith("False sharedq.tracing")
    assert '"name": "put Q"' in done.stderr
    assert "traceparent" in got_plainly(traced.group)[1]


WITHOUT_EXTRA = """
import sys
sys.modules["opentelemetry"] = None
import sharedq
from sharedq.settings.values import ConfigError
try:
    sharedq.connect("QM1")
except ConfigError as error:
    print(error)
"""


def test_missing_extra_and_exporter_are_named_in_one_line(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(traced.group, WITHOUT_EXTRA, IGQ_TRACING="true")
    assert (done.stdout, done.stderr) == ("tracing needs the extra tracing: pip install 'igq[tracing]'\n", "")

    from sharedq.tracing.provider import check_environment

    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "nowhere")
    with pytest.raises(ConfigError, match=r"^OTEL_TRACES_EXPORTER=nowhere: there is no such exporter; allowed: .+$"):
        check_environment()
