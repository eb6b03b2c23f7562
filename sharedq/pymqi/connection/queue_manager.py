"""``QueueManager``: a connection, and the calls that are not about one open queue."""

# Names of methods and parameters are pymqi's.
# ruff: noqa: N803, N815

from __future__ import annotations

from typing import Any

from sharedq import verbs
from sharedq.api import group_for
from sharedq.mqi.constants import ObjectType, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import CONN_TAG_LENGTH
from sharedq.mqi.structures import MQCNO, MQOD
from sharedq.pymqi import CMQC, CMQXC
from sharedq.pymqi.boundary import checked, checked_call, default, ensure_bytes
from sharedq.pymqi.connection.hconn import Hconn, settle
from sharedq.pymqi.connection.messages import common_q_args, message_bytes, put_message
from sharedq.pymqi.connection.reconnection import LATER, ReconnectableHconn, mode_of, names_at
from sharedq.pymqi.errors import PYIFError, WrongValueError, check
from sharedq.pymqi.structures.client import CD, SCO
from sharedq.pymqi.structures.descriptors import OD, make_q_desc, object_descriptor
from sharedq.pymqi.structures.options import MQOpts
from sharedq.session.handle import ObjectHandle
from sharedq.settings.values import ConfigError


@checked
class QueueManager:
    """A connection to a queue manager. Several threads may share a connection: their calls take turns.

    Args:
        name: of a queue manager, or the group's (or ``*`` and the group's) for any member that runs. None: connect
            later, with one of the ``connect`` methods.
        disconnect_on_exit: disconnect, which commits, when this object or the program ends.
        bytes_encoding, default_ccsid: how messages that are put as text are encoded, and the CCSID that says so.

    Raises:
        MQMIError: 2058 no such manager, 2059 it does not run, 2161 it quiesces.
    """

    def __init__(
        self,
        name: str | bytes | None = "",
        disconnect_on_exit: bool = True,
        bytes_encoding: str = default.bytes_encoding,
        default_ccsid: int = default.ccsid,
    ) -> None:
        self.__hconn: Hconn | None = None
        self.__qmobj: ObjectHandle | None = None
        self.__disconnect_on_exit = disconnect_on_exit
        self.bytes_encoding = bytes_encoding
        self.default_ccsid = default_ccsid
        if name is not None:
            self.connect(name)

    def __del__(self) -> None:
        # An exception in __init__ may have left nothing here.
        hconn = self.__dict__.get("_QueueManager__hconn")
        if hconn is not None and self.__disconnect_on_exit:
            hconn.drop()

    # -- connecting ----------------------------------------------------------------------------------------------

    def connect(self, name: str | bytes) -> None:
        """MQCONN."""
        self.__connect(name, MQCNO())

    def connect_with_options(self, name: str | bytes, *args: Any, **kwargs: Any) -> None:
        """MQCONNX.

        Args:
            args: an MQCD and an MQSCO, in this order, as old programs pass them.
            kwargs: ``opts``: MQCNO_* options, MQCNO_RECONNECT among them; ``cd``, ``sco``: how a client would connect.
                Of these the ConnectionName (see ``reconnection.py``) and DefReconnect count.
                ``user``, ``password``: not used; ``conn_tag``: the connection tag that MQCNO_SERIALIZE_CONN_TAG_*
                and MQCNO_RESTRICT_CONN_TAG_* are about, at most 128 bytes (not in pymqi).

        Raises:
            MQMIError: as for the class, and 2271 the tag is in use, 2046 options that exclude each other.
        """
        if len(args) > 2:
            raise TypeError(f"connect_with_options: at most an MQCD and an MQSCO can be positional, not {args}")
        self.__connect_with(name, **{**kwargs, **dict(zip(("cd", "sco"), args, strict=False))})

    @checked_call
    def __connect_with(
        self,
        name: str | bytes,
        cd: CD | None = None,
        sco: SCO | None = None,
        user: str | bytes | None = None,
        password: str | bytes | None = None,
        opts: int = CMQC.MQCNO_NONE,
        conn_tag: str | bytes | None = b"",
        **_: Any,
    ) -> None:
        if user and password is None:
            raise WrongValueError("a user needs a password, which may be empty")
        if cd is not None:
            # As far as it can be wrong, it is wrong here too.
            cd.pack()
            if cd.SSLCipherSpec and cd.Version < CMQXC.MQCD_VERSION_7:
                cd.Version = CMQXC.MQCD_VERSION_7
        if sco is not None:
            sco.pack()
        tag = ensure_bytes(conn_tag or b"")
        if len(tag) > CONN_TAG_LENGTH:
            raise PYIFError(f"conn_tag has {len(tag)} bytes, allowed: at most {CONN_TAG_LENGTH}")
        cno = MQCNO(version=3, options=opts, conn_tag=tag.ljust(CONN_TAG_LENGTH, b"\0"))
        mode = mode_of(opts, CMQXC.MQRCN_NO if cd is None else cd.DefReconnect)
        self.__connect(name, cno, b"" if cd is None else cd.ConnectionName, mode)

    connectWithOptions = connect_with_options

    def connect_tcp_client(
        self,
        name: str | bytes,
        cd: CD,
        channel: str | bytes,
        conn_name: str | bytes,
        user: str | bytes | None = None,
        password: str | bytes | None = None,
    ) -> None:
        """Connect as a client program does: the group is found by its settings, whatever *conn_name* says."""
        cd.ChannelName = ensure_bytes(channel)
        cd.ConnectionName = ensure_bytes(conn_name)
        cd.ChannelType = CMQC.MQCHT_CLNTCONN
        cd.TransportType = CMQC.MQXPT_TCP
        self.connect_with_options(name, cd=cd, user=user, password=password)

    connectTCPClient = connect_tcp_client

    def __connect(self, name: str | bytes, cno: MQCNO, addresses: bytes = b"", mode: int = 0) -> None:
        settle()
        try:
            group = group_for()
        except ConfigError as error:
            raise PYIFError(error) from error
        text = ensure_bytes(name, "utf-8").partition(b"\0")[0].decode("utf-8", "replace").strip()
        names = names_at(group, text, addresses)
        for each in names:
            connection, comp, reason = verbs.mqconnx(group, each, cno)
            if connection is not None or reason not in LATER:
                break
        if connection is not None:
            if self.__hconn is not None and self.__disconnect_on_exit:
                self.__hconn.drop()
            self.__qmobj = None
            self.__hconn = ReconnectableHconn(connection, group, names, cno, mode) if mode else Hconn(connection)
            if not self.__disconnect_on_exit:
                self.__hconn.keep_at_exit()
        check(comp, reason)

    def disconnect(self) -> None:
        """MQDISC: commits what is outstanding and closes what is open."""
        hconn = self._hconn()
        self.__hconn = self.__qmobj = None
        hconn.disconnect()

    def get_handle(self) -> int:
        """The connection handle."""
        return self._hconn().number

    getHandle = get_handle

    def _hconn(self) -> Hconn:
        """The connection, for the classes of this package."""
        if self.__hconn is None:
            raise PYIFError("not connected")
        return self.__hconn

    @property
    def is_connected(self) -> bool:
        """Whether the queue manager runs and this connection to it still stands."""
        if self.__hconn is None or not self.__hconn.is_usable():
            return False
        connection = self.__hconn.connection
        try:
            member = connection.group.member(connection.qmgr_name)
        except MQIError:
            return False
        return member is not None and member.state in ("RUNNING", "QUIESCING")

    # -- units of work -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """MQBEGIN.

        Raises:
            MQMIError: 2121, a warning: the unit of work has begun, and nobody but the queue manager takes part
                in it; 2128 one has begun already.
        """
        check(*self._hconn().call(verbs.mqbegin))

    def commit(self) -> None:
        """MQCMIT. Raises MQMIError: 2003 it was backed out instead; 2009 nobody can say."""
        check(*self._hconn().call(verbs.mqcmit))

    def backout(self) -> None:
        """MQBACK."""
        check(*self._hconn().call(verbs.mqback))

    # -- single calls --------------------------------------------------------------------------------------------

    def put1(self, qDesc: str | bytes | OD, msg: str | bytes, *opts: MQOpts | None) -> None:
        """MQPUT1: put one message on a queue, given by name or descriptor.

        Args:
            opts: the message descriptor and the put-message options, both optional; they return what the call
                left in them.
        """
        descriptor, options = common_q_args(*opts)
        body = message_bytes(msg, descriptor, self.bytes_encoding, self.default_ccsid)
        hconn, od = self._hconn(), object_descriptor(make_q_desc(qDesc))
        put_message(lambda md, pmo, data: hconn.call(verbs.mqput1, od, md, pmo, data), descriptor, options, body)

    def inquire(self, attribute: int) -> int | bytes:
        """MQINQ of the queue manager.

        Returns:
            The value of the MQIA_ or MQCA_ attribute; characters are padded with blanks to their length.
        """
        hconn = self._hconn()
        if self.__qmobj is None:
            od = MQOD(object_type=ObjectType.Q_MGR)
            handle, comp, reason = hconn.call(verbs.mqopen, od, int(OpenOption.INQUIRE))
            check(comp, reason)
            assert isinstance(handle, ObjectHandle)
            self.__qmobj = handle
        values, comp, reason = hconn.call(verbs.mqinq, self.__qmobj, (attribute,))
        check(comp, reason)
        return values[attribute]
