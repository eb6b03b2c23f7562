"""The native Python API: connections and queues as objects, over the MQI underneath.

with sharedq.connect("EWR") as connection, connection.open("FLIGHTS", OpenOption.INPUT_SHARED) as flights:
    message = flights.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=5000)
    connection.commit()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from types import TracebackType

from sharedq.calls.get import get as getting
from sharedq.calls.get import lock as locking
from sharedq.calls.get.properties import PROPERTY_OPTIONS
from sharedq.calls.handles import open as opening
from sharedq.calls.handles import subscriptions
from sharedq.calls.handles.connect import connect_to, disconnect
from sharedq.calls.handles.inquire import inquire, set_attributes
from sharedq.calls.put import put as putting
from sharedq.calls.put.properties import put_with_properties
from sharedq.calls.topics import open as topics
from sharedq.calls.topics import publish as publishing
from sharedq.calls.topics import subscribe as subscribing
from sharedq.calls.unit import in_doubt
from sharedq.calls.unit.commit import backout, commit
from sharedq.members.group import Group
from sharedq.messages.message import Message
from sharedq.mqi.arguments import refuse_pair, refuse_types
from sharedq.mqi.constants import (
    MQRC,
    CharSelector,
    CloseOption,
    ConnectOption,
    GetOption,
    IntSelector,
    MatchOption,
    ObjectType,
    OpenOption,
    PutAction,
    PutOption,
    SubOption,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_MSG_TOKEN, UNLIMITED_WAIT
from sharedq.mqi.options import check_put_options, split_put1_options
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO, MQSD
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.topics import SubscriptionHandle, TopicHandle
from sharedq.settings.loader import load_settings
from sharedq.settings.values import Settings

_groups: dict[Settings, Group] = {}
_groups_lock = threading.Lock()


def group_for(settings: Settings | None = None) -> Group:
    """The group of these settings (default: environment and file), one for the process."""
    settings = settings or load_settings()
    with _groups_lock:
        group = _groups.get(settings)
        if group is None:
            group = _groups[settings] = Group(settings)
        return group


def connect(
    qmgr_name: str = "",
    *,
    conn_tag: bytes = b"",
    options: ConnectOption | int = 0,
    appl_name: str = "",
    settings: Settings | None = None,
) -> QueueManagerConnection:
    """Connect to a queue manager, or by the group's name to any running member (MQCONNX).

    Args:
        conn_tag: connection tag, at most 128 bytes; used with ``ConnectOption.SERIALIZE_CONN_TAG_*`` or
            ``RESTRICT_CONN_TAG_*``.

    Raises:
        MQIError: 2058 unknown, 2059 not running, or Redis is not reachable; 2035 Redis refuses us; 2161 quiescing, 2271
            tag in use, 2350 tag not usable.
        DeploymentError: Redis cannot be used as configured.
        ConfigError: the setting ``tracing`` is on and its extra, or the exporter, is not installed.
    """
    group = group_for(settings)
    if group.settings.tracing and make_connection is QueueManagerConnection:
        # By its name: it wraps what is here, and is not even imported while tracing is off.
        import_module("sharedq.tracing.connections").trace_connections()
    return make_connection(connect_to(group, qmgr_name, tag=conn_tag, options=options, appl_name=appl_name))


class QueueManagerConnection:
    """A connection to a queue manager. Leaving its ``with`` block commits, or backs out after an exception."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def qmgr_name(self) -> str:
        """The manager connected to."""
        return self.connection.qmgr_name

    def open(
        self,
        name: str,
        options: OpenOption | int,
        *,
        qmgr_name: str = "",
        dynamic_name: str = "CSQ.*",
        selector: str = "",
    ) -> Queue:
        """MQOPEN: *name*, at the manager *qmgr_name* or here.

        Args:
            dynamic_name: for a model queue: the name of the queue to make, or its beginning and ``*``. The complete
                name is the queue's `resolved_name`.
            selector: the selection string, such as ``colour = 'red' AND Root.MQMD.Priority > 3``: gets and browses see
                the messages that it is true of.
        """
        od = MQOD(version=4, dynamic_q_name=_name(dynamic_name), selection_string=selector)
        return self._open(od, name, qmgr_name, options, may_create=True)

    def put1(
        self,
        name: str,
        body: bytes,
        md: MQMD | None = None,
        *,
        qmgr_name: str = "",
        options: int = 0,
        properties: MessageHandle | None = None,
    ) -> MQMD:
        """MQPUT1: open, put one message, close. Logical order needs a handle that stays open (2046)."""
        refused = check_put_options(int(options), is_put1=True)
        if refused:
            raise error_for(refused, "MQPUT1", name)
        open_options, put_options = split_put1_options(int(options))
        with self._open(MQOD(), name, qmgr_name, open_options, may_create=False) as queue:
            return queue.put(body, md, options=put_options, properties=properties)

    def _open(self, od: MQOD, name: str, qmgr_name: str, options: OpenOption | int, *, may_create: bool) -> Queue:
        od.object_name, od.object_q_mgr_name = _name(name), _name(qmgr_name)
        with self.connection.lock:
            return Queue(self.connection, opening.open_queue(self.connection, od, options, may_create=may_create))

    def open_topic(
        self, topic_string: str = "", *, name: str = "", options: OpenOption | int = OpenOption.OUTPUT
    ) -> Topic:
        """MQOPEN of a topic for publications.

        Args:
            topic_string: the topic string, or the rest of it below that of the topic object *name*.
            name: of a topic object (DEFINE TOPIC).

        Raises:
            MQIError: 2085 no such topic object; 2425 no topic string; 2045, 2046 options.
        """
        od = MQOD(object_type=int(ObjectType.TOPIC), object_name=_name(name), object_string=topic_string.encode())
        with self.connection.lock:
            self.connection.check()
            return Topic(self.connection, topics.open_topic(self.connection, od, options))

    def subscribe(
        self,
        topic_string: str = "",
        *,
        topic: str = "",
        name: str = "",
        options: SubOption | int = SubOption.CREATE | SubOption.MANAGED,
        queue: Queue | None = None,
        descriptor: MQSD | None = None,
    ) -> Subscription:
        """MQSUB: make a subscription, or resume or alter one.

        Args:
            topic_string: the topic string, with wildcards; or the rest of it below that of the topic object *topic*.
            name: of the subscription; a durable one needs one.
            options: by default a subscription that is not durable, with a queue that goes with it.
            queue: the destination, without ``SubOption.MANAGED``.
            descriptor: for everything else that a subscription says, such as ``pub_priority``; the call leaves there
                what MQSUB does.

        Raises:
            MQIError: as for ``sharedq.calls.topics.subscribe.subscribe``.
        """
        sd = MQSD() if descriptor is None else descriptor
        sd.options, sd.sub_name = int(options), name.encode()
        sd.object_name, sd.object_string = _name(topic), topic_string.encode()
        with self.connection.lock:
            self.connection.check()
            handle = subscribing.subscribe(self.connection, sd, None if queue is None else queue._open_handle())
            return Subscription(self.connection, handle, queue)

    def commit(self) -> None:
        """MQCMIT.

        Raises:
            MQIError: 2003 backed out instead; 2009 unknown.
        """
        with self.connection.lock:
            self.connection.check()
            commit(self.connection)

    def backout(self) -> None:
        """MQBACK."""
        with self.connection.lock:
            self.connection.check()
            backout(self.connection, by_program=True)

    def prepare(
        self,
        xid: bytes,
        batch: in_doubt.Batch | None = None,
        *,
        must_be_read: bool = False,
        for_group: bool = False,
    ) -> int:
        """Prepare the unit of work for an external coordinator. It is in doubt as *xid* until that id is ended.

        After this, neither this program's death nor the manager's backs it out. The next unit of work begins.

        Args:
            must_be_read: `commit_prepared_together` refuses until some program has read its messages. So a program that
                commits messages that others read, such as a streaming query, does not lose what they skipped.
            for_group: GROUP disposition: a connection to any member can end it. Otherwise only this manager's can,
                or any member's while this manager is not running.

        Returns:
            The number of messages in doubt. 0 if there was nothing to prepare; *xid* is unused then.

        Raises:
            XAError: XAER_DUPID the id is or was recently in doubt; XAER_PROTO *batch* was decided; nothing has changed.
                XAER_INVAL not 1 to 128 bytes.
            MQIError: 2003 backed out instead; 2009 unknown.
        """
        with self.connection.lock:
            self.connection.check()
            return in_doubt.prepare(self.connection, xid, batch, must_be_read=must_be_read, for_group=for_group)

    def commit_prepared(self, xid: bytes, *, qmgr: str = "") -> bool:
        """Commit the unit of work prepared as *xid*, over this or any other connection of the manager.

        Args:
            qmgr: the manager at which it was prepared; default: this one. Another one must not be running (2222). With
                GROUP disposition, the group's name.

        Returns:
            False if it was already committed. A repetition does no harm.

        Raises:
            XAError: XAER_NOTA no such id (or it ended long ago); XA_HEURRB it was backed out, or all of its work is
                lost with its structures; XA_HEURMIX committed, except its work in a structure that has failed.
            MQIError: 2009 unknown; repeat the call over a new connection.
        """
        return self._end_prepared(xid, "C", qmgr)

    def backout_prepared(self, xid: bytes, *, qmgr: str = "") -> bool:
        """Back out the unit of work prepared as *xid*; see `commit_prepared`. XA_HEURCOM: it was committed."""
        return self._end_prepared(xid, "B", qmgr)

    def _end_prepared(self, xid: bytes, outcome: in_doubt.Outcome, qmgr: str = "") -> bool:
        with self.connection.lock:
            self.connection.check()
            return in_doubt.end_prepared(self.connection, xid, outcome, qmgr=qmgr)

    def commit_prepared_together(
        self, xids: Sequence[bytes], batch: in_doubt.Batch | None = None, *, for_group: bool = False
    ) -> bool:
        """Commit all units of work prepared as *xids*, or none of them; see
        ``sharedq.calls.unit.in_doubt.commit_together``.

        Returns:
            False if *batch*, or a later one of its series, was committed before; nothing has changed.

        Raises:
            XAError: XAER_NOTA, XA_HEURRB one of them cannot be committed, so none is. XAER_PROTO they had to be read,
                and no program has read any of them. XAER_INVAL too many.
            MQIError: 2123 committed, except the work in structures that have failed; 2009 unknown; repeat the call over
                a new connection.
        """
        with self.connection.lock:
            self.connection.check()
            return in_doubt.commit_together(self.connection, xids, batch, for_group=for_group)

    def decide_prepared_together(
        self, xids: Sequence[bytes], batch: in_doubt.Batch | None = None, *, for_group: bool = False
    ) -> list[in_doubt.PreparedUnit] | None:
        """Do the first half of `commit_prepared_together`: after it these units can only be committed.

        Returns:
            The units to call `complete_prepared` with, over this connection. If it is lost before that, the group
            completes them. None if *batch*, or a later one of its series, was committed before.
        """
        with self.connection.lock:
            self.connection.check()
            return in_doubt.decide_together(self.connection, xids, batch, for_group=for_group)

    def complete_prepared(self, unit: in_doubt.PreparedUnit) -> bool:
        """Carry out the decision about *unit*; see ``sharedq.calls.unit.in_doubt.complete``.

        Returns:
            False if a part of a commit is lost with a structure that has failed.
        """
        with self.connection.lock:
            self.connection.check()
            return in_doubt.complete(self.connection, unit) == unit.outcome

    def recover(self) -> list[in_doubt.PreparedUnit]:
        """The manager's units of work in doubt, the oldest first (xa_recover)."""
        with self.connection.lock:
            self.connection.check()
            return in_doubt.prepared_units(self.connection.group, self.qmgr_name)

    def disconnect(self) -> MQRC:
        """MQDISC: commits what is outstanding.

        Returns:
            ``NONE``, or 2344: the tag is not free, because the group has still to complete what is committed, or
            something is in doubt.
        """
        self.connection.end_callbacks()
        with self.connection.lock:
            return disconnect(self.connection)

    def __enter__(self) -> QueueManagerConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.connection.end_callbacks()
        with self.connection.lock:
            if error is not None and not self.connection.is_ended:
                backout(self.connection)
            disconnect(self.connection)


#: Makes a connection of a program; ``sharedq.tracing.connections`` sets another one.
make_connection: Callable[[Connection], QueueManagerConnection] = QueueManagerConnection


class Queue:
    """An open queue.

    Attributes:
        warning: of the latest ``put`` or ``put_many``, such as 2049; ``NONE`` without a warning.
    """

    def __init__(self, connection: Connection, handle: Handle) -> None:
        self.connection, self.handle = connection, handle
        self.warning = MQRC.NONE

    @property
    def name(self) -> str:
        """The name it was opened by."""
        return self.handle.object_name

    @property
    def resolved_name(self) -> str:
        """The queue that the name stands for: the target of an alias, or the queue that was made from a model."""
        return self.handle.destination.decode() or self.handle.name

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
            context: for ``PutOption.PASS_*_CONTEXT``; opened with ``OpenOption.SAVE_ALL_CONTEXT``. What was got from it
                last gives its context to this message.
            properties: of the message (NewMsgHandle).
            original: of the message that this one forwards, answers or reports (OriginalMsgHandle), as *action* says.
        """
        md = MQMD() if md is None else md
        try:
            with self.connection.lock:
                pmo = _pmo(options, context)
                if properties is not None or original is not None:
                    pmo.action = int(action)
                    self.warning = put_with_properties(
                        self.connection, self._open_handle(), md, pmo, body, original=original, new=properties
                    )
                else:
                    self.warning = putting.put(self.connection, self._open_handle(), md, pmo, body)
        except (TypeError, AttributeError):
            refuse_types("MQPUT", self.name, md, body)
            raise
        return md

    def put_many(
        self,
        messages: Iterable[tuple[MQMD, bytes]],
        *,
        options: PutOption | int = 0,
        context: Queue | None = None,
    ) -> list[MQMD]:
        """MQPUT many in few round trips (100 messages or 1 MiB each); arguments as for ``put``."""
        batch = list(messages)
        try:
            with self.connection.lock:
                self.warning = putting.put_many(self.connection, self._open_handle(), batch, _pmo(options, context))
        except (TypeError, AttributeError, ValueError):
            for each in batch:
                refuse_pair(each)
                refuse_types("MQPUT", self.name, *each)
            raise
        return [md for md, _ in batch]

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
        gmo = MQGMO(version=2, options=int(options), wait_interval=wait_ms, msg_token=msg_token)
        if match_options is not None:
            gmo.match_options = int(match_options)
        md = MQMD(version=2) if match is None else match
        try:
            with self.connection.lock:
                if properties is not None or gmo.options & PROPERTY_OPTIONS:
                    return getting.get_with_properties(
                        self.connection, self._open_handle(), md, gmo, properties, max_length=max_length
                    )
                return getting.get(self.connection, self._open_handle(), md, gmo, max_length=max_length)
        except (TypeError, AttributeError):
            refuse_types("MQGET", self.name, md)
            raise

    def messages(
        self, options: GetOption | int = 0, *, wait_ms: int = UNLIMITED_WAIT, match: MQMD | None = None
    ) -> Iterator[Message]:
        """Get one message after another, until none has come for *wait_ms*.

        Args:
            options: as of ``get``; WAIT and FAIL_IF_QUIESCING are added. With SYNCPOINT the program commits.

        Raises:
            MQIError: as for ``get``, but for 2033, which ends the iteration; 2161 the manager quiesces.
        """
        options = int(options) | GetOption.WAIT | GetOption.FAIL_IF_QUIESCING
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
            return locking.unlock(self.connection, self._open_handle(), gmo) == MQRC.NONE

    def get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[Message]:
        """Take up to *count* (1..100) messages in one round trip; at least one, else 2033."""
        gmo = MQGMO(version=2, options=int(options), wait_interval=wait_ms)
        with self.connection.lock:
            return getting.get_many(self.connection, self._open_handle(), gmo, count)

    def take_unseen(self, count: int) -> int:
        """Take up to *count* messages under syncpoint without fetching them; see
        ``sharedq.calls.get.get.take_unseen``."""
        with self.connection.lock:
            return getting.take_unseen(self.connection, self._open_handle(), count)

    def commit_and_get(self, options: GetOption | int = 0, *, wait_ms: int = 0, match: MQMD | None = None) -> Message:
        """MQCMIT and the next MQGET in one round trip; a get that waits does so from the moment of the commit.

        Args:
            match: descriptor whose MsgId and CorrelId the message must have, as for ``get``.
        """
        gmo = MQGMO(version=2, options=int(options), wait_interval=wait_ms)
        try:
            with self.connection.lock:
                return getting.commit_and_get(self.connection, self._open_handle(), gmo, md=match)[0]
        except (TypeError, AttributeError):
            refuse_types("MQGET", self.name, match or MQMD())
            raise

    def commit_and_get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[Message]:
        """MQCMIT and the next up to *count* (1..100) messages in one round trip; 2033: committed, none there."""
        gmo = MQGMO(version=2, options=int(options), wait_interval=wait_ms)
        with self.connection.lock:
            return getting.commit_and_get(self.connection, self._open_handle(), gmo, count)

    def inquire(self, *selectors: IntSelector | CharSelector) -> dict[int, int | bytes]:
        """MQINQ: values by selector; character attributes are padded to their length.

        An attribute that a queue of its type does not have is -1, or asterisks.
        """
        with self.connection.lock:
            return inquire(self.connection, self._open_handle(), selectors)[0]

    def set(self, values: dict[int, int | bytes]) -> None:
        """MQSET: inhibit get or put, trigger attributes."""
        with self.connection.lock:
            set_attributes(self.connection, self._open_handle(), values)

    def close(self, options: CloseOption | int = 0) -> MQRC:
        """MQCLOSE.

        Returns:
            ``NONE``, or what was left unfinished in logical order (2241, 2242).
        """
        with self.connection.lock:
            return opening.close_handle(self.connection, self.handle, options)

    def _open_handle(self) -> Handle:
        self.connection.check()
        if self.handle.is_closed:
            raise error_for(MQRC.HOBJ_ERROR, "", self.name, "it is closed")
        return self.handle

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self.handle.is_closed and not self.connection.is_ended:
            self.close()


class Topic:
    """A topic that is open for publications.

    Attributes:
        warning: of the latest ``publish``: 2550, or ``NONE``.
    """

    def __init__(self, connection: Connection, handle: TopicHandle) -> None:
        self.connection, self.handle = connection, handle
        self.warning = MQRC.NONE

    @property
    def topic_string(self) -> str:
        """The whole topic string."""
        return self.handle.topic_string

    def publish(self, body: bytes, md: MQMD | None = None, *, options: PutOption | int = 0) -> MQMD:
        """MQPUT: publish one message; returns its descriptor.

        Args:
            options: ``PutOption.RETAIN`` keeps it for later subscriptions; with ``PutOption.SYNCPOINT`` it is a part of
                the unit of work.

        Raises:
            MQIError: 2051 the topic inhibits it; 2502 a subscription that must get it cannot; ...
        """
        md = MQMD() if md is None else md
        try:
            with self.connection.lock:
                self.warning = publishing.publish(self.connection, self.handle, md, MQPMO(options=int(options)), body)
        except (TypeError, AttributeError):
            refuse_types("MQPUT", self.topic_string, md, body)
            raise
        return md

    def close(self) -> None:
        """MQCLOSE."""
        with self.connection.lock:
            self.connection.check()
            topics.close_topic(self.handle)

    def __enter__(self) -> Topic:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self.handle.is_closed and not self.connection.is_ended:
            self.close()


class Subscription:
    """An open subscription.

    Attributes:
        queue: where its publications are got from.
    """

    def __init__(self, connection: Connection, handle: SubscriptionHandle, queue: Queue | None) -> None:
        self.connection, self.handle = connection, handle
        self.queue = queue if handle.queue is None else Queue(connection, handle.queue)

    @property
    def topic_string(self) -> str:
        """The whole topic string."""
        return self.handle.subscription.topic_string

    def get(self, options: GetOption | int = 0, *, wait_ms: int = 0) -> Message:
        """MQGET of a publication from the queue. Raises MQIError: 2033 there is none; as for ``Queue.get``."""
        if self.queue is None:
            raise error_for(MQRC.HOBJ_ERROR, "MQGET", self.topic_string, "it has no queue here")
        return self.queue.get(options, wait_ms=wait_ms)

    def request(self) -> int:
        """MQSUBRQ: have retained publications sent again. Returns how many. Raises MQIError: 2437, none."""
        with self.connection.lock:
            self.connection.check()
            return subscribing.request(self.connection, self.handle)

    def close(self, options: CloseOption | int = 0) -> None:
        """MQCLOSE, of the queue too if MQSUB opened it.

        Args:
            options: ``CloseOption.REMOVE_SUB`` ends a durable subscription, which stays otherwise.
        """
        with self.connection.lock:
            self.connection.check()
            queue = self.handle.queue
            if queue is not None and not queue.is_closed:
                opening.close_handle(self.connection, queue)
            subscriptions.close_subscription(self.connection, self.handle, int(options))

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self.handle.is_closed and not self.connection.is_ended:
            self.close()


def _name(name: str) -> bytes:
    if not isinstance(name, str):
        raise error_for(MQRC.OBJECT_NAME_ERROR, "MQOPEN", repr(name), f"a name is str, not {type(name).__name__}")
    return name.encode()


def _pmo(options: PutOption | int, context: Queue | None) -> MQPMO:
    return MQPMO(options=int(options), context=0 if context is None else context.handle.number)
