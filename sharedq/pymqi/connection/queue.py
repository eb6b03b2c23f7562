"""``Queue``: an object handle of a queue, opened when it is first needed."""

# Names of methods and parameters are pymqi's.
# ruff: noqa: N803

from __future__ import annotations

from operator import index
from typing import Any

from sharedq import verbs
from sharedq.calls.get.get import LENGTH_MAX
from sharedq.mqi import wire
from sharedq.mqi.constants import MQCC
from sharedq.mqi.structures import MQMD, MQPMO
from sharedq.pymqi import CMQC
from sharedq.pymqi.boundary import checked, checked_call, ensure_not_unicode
from sharedq.pymqi.connection.hconn import Hconn, Opened
from sharedq.pymqi.connection.messages import common_q_args, message_bytes, put_message
from sharedq.pymqi.connection.queue_manager import QueueManager
from sharedq.pymqi.errors import MQMIError, PYIFError, check, fail
from sharedq.pymqi.structures.descriptors import GMO, MD, OD, make_q_desc, object_descriptor, return_to, to_native
from sharedq.pymqi.structures.options import MQOpts
from sharedq.pymqi.structures.rfh2 import RFH2, take_rfh2_headers
from sharedq.session.handle import Handle, ObjectHandle
from sharedq.session.topics import TopicHandle


@checked
class Queue:
    """A queue of a connected queue manager.

    It is opened at once when open options are given; otherwise by the first call, for what that call does:
    ``put`` for output, ``get`` for input as the queue's definition says, ``inquire`` and ``set`` for themselves.
    A call of another kind then fails with the reason that says so, such as 2037.

    Args:
        opts: the queue, by name or as an MQOD, and MQOO_* options; both optional.
    """

    def __init__(self, qMgr: QueueManager, *opts: Any) -> None:
        self.__qMgr = qMgr
        self.__hconn: Hconn | None = None
        self.__handle: int | None = None
        self.__od: OD | None = None
        if len(opts) > 2:
            raise TypeError(f"a queue and open options, not {len(opts)} arguments")
        if opts:
            self.__od = make_q_desc(opts[0])
        if len(opts) == 2:
            self.__open(opts[1])

    def __del__(self) -> None:
        # An exception in __init__ may have left nothing here.
        hconn, handle = self.__dict__.get("_Queue__hconn"), self.__dict__.get("_Queue__handle")
        if hconn is not None and handle is not None:
            hconn.drop_handle(handle)

    def open(self, qDesc: str | bytes | OD, *opts: int) -> None:
        """MQOPEN; without options the queue is opened by the first call."""
        if len(opts) > 1:
            raise TypeError(f"a queue and open options, not {len(opts) + 1} arguments")
        if self.__handle is not None:
            raise PYIFError("The Queue is already open")
        self.__od = make_q_desc(qDesc)
        if opts:
            self.__open(opts[0])

    @checked_call
    def __open(self, options: int) -> None:
        if self.__od is None:
            raise PYIFError("The Queue Descriptor has not been set.")
        hconn, od = self.__qMgr._hconn(), object_descriptor(self.__od)
        handle, comp, reason = hconn.call(verbs.mqopen, od, options)
        check(comp, reason)
        # The topic of an alias with TARGTYPE(TOPIC) is a queue for the program.
        if not (isinstance(handle, Handle | ObjectHandle) or (isinstance(handle, TopicHandle) and handle.path)):
            raise PYIFError("a Queue is for queues, not for topics")
        return_to(self.__od, wire.OD, od)
        self.__hconn, self.__handle = hconn, handle.number

    def __opened(self, options: int) -> tuple[Hconn, Opened]:
        """The connection and the handle; opens the queue with *options* if it is not open."""
        if self.__handle is None:
            self.__open(options)
        hconn = self.__qMgr._hconn()
        # A handle of a connection that the program has replaced must not be taken for one of the new connection.
        handle = hconn.handle(self.__handle) if self.__handle is not None and hconn is self.__hconn else None
        if handle is None:
            fail(CMQC.MQRC_HOBJ_ERROR)
        return hconn, handle

    def put(self, msg: str | bytes, *opts: MQOpts | None) -> None:
        """MQPUT.

        Args:
            msg: text is encoded as the queue manager object says, and gets the format MQFMT_STRING.
            opts: the message descriptor and the put-message options, both optional; they return what the call
                left in them, the message's identifiers above all.
        """
        descriptor, options = common_q_args(*opts)
        body = message_bytes(msg, descriptor, self.__qMgr.bytes_encoding, self.__qMgr.default_ccsid)
        hconn, handle = self.__opened(CMQC.MQOO_OUTPUT)

        def call(md: MQMD, pmo: MQPMO, data: bytes) -> verbs.Outcome:
            return hconn.call(verbs.mqput, handle, md, pmo, data)

        put_message(call, descriptor, options, body)

    def put_rfh2(self, msg: bytes, *opts: Any) -> None:
        """Put *msg* after MQRFH2 headers.

        Args:
            opts: descriptor, put-message options, and a list of ``RFH2``. Formats and encodings must chain from the
                descriptor through the headers: nothing of that is filled in.
        """
        self.put(with_headers(msg, *opts), *opts[:2])

    def get(self, maxLength: int | None = None, *opts: MQOpts | None) -> bytes:
        """MQGET.

        Args:
            maxLength: room for the data, bytes; None returns a message of any length. (With
                MQGMO_ACCEPT_TRUNCATED_MSG and None there is room for nothing, as in pymqi.)
            opts: the message descriptor and the get-message options, both optional; they return what the call left
                in them.

        Raises:
            MQMIError: 2033 no message; 2079 and 2080 the data was cut: ``message`` has what there was room for,
                ``original_length`` the whole length.
        """
        descriptor, options = common_q_args(*opts)
        options = GMO() if options is None else options
        md, gmo = to_native(wire.MD, descriptor), to_native(wire.GMO, options)
        hconn, handle = self.__opened(CMQC.MQOO_INPUT_AS_Q_DEF)
        room = maxLength
        if room is None:
            room = 0 if gmo.options & CMQC.MQGMO_ACCEPT_TRUNCATED_MSG else LENGTH_MAX
        body, length, comp, reason = hconn.call(verbs.mqget, handle, md, gmo, room)
        if comp != MQCC.FAILED:
            return_to(descriptor, wire.MD, md)
            return_to(options, wire.GMO, gmo)
        if comp != MQCC.OK:
            raise MQMIError(comp, reason, message=body, original_length=length)
        return body

    def get_no_jms(self, max_length: int | None = None, *args: MQOpts | None) -> bytes:
        """``get`` of the data without properties, failing when the queue manager quiesces."""
        return self.__get_no_jms(max_length, *common_q_args(*args))

    @checked_call
    def __get_no_jms(self, max_length: int | None, descriptor: MD, options: GMO | None) -> bytes:
        options = options or GMO()
        # It must be right before anything is added.
        options.pack()
        options.Options = index(options.Options) | CMQC.MQGMO_NO_PROPERTIES | CMQC.MQGMO_FAIL_IF_QUIESCING
        return self.get(max_length, descriptor, options)

    get_no_rfh2 = get_no_jms

    def get_rfh2(self, max_length: int | None = None, *opts: Any) -> bytes:
        """``get``, and take the MQRFH2 headers off the data.

        Args:
            opts: descriptor, get-message options, and an empty list, to which the headers are added as ``RFH2``. A
                header that cannot be read stays at the front of the data.
        """
        return self.__get_rfh2(max_length, *opts)

    @checked_call
    def __get_rfh2(
        self,
        max_length: int | None,
        md: MD | None = None,
        options: MQOpts | None = None,
        headers: list[RFH2] | tuple[()] = (),
    ) -> bytes:
        if not isinstance(headers, list):
            return self.get(max_length, md, options)
        md = MD() if md is None else md
        found, body = take_rfh2_headers(self.get(max_length, md, options), md["Format"])
        headers.extend(found)
        return body

    def close(self, options: int = CMQC.MQCO_NONE) -> None:
        """MQCLOSE. The queue must be named again before it is opened again."""
        if self.__handle is None:
            raise PYIFError("not open")
        hconn, handle = self.__opened(CMQC.MQOO_INQUIRE)
        comp, reason = hconn.call(verbs.mqclose, handle, options)
        if comp != MQCC.FAILED:
            self.__hconn = self.__handle = self.__od = None
        check(comp, reason)

    def inquire(self, attribute: int) -> int | bytes:
        """MQINQ of one MQIA_ or MQCA_ attribute; characters are padded with blanks to their length."""
        hconn, handle = self.__opened(CMQC.MQOO_INQUIRE)
        values, comp, reason = hconn.call(verbs.mqinq, handle, (attribute,))
        check(comp, reason)
        return values[attribute]

    def set(self, attribute: int, arg: int | bytes) -> None:
        """MQSET of one attribute."""
        ensure_not_unicode(arg)
        hconn, handle = self.__opened(CMQC.MQOO_SET)
        is_number = CMQC.MQIA_FIRST <= attribute <= CMQC.MQIA_LAST
        if isinstance(arg, int) != is_number:
            raise PYIFError(f"attribute {attribute} takes {'a number' if is_number else 'bytes'}, not {arg!r}")
        check(*hconn.call(verbs.mqset, handle, {attribute: arg}))

    def set_handle(self, queue_handle: int) -> None:
        """Use an object handle that another ``Queue`` of this connection has open."""
        self.__hconn, self.__handle = self.__qMgr._hconn(), queue_handle

    def get_handle(self) -> int | None:
        """The object handle; None while the queue is not open."""
        return self.__handle


@checked_call
def with_headers(
    msg: bytes, md: MD | None = None, _: MQOpts | None = None, headers: list[RFH2] | tuple[()] = ()
) -> bytes:
    """Return *msg* after the MQRFH2 headers among the arguments of a call."""
    md = MD() if md is None else md
    md.pack()
    encoding = index(md["Encoding"])
    front = b""
    for header in headers:
        if header is not None:
            front += _header(header).pack(encoding)
            encoding = index(header["Encoding"])
    return front + msg


@checked_call
def _header(given: RFH2) -> RFH2:
    return given
