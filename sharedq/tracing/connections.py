"""Connections whose puts and gets make spans: those of ``sharedq.api``, wrapped from outside.

So a program that is not traced runs the same functions as if there were no tracing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import partial
from types import TracebackType
from typing import Any, Final, TypeVar

# First: it says which extra is missing.
from sharedq.tracing.spans import (  # isort: skip
    FIELDS,
    Carrier,
    Spans,
    can_carry,
    carried_by,
    carrier_of,
    context_in,
    describe,
    links_to,
    stored_context,
    tell_end,
    with_context,
)
from opentelemetry.context import Context
from opentelemetry.trace import Span, TracerProvider

from sharedq import api
from sharedq.api import connection as connections
from sharedq.calls.get.properties import PROPERTY_OPTIONS, property_option, take_out
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, Format, GetOption, OpenOption, PutAction, PutOption, SubOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQOD, MQSD, copied
from sharedq.properties.handle import MessageHandle
from sharedq.properties.headers import properties_in, read_chain
from sharedq.properties.names import COMPATIBLE_FOLDERS, place_of
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.topics import SubscriptionHandle, TopicHandle

T = TypeVar("T")
_BROWSES: Final = int(GetOption.BROWSE_FIRST | GetOption.BROWSE_NEXT | GetOption.BROWSE_MSG_UNDER_CURSOR)
_COMPATIBILITY: Final = int(GetOption.PROPERTIES_COMPATIBILITY)
_NO_PROPERTIES: Final = int(GetOption.NO_PROPERTIES)
#: A put with one of these moves a message or composes its descriptor itself: such a message stays as it is.
_MOVES: Final = int(PutOption.SET_ALL_CONTEXT | PutOption.PASS_ALL_CONTEXT)
_FOR_OUTPUT_ONLY: Final = int(PutOption.MD_FOR_OUTPUT_ONLY)
#: The fields of a descriptor that describe the data, in front of which the header with the properties came.
_OF_DATA: Final = frozenset({"format", "encoding", "coded_char_set_id"})
_RETURNED: Final = tuple(field.name for field in fields(MQMD) if field.name not in _OF_DATA)


def trace_connections(provider: TracerProvider | None = None) -> None:
    """Trace the connections that this program makes from now on, as the setting ``tracing`` does.

    Args:
        provider: makes the spans; default that in force, or one as ``OTEL_TRACES_EXPORTER`` says.

    Raises:
        ConfigError: the extra ``tracing`` or the exporter is not installed.
    """
    connections.make_connection = partial(TracedConnection, Spans(provider))


def context_of(message: Message) -> Context:
    """The context in which a program processes a message: that of the span of its get.

    Of a message that was got without tracing, the one that the message carries. Shape: as
    ``tracer.start_as_current_span(name, context=...)`` takes it.
    """
    return message.context if isinstance(message, TracedMessage) else stored_context(message)


class TracedMessage(Message):
    """A message with the context of the span of its get."""

    __slots__ = ("context",)

    def __init__(self, message: Message, context: Context) -> None:
        super().__init__(message._got)
        for name in Message.__slots__:
            setattr(self, name, getattr(message, name))
        self.context = context


class TracedConnection(api.QueueManagerConnection):
    """A connection whose calls are told to *spans*."""

    def __init__(self, spans: Spans, connection: Connection) -> None:
        super().__init__(connection)
        self._spans = spans

    def _open(
        self, od: MQOD, name: str, qmgr_name: str, options: OpenOption | int, *, is_put1: bool = False
    ) -> api.Queue:
        opened = super()._open(od, name, qmgr_name, options, is_put1=is_put1)
        return TracedQueue(self._spans, self.connection, opened.handle)

    def open_topic(
        self, topic_string: str = "", *, name: str = "", options: OpenOption | int = OpenOption.OUTPUT
    ) -> api.Topic:
        opened = super().open_topic(topic_string, name=name, options=options)
        return TracedTopic(self._spans, self.connection, opened.handle)

    def subscribe(
        self,
        topic_string: str = "",
        *,
        topic: str = "",
        name: str = "",
        options: SubOption | int = SubOption.CREATE | SubOption.MANAGED,
        queue: api.Queue | None = None,
        descriptor: MQSD | None = None,
    ) -> api.Subscription:
        made = super().subscribe(
            topic_string, topic=topic, name=name, options=options, queue=queue, descriptor=descriptor
        )
        return TracedSubscription(self._spans, self.connection, made.handle, queue)

    def commit(self) -> None:
        _with_event("commit", self.qmgr_name, super().commit)

    def backout(self) -> None:
        _with_event("backout", self.qmgr_name, super().backout)

    def disconnect(self) -> MQRC:
        if not self.connection.has_unit:
            return super().disconnect()
        return _with_event("commit", self.qmgr_name, super().disconnect)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave = partial(super().__exit__, kind, error, traceback)
        if self.connection.is_ended or not self.connection.has_unit:
            leave()
        else:
            _with_event("commit" if error is None else "backout", self.qmgr_name, leave)


class TracedQueue(api.Queue):
    """An open queue whose puts and gets make spans."""

    def __init__(self, spans: Spans, connection: Connection, handle: Handle | TopicHandle) -> None:
        super().__init__(connection, handle)
        self._spans = spans

    def put(
        self,
        body: bytes,
        md: MQMD | None = None,
        *,
        options: PutOption | int = 0,
        context: api.Queue | None = None,
        properties: MessageHandle | None = None,
        original: MessageHandle | None = None,
        action: PutAction | int = PutAction.NEW,
    ) -> MQMD:
        md = MQMD() if md is None else md
        put = partial(super().put, body, md, options=options, context=context, original=original, action=action)
        with self._spans.sending(self.name, self.connection.qmgr_name) as span:
            sent = properties
            given: Carrier = {}
            if _is_message(md, body):
                given = _carried_by_handles(properties, original) or carried_by(md, body)
                if not given and not int(options) & _MOVES and can_carry(md, body):
                    given = carrier_of(span)
                    # A handle of the program's is used again for the next message, which has another context.
                    sent = MessageHandle()
                    sent.take([] if properties is None else properties.properties(), _md_of(properties, md))
                    for name, value in given.items():
                        sent.set(name, value)
                else:
                    _link(span, given)
            put(properties=sent)
            if properties is not None and sent is not properties and sent is not None:
                own = [each for each in sent.properties() if each.name not in given]
                properties.take(own, sent.md)
            describe(span, md, len(body))
            return md

    def put_many(
        self,
        messages: Iterable[tuple[MQMD, bytes]],
        *,
        options: PutOption | int = 0,
        context: api.Queue | None = None,
    ) -> list[MQMD]:
        batch = list(messages)
        with self._spans.sending(self.name, self.connection.qmgr_name, len(batch)) as span:
            sent = _carrying(span, batch, int(options))
            super().put_many(sent, options=options, context=context)
            return _returned(batch, sent)

    def get(self, options: GetOption | int = 0, **arguments: Any) -> Message:
        get = super().get
        (message,) = self._got(int(options), lambda: [get(options, **arguments)])
        if arguments.get("properties") is None:
            self._hide(message, int(options))
        return message

    def get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[Message]:
        return self._shown(int(options), partial(super().get_many, count, options, wait_ms=wait_ms))

    def commit_and_get(self, options: GetOption | int = 0, *, wait_ms: int = 0, match: MQMD | None = None) -> Message:
        get = partial(super().commit_and_get, options, wait_ms=wait_ms, match=match)
        (message,) = self._after_commit(int(options), lambda: [get()])
        return message

    def commit_and_get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[Message]:
        return self._after_commit(int(options), partial(super().commit_and_get_many, count, options, wait_ms=wait_ms))

    def _after_commit(self, options: int, get: Callable[[], list[Message]]) -> list[Message]:
        qmgr = self.connection.qmgr_name
        try:
            messages = self._shown(options, get)
        except MQIError as error:
            tell_end("commit", qmgr, None if error.reason == MQRC.NO_MSG_AVAILABLE else error)
            raise
        tell_end("commit", qmgr)
        return messages

    def _shown(self, options: int, get: Callable[[], list[Message]]) -> list[Message]:
        messages = self._got(options, get)
        for message in messages:
            self._hide(message, options)
        return messages

    def _got(self, options: int, get: Callable[[], list[Message]]) -> list[Message]:
        """Make a get and its span. A browse, and a get that leaves the message where it is, have none."""
        if options & _BROWSES:
            return get()
        begin_ns, qmgr = time.time_ns(), self.connection.qmgr_name
        try:
            messages = get()
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                self._spans.failed(self.name, qmgr, begin_ns, error)
            raise
        if not messages or messages[0].reason == MQRC.TRUNCATED_MSG_FAILED:
            return messages
        context = self._spans.received(self.name, qmgr, begin_ns, messages)
        return [TracedMessage(message, context) for message in messages]

    def _hide(self, message: Message, options: int) -> None:
        """Take the header out of the data of a message that has it for its trace only, where PROPCTL is COMPAT."""
        handle = self.open_queue()
        if (
            options & PROPERTY_OPTIONS
            or not handle.gets.confirms_delivery
            or not message.has_format(Format.RF_HEADER_2)
            or property_option(handle, options) != _COMPATIBILITY
        ):
            return
        try:
            found = properties_in(read_chain(message.md, message.body))
        except MQIError:
            return
        others = (each.name for each in found if each.name not in FIELDS)
        # Properties in other folders are not shown in any case.
        if found and not any(place_of(name)[0] in COMPATIBLE_FOLDERS for name in others):
            take_out(message, _NO_PROPERTIES)


class TracedTopic(api.Topic):
    """An open topic whose publications make spans."""

    def __init__(self, spans: Spans, connection: Connection, handle: TopicHandle) -> None:
        super().__init__(connection, handle)
        self._spans = spans

    def publish(
        self,
        body: bytes,
        md: MQMD | None = None,
        *,
        options: PutOption | int = 0,
        properties: MessageHandle | None = None,
    ) -> MQMD:
        md = MQMD() if md is None else md
        had = set() if properties is None else {each.name for each in properties.properties()}
        with self._spans.sending(self.topic_string, self.connection.qmgr_name) as span:
            sent = _carrying(span, [(md, body)], int(options))
            super().publish(sent[0][1], sent[0][0], options=options, properties=properties)
            _returned([(md, body)], sent)
            if properties is not None:
                # The call returns all properties of the message, and the program has not set these.
                own = [each for each in properties.properties() if each.name in had or each.name not in FIELDS]
                properties.take(own, md)
            describe(span, md, len(body))
            return md


class TracedSubscription(api.Subscription):
    """A subscription whose gets make spans."""

    def __init__(
        self, spans: Spans, connection: Connection, handle: SubscriptionHandle, queue: api.Queue | None
    ) -> None:
        super().__init__(connection, handle, queue)
        if handle.queue is not None:
            self.queue = TracedQueue(spans, connection, handle.queue)


def _carrying(span: Span, batch: Sequence[Any], options: int) -> list[tuple[MQMD, bytes]]:
    """The messages, with the context of their put in each that has none and can carry one."""
    given, sent = carrier_of(span), list[tuple[MQMD, bytes]]()
    for each in batch:
        if not (isinstance(each, tuple) and len(each) == 2 and _is_message(*each)):
            # The call refuses it, and says why.
            return list(batch)
        md, body = each
        carried = carried_by(md, body)
        if carried:
            _link(span, carried)
        elif given and not options & (_MOVES | _FOR_OUTPUT_ONLY) and can_carry(md, body):
            md = copied(md)
            body = with_context(md, body, given)
        sent.append((md, body))
    return sent


def _returned(batch: Sequence[tuple[MQMD, bytes]], sent: Sequence[tuple[MQMD, bytes]]) -> list[MQMD]:
    """The program's descriptors, with what the call has returned in those that were sent."""
    for (md, _), (filled, _) in zip(batch, sent, strict=True):
        if filled is not md:
            for name in _RETURNED:
                setattr(md, name, getattr(filled, name))
    return [md for md, _ in batch]


def _carried_by_handles(*handles: MessageHandle | None) -> dict[str, str]:
    for handle in handles:
        if handle is not None and "traceparent" in handle:
            return {each.name: str(each.value) for each in handle.properties() if each.name in FIELDS}
    return {}


def _md_of(properties: MessageHandle | None, md: MQMD) -> MQMD:
    return md if properties is None else properties.md


def _link(span: Span, carrier: Carrier) -> None:
    for link in links_to([context_in(carrier)]):
        span.add_link(link.context)


def _is_message(md: object, body: object) -> bool:
    return isinstance(md, MQMD) and isinstance(body, bytes | bytearray | memoryview)


def _with_event(word: str, qmgr: str, call: Callable[[], T]) -> T:
    try:
        result = call()
    except MQIError as error:
        tell_end(word, qmgr, error)
        raise
    tell_end(word, qmgr)
    return result
