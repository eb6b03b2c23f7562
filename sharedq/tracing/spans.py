"""Spans about messages, and the trace context that a message carries: its properties traceparent and tracestate.

Source: OpenTelemetry semantic conventions for messaging spans; IBM MQ, "OpenTelemetry tracing with IBM MQ on z/OS"; W3C
Trace Context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

# First: it says which extra is missing.
from sharedq.tracing.provider import provider_in_force  # isort: skip
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sharedq.messages.message import Message
from sharedq.mqi.constants import Format, MsgFlag, PropertyType
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD, MQPD
from sharedq.properties.folders import Property
from sharedq.properties.headers import check_chain, properties_in, read_chain, with_properties, without_properties

_W3C: Final = TraceContextTextMapPropagator()
#: The properties; without a dot in their names they are in the folder usr.
FIELDS: Final = ("traceparent", "tracestate")
_SEGMENTED: Final = int(MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT | MsgFlag.SEGMENTATION_ALLOWED)
Carrier = Mapping[str, str]


def carried_by(md: MQMD, body: bytes) -> dict[str, str]:
    """The properties of a trace that a message has; empty if there are none, or its MQRFH2 is not valid."""
    if md.format.rstrip(b" \0") != Format.RF_HEADER_2:
        return {}
    try:
        found = properties_in(read_chain(md, body))
    except MQIError:
        return {}
    return {each.name: str(each.value) for each in found if each.name in FIELDS}


def can_carry(md: MQMD, body: bytes) -> bool:
    """Whether a message can be given properties: it is in no segments, and has no MQRFH2 that is not valid."""
    if md.msg_flags & _SEGMENTED:
        return False
    try:
        chain = read_chain(md, body)
        check_chain(chain)
        properties_in(chain)
    except MQIError:
        return False
    return True


def with_context(md: MQMD, body: bytes, carrier: Carrier) -> bytes:
    """The message with the properties of a trace beside its own; *md* then describes its MQRFH2."""
    chain = read_chain(md, body)
    properties = properties_in(chain)
    properties += [Property(name, PropertyType.STRING, value, MQPD()) for name, value in carrier.items()]
    if chain.headers:
        body = without_properties(md, body, chain)
    return with_properties(md, body, properties)


def context_in(carrier: Carrier) -> Context:
    """The context that these properties are, with no span if there are none or they are not valid."""
    return _W3C.extract(carrier, Context())


def stored_context(message: Message) -> Context:
    """The context that a message that was got carries, whether the program sees its properties or not."""
    return context_in(carried_by(*message.as_stored()))


def carrier_of(span: Span) -> dict[str, str]:
    """The properties by which a message carries the context of a span; empty if there is no such context."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier


def links_to(contexts: Sequence[Context]) -> list[Link]:
    """A link to each context that has a span."""
    found = [trace.get_current_span(context).get_span_context() for context in contexts]
    return [Link(each) for each in found if each.is_valid]


class Spans:
    """Makes the spans.

    Args:
        provider: default that in force.
    """

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("igq", tracer_provider=provider or provider_in_force())

    @contextmanager
    def sending(self, queue: str, qmgr: str, count: int = 1) -> Iterator[Span]:
        """The span of a put. An error of the MQI becomes its status."""
        attributes = _attributes("put", "send", queue, qmgr, count)
        with self._tracer.start_as_current_span(
            f"put {queue}", kind=SpanKind.PRODUCER, attributes=attributes, record_exception=False
        ) as span:
            try:
                yield span
            except MQIError as error:
                _fail(span, error)
                raise

    def received(self, queue: str, qmgr: str, begin_ns: int, messages: Sequence[Message]) -> Context:
        """The span of a get that has ended: linked to the spans of the puts, and part of the program's trace.

        A program that has no trace of its own has that of the message. Returns the context of the span.

        Args:
            begin_ns: when the get began, nanoseconds since 1970.
        """
        contexts = [stored_context(message) for message in messages]
        parent = contexts[0] if len(contexts) == 1 and not _has_span() else None
        span = self._tracer.start_span(
            f"get {queue}",
            parent,
            kind=SpanKind.CONSUMER,
            attributes=_attributes("get", "receive", queue, qmgr, len(messages)),
            links=links_to(contexts),
            start_time=begin_ns,
        )
        if len(messages) == 1:
            describe(span, messages[0].md, messages[0].data_length)
        span.end()
        return trace.set_span_in_context(span, parent)

    def failed(self, queue: str, qmgr: str, begin_ns: int, error: MQIError) -> None:
        """The span of a get that has failed."""
        attributes = _attributes("get", "receive", queue, qmgr, 1)
        name, kind = f"get {queue}", SpanKind.CONSUMER
        span = self._tracer.start_span(name, kind=kind, attributes=attributes, start_time=begin_ns)
        _fail(span, error)
        span.end()

    def moved(
        self, queue: str, qmgr: str, count: int, messages: Sequence[Message] = (), begin_ns: int | None = None
    ) -> None:
        """The span of a batch that an agent has delivered.

        Args:
            messages: the messages whose data are at hand: the span is linked to the spans of their puts.
            begin_ns: nanoseconds since 1970; default now.
        """
        contexts = [stored_context(message) for message in messages]
        self._tracer.start_span(
            f"move {queue}",
            contexts[0] if len(contexts) == 1 else None,
            kind=SpanKind.CONSUMER,
            attributes=_attributes("move", "process", queue, qmgr, count),
            links=links_to(contexts),
            start_time=begin_ns,
        ).end()


def describe(span: Span, md: MQMD, length: int) -> None:
    """Say in a span which message it is about."""
    span.set_attribute("messaging.message.id", md.msg_id.hex())
    span.set_attribute("messaging.message.body.size", length)
    if md.correl_id.rstrip(b"\0") != NULL_ID.rstrip(b"\0"):
        span.set_attribute("messaging.message.conversation_id", md.correl_id.hex())


def tell_end(word: str, qmgr: str, error: MQIError | None = None) -> None:
    """Note the end of a unit of work, an event of the program's span: ``commit`` or ``backout``."""
    attributes = {"igq.qmgr": qmgr}
    if error is not None:
        attributes["error.type"] = str(int(error.reason))
    trace.get_current_span().add_event(word, attributes)


def _has_span() -> bool:
    return trace.get_current_span().get_span_context().is_valid


def _fail(span: Span, error: MQIError) -> None:
    span.set_attribute("error.type", str(int(error.reason)))
    span.set_status(StatusCode.ERROR, str(error))


def _attributes(name: str, kind: str, queue: str, qmgr: str, count: int) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {
        "messaging.system": "ibmmq",
        "messaging.destination.name": queue,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "igq.qmgr": qmgr,
    }
    if count != 1:
        attributes["messaging.batch.message_count"] = count
    return attributes
