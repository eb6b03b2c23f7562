"""Queues of the native API: MQPUT, MQGET, MQINQ, MQSET and MQCLOSE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import cast

from sharedq.api.open_objects import Opened
from sharedq.calls.get import browse as locking
from sharedq.calls.get import get as getting
from sharedq.calls.get.properties import PROPERTY_OPTIONS
from sharedq.calls.get.selection import ANYTHING
from sharedq.calls.handles import open as opening
from sharedq.calls.handles.inquire import inquire, set_attributes
from sharedq.calls.put import put as putting
from sharedq.calls.put.extension import described, put_message, return_fields
from sharedq.calls.put.properties import put_with_properties
from sharedq.calls.topics.open import close_topic
from sharedq.calls.topics.publish import publish, publish_many
from sharedq.messages.extension import is_extended
from sharedq.messages.message import Message
from sharedq.mqi.arguments import listed, refuse_data, refuse_other, refuse_pair, whole
from sharedq.mqi.constants import (
    MQRC,
    CharSelector,
    CloseOption,
    GetOption,
    IntSelector,
    MatchOption,
    PutAction,
    PutOption,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_MSG_TOKEN, UNLIMITED_WAIT
from sharedq.mqi.structures import MQGMO, MQMD, MQPMO
from sharedq.mqi.wire import GMO, MD
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.topics import TopicHandle

_format_of = attrgetter("format")


class Queue(Opened[Handle]):
    """An open queue; or the topic of an alias with TARGTYPE(TOPIC), to which puts publish.

    Attributes:
        warning: of the latest ``put`` or ``put_many``, such as 2049; ``NONE`` without a warning.
    """

    def __init__(self, connection: Connection, handle: Handle | TopicHandle) -> None:
        # Readers of `handle` have a queue: an alias of a topic is for puts alone.
        super().__init__(connection, cast(Handle, handle))
        self._opened = handle
        self.warning = MQRC.NONE
        #: Of every put: a program does not see it, and to make one takes a fortieth of an asynchronous put.
        self._pmo = MQPMO()
        #: The options of the last put, and the options and wait interval of the last get: as given, and as numbers.
        self._put_asked: tuple[PutOption | int, int] = (0, 0)
        self._get_asked: tuple[GetOption | int, int, int, int] = (0, 0, 0, 0)

    @property
    def name(self) -> str:
        """The name it was opened by."""
        return self.handle.object_name

    @property
    def resolved_name(self) -> str:
        """The queue that the name stands for: the target of an alias, or the queue that was made from a model; empty
        for a topic."""
        handle = self._opened
        return "" if isinstance(handle, TopicHandle) else handle.destination.decode() or handle.name

    def put(
        self,
        body: bytes,
        md: MQMD | None = None,
        *,
        options: PutOption | int = 0,
        context: Queue | None = None,
        properties: MessageHandle | None = None,
        original: MessageHandle | None = None,
        action: PutAction | int = PutAction.NEW,
    ) -> MQMD:
        """MQPUT one message; returns its descriptor with the identifiers it was given.

        Args:
            context: for ``PutOption.PASS_*_CONTEXT``; opened with ``OpenOption.SAVE_ALL_CONTEXT``. The message that was
                got from it last gives its context to this one.
            properties: of the message (NewMsgHandle).
            original: of the message that this one forwards, answers or reports (OriginalMsgHandle), as *action* says.
        """
        connection = self.connection
        if md is None:
            md = MQMD()
        else:
            MD.check(md, "MQPUT", self.handle.object_name)
        if type(body) is not bytes:
            refuse_data("MQPUT", self.handle.object_name, body)
        with connection.lock:
            handle, pmo = self._put_handle(), self._put_options(options, context)
            if properties is None and original is None and not (md.format and is_extended(md)):
                send = publish if isinstance(handle, TopicHandle) else putting.put
                self.warning = send(connection, handle, md, pmo, body)  # type: ignore[arg-type] # either has its function
            else:
                pmo.action = whole(action, MQRC.ACTION_ERROR, "MQPUT", self.name, "the action")
                self.warning = self._put_with_headers(handle, md, pmo, body, properties, original)
        return md

    def _put_with_headers(
        self,
        handle: Handle | TopicHandle,
        md: MQMD,
        pmo: MQPMO,
        body: bytes,
        properties: MessageHandle | None,
        original: MessageHandle | None,
    ) -> MQRC:
        """Put a message that has properties, or an MQMDE before its data."""

        def send(md: MQMD, body: bytes) -> MQRC:
            return _send(self.connection, handle, md, pmo, body)

        def send_with_properties(md: MQMD, body: bytes) -> MQRC:
            return put_with_properties(send, handle.object_name, md, pmo, body, original=original, new=properties)

        has_handles = properties is not None or original is not None
        chosen = send_with_properties if has_handles else send
        return put_message(self.connection, handle.object_name, chosen, md, pmo.options, body)

    def put_many(
        self,
        messages: Iterable[tuple[MQMD, bytes]],
        *,
        options: PutOption | int = 0,
        context: Queue | None = None,
    ) -> list[MQMD]:
        """MQPUT many in few round trips (100 messages or 1 MiB each); arguments as for ``put``.

        An alias of a topic publishes all of them or none.
        """
        batch, name = listed(messages), self.name
        for each in batch:
            # Nearly all are right, so no call is made to see that.
            if type(each) is not tuple or len(each) != 2:
                refuse_pair(each)
            if type(each[1]) is not bytes:
                refuse_data("MQPUT", name, each[1])
        mds = [md for md, _ in batch]
        MD.check_all(mds, "MQPUT", name)
        with self.connection.lock:
            handle, pmo, sent = self._put_handle(), self._put_options(options, context), batch
            # Most messages have no format, and then nothing is asked of each.
            if any(map(_format_of, mds)) and any(map(is_extended, mds)):
                sent = [described(self.connection, self.name, md, pmo.options, body) for md, body in batch]
            try:
                if isinstance(handle, Handle):
                    self.warning = putting.put_many(self.connection, handle, sent, pmo)
                else:
                    self.warning = publish_many(self.connection, handle, sent, pmo)
            finally:
                if sent is not batch:
                    for md, (copy, _) in zip(mds, sent, strict=True):
                        return_fields(md, copy)
        return mds

    def get(
        self,
        options: GetOption | int = 0,
        *,
        wait_ms: int = 0,
        match: MQMD | None = None,
        match_options: MatchOption | int | None = None,
        msg_token: bytes = NULL_MSG_TOKEN,
        max_length: int = getting.LENGTH_MAX,
        properties: MessageHandle | None = None,
    ) -> Message:
        """MQGET one message, taking or browsing it.

        Args:
            wait_ms: with ``GetOption.WAIT``; -1 waits for ever.
            match: descriptor whose fields *match_options* name (default: MsgId and CorrelId, nulls match anything).
            msg_token: of an earlier message, for ``MatchOption.MATCH_MSG_TOKEN``.
            properties: takes the properties of the message, which leave its data, unless *options* or PROPCTL of the
                queue say otherwise.

        Raises:
            MQIError: 2033 nothing fits, ...
        """
        gmo = self._gmo(options, wait_ms)
        if match_options is not None:
            gmo.match_options = whole(match_options, MQRC.MATCH_OPTIONS_ERROR, "MQGET", self.name, "the match options")
        if msg_token is not NULL_MSG_TOKEN:
            gmo.msg_token = msg_token
            GMO.check(gmo, "MQGET", self.name)
        if max_length is not getting.LENGTH_MAX:
            max_length = whole(max_length, MQRC.BUFFER_LENGTH_ERROR, "MQGET", self.name, "the length")
            if max_length < 0:
                raise error_for(MQRC.BUFFER_LENGTH_ERROR, "MQGET", self.name, f"{max_length} bytes")
        md = ANYTHING if match is None else match
        if match is not None:
            MD.check(match, "MQGET", self.name)
        with self.connection.lock:
            if properties is not None or gmo.options & PROPERTY_OPTIONS:
                return getting.get_with_properties(
                    self.connection, self.open_queue(), md, gmo, properties, max_length=max_length
                )
            return getting.get(self.connection, self.open_queue(), md, gmo, max_length=max_length)

    def messages(
        self, options: GetOption | int = 0, *, wait_ms: int = UNLIMITED_WAIT, match: MQMD | None = None
    ) -> Iterator[Message]:
        """Get one message after another, until none has come for *wait_ms*.

        Args:
            options: as of ``get``; WAIT and FAIL_IF_QUIESCING are added. With SYNCPOINT the program commits.

        Raises:
            MQIError: as for ``get``, but for 2033, which ends the iteration; 2161 the manager quiesces.
        """
        options = whole(options, MQRC.OPTIONS_ERROR, "MQGET", self.name) | GetOption.WAIT | GetOption.FAIL_IF_QUIESCING
        while True:
            try:
                message = self.get(options, wait_ms=wait_ms, match=match)
            except MQIError as error:
                if error.reason != MQRC.NO_MSG_AVAILABLE:
                    raise
                return
            yield message

    def __iter__(self) -> Iterator[Message]:
        return self.messages()

    def unlock(self) -> bool:
        """MQGET with MQGMO_UNLOCK: give up what this handle has locked; whether there was anything (else 2209)."""
        gmo = MQGMO(version=2, options=int(GetOption.UNLOCK))
        with self.connection.lock:
            return locking.unlock(self.connection, self.open_queue(MQRC.NOT_OPEN_FOR_BROWSE), gmo) == MQRC.NONE

    def get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[Message]:
        """Take up to *count* (1..100) messages in one round trip; at least one, else 2033."""
        gmo = self._gmo(options, wait_ms)
        with self.connection.lock:
            return getting.get_many(self.connection, self.open_queue(), gmo, self._count(count))

    def search_once(self) -> None:
        """Let the ``get_many`` calls from now on go through the queue once, if it was opened with a selector.

        Each goes on where the one before has found its first message. So it does not look again at messages that do not
        fit, and passes over messages that come in front of that place. Another call of this begins at the head again.
        """
        with self.connection.lock:
            gets = self.open_queue().gets
            gets.found_at = None if gets.selector is None else 0

    def take_unseen(self, count: int) -> int:
        """Take up to *count* messages under syncpoint without fetching them; see
        ``sharedq.calls.get.get.take_unseen``."""
        with self.connection.lock:
            return getting.take_unseen(self.connection, self.open_queue(), self._count(count))

    def commit_and_get(self, options: GetOption | int = 0, *, wait_ms: int = 0, match: MQMD | None = None) -> Message:
        """MQCMIT and the next MQGET in one round trip; a get that waits does so from the moment of the commit.

        The reason of the get comes after the commit: 2033, 2016 (GET(DISABLED)) and the like say that the unit of work
        is committed, and that no message was got. A commit that fails has reasons of its own: 2003, 2123, 2009.

        Args:
            match: descriptor whose MsgId and CorrelId the message must have, as for ``get``.
        """
        gmo = self._gmo(options, wait_ms)
        if match is not None:
            MD.check(match, "MQGET", self.name)
        with self.connection.lock:
            return getting.commit_and_get(self.connection, self.open_queue(), gmo, md=match)[0]

    def commit_and_get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[Message]:
        """MQCMIT and the next up to *count* (1..100) messages in one round trip.

        Reasons are those of ``commit_and_get``: 2033, committed and none there; 2016, committed and GET(DISABLED).
        """
        gmo = self._gmo(options, wait_ms)
        with self.connection.lock:
            return getting.commit_and_get(self.connection, self.open_queue(), gmo, self._count(count))

    def inquire(self, *selectors: IntSelector | CharSelector) -> dict[int, int | bytes]:
        """MQINQ: values by selector; character attributes are padded to their length.

        An attribute that a queue of its type does not have is -1, or asterisks.
        """
        with self.connection.lock:
            return inquire(self.connection, self.open_queue(MQRC.NOT_OPEN_FOR_INQUIRE), selectors)[0]

    def set(self, values: dict[int, int | bytes]) -> None:
        """MQSET: inhibit get or put, trigger attributes."""
        with self.connection.lock:
            set_attributes(self.connection, self.open_queue(MQRC.NOT_OPEN_FOR_SET), values)

    def close(self, options: CloseOption | int = 0) -> MQRC:
        """MQCLOSE.

        Returns:
            ``NONE``, or what was left unfinished in logical order (2241, 2242).
        """
        with self.connection.lock:
            if isinstance(self._opened, Handle):
                return opening.close_handle(self.connection, self._opened, options)
            self.connection.check()
            close_topic(self.connection, self._opened, options)
            return MQRC.NONE

    def open_queue(self, reason: MQRC = MQRC.NOT_OPEN_FOR_INPUT) -> Handle:
        """The handle of the queue.

        Raises:
            MQIError: 2019 it is closed; *reason*: it is the topic of an alias, open for publications only.
        """
        handle = self._put_handle()
        if isinstance(handle, Handle):
            return handle
        raise error_for(reason, "", self.name, "it stands for a topic")

    def _put_handle(self) -> Handle | TopicHandle:
        self.connection.check()
        if self._opened.is_closed:
            raise error_for(MQRC.HOBJ_ERROR, "", self.name, "it is closed")
        return self._opened

    def _put_options(self, options: PutOption | int, context: Queue | None) -> MQPMO:
        pmo, name = self._pmo, self.handle.object_name
        if options is not self._put_asked[0]:
            self._put_asked = options, whole(options, MQRC.OPTIONS_ERROR, "MQPUT", name)
        pmo.options = self._put_asked[1]
        pmo.context = 0 if context is None else context_number(self.connection, context, name)
        return pmo

    def _gmo(self, options: GetOption | int, wait_ms: int) -> MQGMO:
        # Read once: this is before the turn of the call, so another thread may ask for something else meanwhile.
        asked = self._get_asked
        if options is not asked[0] or wait_ms is not asked[1]:
            name = self.handle.object_name
            number = whole(options, MQRC.OPTIONS_ERROR, "MQGET", name)
            wait = whole(wait_ms, MQRC.WAIT_INTERVAL_ERROR, "MQGET", name, "the wait interval")
            self._get_asked = asked = (options, wait_ms, number, wait)
        return MQGMO(2, asked[2], asked[3])

    def _count(self, count: int) -> int:
        return whole(count, MQRC.OPTIONS_ERROR, "MQGET", self.name, "the number of messages")


def _send(connection: Connection, handle: Handle | TopicHandle, md: MQMD, pmo: MQPMO, body: bytes) -> MQRC:
    if isinstance(handle, Handle):
        return putting.put(connection, handle, md, pmo, body)
    return publish(connection, handle, md, pmo, body)


def context_number(connection: Connection, context: Queue | None, name: str) -> int:
    """The handle that PASS_*_CONTEXT names. Raises MQIError: 2097, it is none of this connection."""
    refuse_other(Queue, MQRC.CONTEXT_HANDLE_ERROR, context, "MQPUT", name)
    if context is None:
        return 0
    if context.connection is not connection:
        raise error_for(MQRC.CONTEXT_HANDLE_ERROR, "MQPUT", name, f"{context.name} is open on another connection")
    return context.handle.number


def refuse_put(verb: str, name: str, md: MQMD | None, body: bytes) -> None:
    """Refuse what is no message. Raises MQIError: 2026 the descriptor, 2004 the data."""
    if md is not None:
        MD.check(md, verb, name)
    if type(body) is not bytes:
        refuse_data(verb, name, body)
