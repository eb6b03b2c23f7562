"""``Topic`` and ``Subscription``: publications to a topic, and what comes from it."""

from __future__ import annotations

import ctypes
from typing import Any

from sharedq import verbs
from sharedq.mqi.constants import MQCC
from sharedq.mqi.structures import MQMD, MQPMO, MQSD, MQSRO
from sharedq.pymqi import CMQC
from sharedq.pymqi.boundary import checked, ensure_bytes, ensure_not_unicode
from sharedq.pymqi.connection.hconn import Hconn
from sharedq.pymqi.connection.messages import common_q_args, put_message
from sharedq.pymqi.connection.queue import Queue, with_headers
from sharedq.pymqi.connection.queue_manager import QueueManager
from sharedq.pymqi.errors import PYIFError, check, fail
from sharedq.pymqi.structures.descriptors import OD, SD, SRO, object_descriptor
from sharedq.pymqi.structures.options import MQOpts
from sharedq.session.handle import Handle
from sharedq.session.topics import SubscriptionHandle, TopicHandle

_NEW = CMQC.MQSO_CREATE | CMQC.MQSO_NON_DURABLE | CMQC.MQSO_MANAGED


@checked
class Topic:
    """A topic of a connected queue manager, opened at once if open options are given, else by ``pub``.

    Args:
        topic_name: of a topic object.
        topic_string: the topic string, or the rest of it below that of the topic object.
        topic_desc: an MQOD with both, instead; its ObjectType is MQOT_TOPIC, its Version 4.
        open_opts: MQOO_* options.

    Raises:
        PYIFError: *topic_desc* is not one of a topic.
        MQMIError: 2085 no such topic object; 2425 no topic string; 2045, 2046 the options.
    """

    def __init__(
        self,
        queue_manager: QueueManager,
        topic_name: str | bytes | None = None,
        topic_string: str | bytes | None = None,
        topic_desc: OD | None = None,
        open_opts: int | None = None,
    ) -> None:
        self.__qmgr = queue_manager
        self.__handle: TopicHandle | None = None
        self.__hconn: Hconn | None = None
        self.topic_name, self.topic_string = ensure_bytes(topic_name), ensure_bytes(topic_string)
        if topic_desc is not None:
            _check_descriptor(topic_desc)
        self.__od = topic_desc or _descriptor(self.topic_name, self.topic_string)
        if open_opts:
            self.__open(open_opts)

    def __del__(self) -> None:
        # An exception in __init__ may have left nothing here.
        hconn, handle = self.__dict__.get("_Topic__hconn"), self.__dict__.get("_Topic__handle")
        if hconn is not None and handle is not None:
            hconn.drop_handle(handle.number)

    def open(
        self,
        topic_name: str | bytes | None = None,
        topic_string: str | bytes | None = None,
        topic_desc: OD | None = None,
        open_opts: int | None = None,
    ) -> None:
        """MQOPEN; without options the topic is opened by ``pub``."""
        if self.__handle is not None:
            raise PYIFError("the topic is already open")
        self.topic_name = ensure_bytes(topic_name) or self.topic_name
        self.topic_string = ensure_bytes(topic_string) or self.topic_string
        self.__od = topic_desc or _descriptor(self.topic_name, self.topic_string)
        if open_opts:
            self.__open(open_opts)

    def __open(self, options: int) -> None:
        hconn = self.__qmgr._hconn()
        od = object_descriptor(self.__od)
        od.object_string = string_of(self.__od, "ObjectString")
        handle, comp, reason = hconn.call(verbs.mqopen, od, options)
        check(comp, reason)
        if not isinstance(handle, TopicHandle):
            raise PYIFError("a Topic is for topics, not for other objects")
        self.__od.return_vs("ResObjectString", od.res_object_string)
        self.__hconn, self.__handle = hconn, handle

    def pub(self, msg: bytes, *opts: MQOpts | None) -> None:
        """MQPUT: publish a message.

        Args:
            opts: the message descriptor and the put-message options, both optional; they return what the call
                left in them.
        """
        ensure_not_unicode(msg)
        descriptor, options = common_q_args(*opts)
        if self.__handle is None:
            self.__open(CMQC.MQOO_OUTPUT)
        handle, hconn = self.__handle, self.__qmgr._hconn()
        if handle is None or hconn is not self.__hconn:
            fail(CMQC.MQRC_HOBJ_ERROR)

        def call(md: MQMD, pmo: MQPMO, data: bytes) -> verbs.Outcome:
            return hconn.call(verbs.mqput, handle, md, pmo, data)

        put_message(call, descriptor, options, msg)

    def pub_rfh2(self, msg: bytes, *opts: Any) -> None:
        """Publish *msg* after MQRFH2 headers; see ``Queue.put_rfh2``."""
        self.pub(with_headers(msg, *opts), *opts[:2])

    def sub(self, *opts: Any) -> Subscription:
        """Subscribe to the topic. *opts*: an ``SD``, and the queue for publications, both optional."""
        descriptor, queue = (*opts, None, None)[:2]
        subscription = Subscription(self.__qmgr)
        subscription.sub(descriptor, queue, topic_name=self.topic_name, topic_string=self.topic_string)
        return subscription

    def close(self, options: int = CMQC.MQCO_NONE) -> None:
        """MQCLOSE. The topic must be named again before it is opened again."""
        if self.__handle is None or self.__hconn is None:
            raise PYIFError("Topic not open.")
        check(*self.__hconn.call(verbs.mqclose, self.__handle, options))
        self.__handle = self.__hconn = None


@checked
class Subscription:
    """A subscription, made at once if a descriptor is given, else by ``sub``.

    Args:
        sub_desc: an ``SD``; it says everything, instead of the other arguments.
        sub_queue: the queue for publications, or its handle; none for a managed one.
        sub_opts: MQSO_* options; by default a managed subscription that is not durable.
    """

    def __init__(
        self,
        queue_manager: QueueManager,
        sub_desc: SD | None = None,
        sub_name: str | bytes | None = None,
        sub_queue: Queue | int | None = None,
        sub_opts: int | None = None,
        topic_name: str | bytes | None = None,
        topic_string: str | bytes | None = None,
    ) -> None:
        self.__qmgr = queue_manager
        self.__hconn: Hconn | None = None
        self.__number: int | None = None
        self.sub_queue, self.sub_opts, self.sub_name = sub_queue, sub_opts, ensure_bytes(sub_name)
        self.topic_name, self.topic_string = ensure_bytes(topic_name), ensure_bytes(topic_string)
        if sub_desc is not None:
            self.sub(sub_desc=sub_desc, sub_queue=sub_queue)

    def __del__(self) -> None:
        # Nothing may be called here: a dropped subscription ends with its connection, or with the next call.
        hconn, number = self.__dict__.get("_Subscription__hconn"), self.__dict__.get("_Subscription__number")
        if hconn is not None and number is not None:
            hconn.drop_subscription(number)

    def get_sub_queue(self) -> Any:
        """The queue that publications come to."""
        return self.sub_queue

    def get(self, max_length: int | None = None, *opts: Any) -> bytes:
        """MQGET of a publication; see ``Queue.get``."""
        return self.__queue().get(max_length, *opts)

    def get_rfh2(self, max_length: int | None = None, *opts: Any) -> bytes:
        """MQGET of a publication, with its MQRFH2 headers taken off; see ``Queue.get_rfh2``."""
        return self.__queue().get_rfh2(max_length, *opts)

    def sub(
        self,
        sub_desc: SD | None = None,
        sub_queue: Queue | int | None = None,
        sub_name: str | bytes | None = None,
        sub_opts: int | None = None,
        topic_name: str | bytes | None = None,
        topic_string: str | bytes | None = None,
    ) -> None:
        """MQSUB: make, resume or alter a subscription.

        Raises:
            MQMIError: the call failed.
            PYIFError: *sub_desc* is no ``SD``.
        """
        self.topic_name = ensure_bytes(topic_name) or self.topic_name
        self.topic_string = ensure_bytes(topic_string) or self.topic_string
        self.sub_name = ensure_bytes(sub_name) or self.sub_name
        if sub_desc is None:
            sub_desc = SD(Options=sub_opts or _NEW)
            if self.sub_name:
                sub_desc.set_vs("SubName", self.sub_name)
            if self.topic_name:
                sub_desc["ObjectName"] = self.topic_name
            if self.topic_string:
                sub_desc.set_vs("ObjectString", self.topic_string)
        hconn, sd = self.__qmgr._hconn(), _native(sub_desc)
        found, comp, reason = hconn.call(verbs.mqsub, sd, _queue_handle(hconn, sub_queue))
        check(comp, reason)
        assert found is not None
        _return(sub_desc, sd)
        self.__hconn, self.__number = hconn, found.number
        if found.queue is not None:
            self.sub_queue = Queue(self.__qmgr)
            self.sub_queue.set_handle(found.queue.number)
        elif isinstance(sub_queue, Queue):
            self.sub_queue = sub_queue
        elif sub_queue is not None:
            self.sub_queue = Queue(self.__qmgr)
            self.sub_queue.set_handle(sub_queue)

    def request(self, sub_request: SRO | None = None) -> int:
        """MQSUBRQ: have the retained publications sent again. Returns how many (not in pymqi)."""
        options = SRO() if sub_request is None else sub_request
        hconn, handle = self.__opened()
        sro = MQSRO(version=options.Version, options=options.Options)
        check(*hconn.call(verbs.mqsubrq, handle, 1, sro))
        options.NumPubs = sro.num_pubs
        return sro.num_pubs

    def close(
        self,
        sub_close_options: int = CMQC.MQCO_NONE,
        close_sub_queue: bool = False,
        close_sub_queue_options: int = CMQC.MQCO_NONE,
    ) -> None:
        """MQCLOSE of the subscription, and of its queue if that is asked for."""
        hconn, handle = self.__opened()
        comp, reason = hconn.call(verbs.mqclose, handle, sub_close_options)
        if comp != MQCC.FAILED:
            self.__hconn = self.__number = None
        check(comp, reason)
        if close_sub_queue:
            self.__queue().close(close_sub_queue_options)

    def __queue(self) -> Queue:
        if not isinstance(self.sub_queue, Queue):
            raise PYIFError("the subscription has no queue for publications")
        return self.sub_queue

    def __opened(self) -> tuple[Hconn, SubscriptionHandle]:
        if self.__number is None or self.__hconn is None:
            raise PYIFError("Subscription not open.")
        handle = self.__hconn.connection.subscriptions.get(self.__number)
        if handle is None:
            fail(CMQC.MQRC_HOBJ_ERROR)
        return self.__hconn, handle


def string_of(structure: MQOpts, name: str) -> bytes:
    """The variable-length string that a structure points to; empty for none."""
    pointer, length = structure[name + "VSPtr"], structure[name + "VSLength"]
    if not pointer or not length:
        return b""
    return ctypes.string_at(pointer) if length < 0 else ctypes.string_at(pointer, length)


def _check_descriptor(od: OD) -> None:
    if od["ObjectType"] != CMQC.MQOT_TOPIC:
        raise PYIFError("The Topic Descriptor ObjectType is not MQOT_TOPIC.")
    if od["Version"] != CMQC.MQOD_VERSION_4:
        raise PYIFError("The Topic Descriptor Version is not MQOD_VERSION_4.")


def _descriptor(topic_name: bytes | None, topic_string: bytes | None) -> OD:
    od = OD(ObjectType=CMQC.MQOT_TOPIC, Version=CMQC.MQOD_VERSION_4)
    if topic_name:
        od["ObjectName"] = topic_name
    if topic_string:
        od.set_vs("ObjectString", topic_string)
    return od


def _native(sd: SD) -> MQSD:
    """The native descriptor."""
    sd.pack()
    return MQSD(
        version=sd.Version,
        options=sd.Options,
        object_name=_characters(sd.ObjectName),
        alternate_user_id=_characters(sd.AlternateUserId),
        alternate_security_id=sd.AlternateSecurityId,
        sub_expiry=sd.SubExpiry,
        object_string=string_of(sd, "ObjectString"),
        sub_name=string_of(sd, "SubName"),
        sub_user_data=string_of(sd, "SubUserData"),
        sub_correl_id=sd.SubCorrelId,
        pub_priority=sd.PubPriority,
        pub_accounting_token=sd.PubAccountingToken,
        pub_appl_identity_data=_characters(sd.PubApplIdentityData),
        selection_string=string_of(sd, "SelectionString"),
        sub_level=sd.SubLevel,
    )


def _return(sub_desc: SD, sd: MQSD) -> None:
    """Write into a descriptor what an MQSUB has left."""
    sub_desc.set(
        Options=sd.options,
        SubExpiry=sd.sub_expiry,
        SubCorrelId=sd.sub_correl_id,
        PubPriority=sd.pub_priority,
        PubAccountingToken=sd.pub_accounting_token,
        PubApplIdentityData=sd.pub_appl_identity_data.ljust(32),
        SubLevel=sd.sub_level,
    )
    sub_desc.return_vs("ResObjectString", sd.res_object_string)
    for name, value in (("SubUserData", sd.sub_user_data), ("SelectionString", sd.selection_string)):
        if value != string_of(sub_desc, name):
            sub_desc.return_vs(name, value)


def _characters(value: bytes) -> bytes:
    return value.partition(b"\0")[0].rstrip(b" ")


def _queue_handle(hconn: Hconn, queue: Any) -> Handle | None:
    """The handle of a destination that is given as a ``Queue`` or as its handle."""
    number = queue.get_handle() if isinstance(queue, Queue) else queue
    if not number:
        return None
    handle = hconn.handle(number) if isinstance(number, int) else None
    if not isinstance(handle, Handle):
        fail(CMQC.MQRC_HOBJ_ERROR)
    return handle
