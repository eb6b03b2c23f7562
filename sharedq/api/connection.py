"""Connections of the native API: MQCONNX, MQOPEN, MQPUT1, MQSUB, units of work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType

from sharedq.api.distribution import DistributionList
from sharedq.api.queue import Queue, refuse_put
from sharedq.api.topics import Subscription, Topic
from sharedq.calls.handles import open as opening
from sharedq.calls.handles.connect import connect_to, disconnect
from sharedq.calls.put.distribution import open_list
from sharedq.calls.topics import open as topics
from sharedq.calls.topics import subscribe as subscribing
from sharedq.calls.topics.alias import open_named
from sharedq.calls.unit import in_doubt
from sharedq.calls.unit.commit import backout, commit
from sharedq.members.group import Group
from sharedq.mqi.arguments import refuse_other, refuse_structure, text, whole
from sharedq.mqi.constants import (
    MQRC,
    ConnectOption,
    ObjectType,
    OpenOption,
    SubOption,
)
from sharedq.mqi.errors import error_for
from sharedq.mqi.options import check_put_options, split_put1_options
from sharedq.mqi.structures import MQMD, MQOD, MQOR, MQRR, MQSD
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.settings import STARTERS
from sharedq.settings.loader import load_settings
from sharedq.settings.values import Settings

_groups: dict[Settings, Group] = {}
_groups_lock = threading.Lock()


def group_for(settings: Settings | None = None) -> Group:
    """The group of these settings (default: environment and file), one for the process.

    Raises:
        MQIError: 2139, these are no settings.
    """
    refuse_other(Settings, MQRC.CNO_ERROR, settings, "MQCONNX")
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
        STARTERS["tracing"]()
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
        """MQOPEN: *name*, at the manager *qmgr_name* or here. An alias with TARGTYPE(TOPIC) is open for publications.

        Args:
            dynamic_name: for a model queue: the name of the queue to make, or its beginning and ``*``. The complete
                name is the queue's `resolved_name`.
            selector: the selection string, such as ``colour = 'red' AND Root.MQMD.Priority > 3``: gets and browses see
                the messages that it is true of.
        """
        text(selector, MQRC.SELECTION_STRING_ERROR, "MQOPEN", "the selector")
        od = MQOD(version=4, dynamic_q_name=_name(dynamic_name), selection_string=selector)
        return self._open(od, name, qmgr_name, options)

    def open_each(self, name: str, options: OpenOption | int, *, selector: str = "") -> list[Queue]:
        """MQOPEN of every queue of an alias with SPREAD, so that a program gets from all; of another name, the one.

        Args:
            selector: as for `open`.
        """
        text(selector, MQRC.SELECTION_STRING_ERROR, "MQOPEN", "the selector")
        with self.connection.lock:
            given = whole(options, MQRC.OPTIONS_ERROR, "MQOPEN", name)
            handles = opening.open_each(self.connection, name, given, selector)
            return [Queue(self.connection, handle) for handle in handles]

    def put1(
        self,
        name: str,
        body: bytes,
        md: MQMD | None = None,
        *,
        qmgr_name: str = "",
        options: int = 0,
        properties: MessageHandle | None = None,
        alternate_user: str = "",
    ) -> MQMD:
        """MQPUT1: open, put one message, close. Logical order needs a handle that stays open (2046).

        Args:
            alternate_user: with ``ALTERNATE_USER_AUTHORITY``, the user whose authority counts.
        """
        given = whole(options, MQRC.OPTIONS_ERROR, "MQPUT1", "")
        refused = check_put_options(given, is_put1=True)
        if refused:
            raise error_for(refused, "MQPUT1", name)
        refuse_put("MQPUT1", "", md, body)
        open_options, put_options = split_put1_options(given)
        od = MQOD(alternate_user_id=_name(alternate_user))
        with self._open(od, name, qmgr_name, open_options, is_put1=True) as queue:
            return queue.put(body, md, options=put_options, properties=properties)

    def _open(self, od: MQOD, name: str, qmgr_name: str, options: OpenOption | int, *, is_put1: bool = False) -> Queue:
        od.object_name, od.object_q_mgr_name = _name(name), _name(qmgr_name)
        with self.connection.lock:
            return Queue(self.connection, open_named(self.connection, od, options, is_put1=is_put1))

    def open_list(
        self, destinations: Iterable[str | tuple[str, str]], options: OpenOption | int = OpenOption.OUTPUT
    ) -> DistributionList:
        """MQOPEN of a distribution list: a put goes to all of its queues, in one unit of work.

        Args:
            destinations: names of queues, each by itself or with the name of its queue manager.

        Raises:
            MQIError: 2154 there are none, 2155 one is no name; what every one of them was refused for, or 2136 if for
                different reasons. If some are open, the list's `warning` is 2136, and its `responses` tell the rest.
        """
        if isinstance(destinations, str) or not isinstance(destinations, Iterable):
            detail = f"the destinations are {type(destinations).__name__}, must be a list"
            raise error_for(MQRC.OBJECT_RECORDS_ERROR, "MQOPEN", "", detail)
        records = [_destination(each) for each in destinations]
        if not records:
            raise error_for(MQRC.RECS_PRESENT_ERROR, "MQOPEN", "", "a distribution list needs a destination")
        responses = [MQRR() for _ in records]
        od = MQOD(version=2, recs_present=len(records), object_records=records, response_records=responses)
        with self.connection.lock:
            self.connection.check()
            return DistributionList(self.connection, open_list(self.connection, od, options), responses)

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
        string = text(topic_string, MQRC.TOPIC_STRING_ERROR, "MQOPEN", "the topic string").encode()
        od = MQOD(object_type=int(ObjectType.TOPIC), object_name=_name(name), object_string=string)
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
        refuse_structure(MQSD, MQRC.SD_ERROR, sd, "MQSUB")
        refuse_other(Queue, MQRC.HOBJ_ERROR, queue, "MQSUB")
        if queue is not None and queue.connection is not self.connection:
            raise error_for(MQRC.HOBJ_ERROR, "MQSUB", queue.name, "it is open on another connection")
        sd.options = whole(options, MQRC.OPTIONS_ERROR, "MQSUB", "")
        sd.sub_name = text(name, MQRC.SUB_NAME_ERROR, "MQSUB", "the name").encode()
        sd.object_string = text(topic_string, MQRC.TOPIC_STRING_ERROR, "MQSUB", "the topic string").encode()
        sd.object_name = _name(topic)
        with self.connection.lock:
            self.connection.check()
            handle = subscribing.subscribe(
                self.connection, sd, None if queue is None else queue.open_queue(MQRC.HOBJ_ERROR)
            )
            return Subscription(self.connection, handle, queue)

    def commit(self) -> None:
        """MQCMIT. Raises MQIError: 2003 backed out instead; 2009 unknown."""
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
        batch: in_doubt.UnitBatch | None = None,
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
        self, xids: Sequence[bytes], batch: in_doubt.UnitBatch | None = None, *, for_group: bool = False
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
        self, xids: Sequence[bytes], batch: in_doubt.UnitBatch | None = None, *, for_group: bool = False
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

        Raises:
            MQIError: 2018 it is disconnected already; 2003 backed out instead; 2009 unknown.
        """
        self.connection.end_callbacks()
        with self.connection.lock:
            return disconnect(self.connection)

    def __enter__(self) -> QueueManagerConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.connection.is_disconnected:
            return
        self.connection.end_callbacks()
        with self.connection.lock:
            if error is not None and not self.connection.is_ended:
                backout(self.connection)
            disconnect(self.connection)


#: Makes a connection of a program; ``sharedq.tracing.connections`` sets another one.
make_connection: Callable[[Connection], QueueManagerConnection] = QueueManagerConnection


def _destination(given: object) -> MQOR:
    """The record of a queue, named by itself or with its manager. Raises MQIError: 2155, it is neither."""
    match given:
        case str():
            return MQOR(_name(given))
        case (str() as queue, str() as qmgr):
            return MQOR(_name(queue), _name(qmgr))
    detail = f"a destination is {given!r}, must be a name or a pair of names"
    raise error_for(MQRC.OBJECT_RECORDS_ERROR, "MQOPEN", "", detail)


def _name(name: str) -> bytes:
    return text(name, MQRC.OBJECT_NAME_ERROR, "MQOPEN", "a name").encode()
