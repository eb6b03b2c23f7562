"""``MessageHandle``: the properties of a message, for the members OriginalMsgHandle, NewMsgHandle and MsgHandle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from sharedq import verbs
from sharedq.mqi import wire
from sharedq.mqi.constants import PropertyType
from sharedq.mqi.structures import MQIMPO, MQPD
from sharedq.properties.values import INTEGERS, Value
from sharedq.pymqi import CMQC
from sharedq.pymqi.boundary import checked
from sharedq.pymqi.connection.hconn import Hconn
from sharedq.pymqi.connection.queue_manager import QueueManager
from sharedq.pymqi.errors import MQMIError, WrongTypeError, WrongValueError, check, fail
from sharedq.pymqi.structures.descriptors import BMHO, CMHO, DMHO, DMPO, MD, MHBO, PD, SMPO, return_to, to_native
from sharedq.session.connection import Connection

P = ParamSpec("P")
T = TypeVar("T")

_FLOATS = (CMQC.MQTYPE_FLOAT32, CMQC.MQTYPE_FLOAT64)
_SIZE_MAX = 104_857_600


@checked
class MessageHandle:
    """A message handle.

    Args:
        qmgr: the connection whose calls may use it; None: those of any connection of the program.
        cmho: its options.

    Attributes:
        msg_handle: its number, as MQPMO and MQGMO take it.
        properties: the properties of the message.
    """

    #: Room for a value that is inquired, bytes.
    default_value_length = 64

    def __init__(self, qmgr: QueueManager | None = None, cmho: CMHO | None = None) -> None:
        self._hconn: Hconn | None = None if qmgr is None else qmgr._hconn()
        self.conn_handle = CMQC.MQHO_NONE if qmgr is None else qmgr.get_handle()
        options = to_native(wire.CMHO, CMHO() if cmho is None else cmho)
        self.msg_handle, comp, reason = self._call(verbs.mqcrtmh, options)
        check(comp, reason)
        self.properties = self._Properties(self)

    def _call(self, verb: Callable[Concatenate[Connection | None, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._hconn is None:
            return verb(None, *args, **kwargs)
        return self._hconn.call(verb, *args, **kwargs)

    def dlt(self, dmho: DMHO | None = None) -> None:
        """MQDLTMH (not in pymqi)."""
        check(*self._call(verbs.mqdltmh, self.msg_handle, to_native(wire.DMHO, DMHO() if dmho is None else dmho)))
        self.msg_handle = CMQC.MQHM_UNUSABLE_HMSG

    def from_buffer(self, md: MD, buffer: bytes, bmho: BMHO | None = None) -> bytes:
        """MQBUFMH (not in pymqi): take the properties of the message *buffer*; what is left of it, as *md* says."""
        options, native = to_native(wire.BMHO, BMHO() if bmho is None else bmho), to_native(wire.MD, md)
        left, comp, reason = self._call(verbs.mqbufmh, self.msg_handle, options, native, buffer)
        check(comp, reason)
        return_to(md, wire.MD, native)
        return left

    def to_buffer(self, name: str | bytes, md: MD, mhbo: MHBO | None = None) -> bytes:
        """MQMHBUF (not in pymqi): the MQRFH2 with the properties of that name; *md* says then how it is written."""
        options, native = to_native(wire.MHBO, MHBO() if mhbo is None else mhbo), to_native(wire.MD, md)
        buffer, _, comp, reason = self._call(verbs.mqmhbuf, self.msg_handle, options, _text(name), native, _SIZE_MAX)
        check(comp, reason)
        return_to(md, wire.MD, native)
        return buffer

    @checked
    class _Properties:
        """The properties: ``handle.properties.set(name, value)``, ``handle.properties.get(name)``."""

        def __init__(self, handle: MessageHandle) -> None:
            self._handle = handle

        def __getitem__(self, name: str | bytes) -> Any:
            return self.get(name)

        def __setitem__(self, name: str | bytes, value: Any) -> None:
            self.set(name, value)

        def get(
            self,
            name: str | bytes,
            default: Any = None,  # noqa: ARG002 - pymqi does not use it either
            max_value_length: int | None = None,
            impo_options: int = CMQC.MQIMPO_INQ_FIRST,
            pd: int = CMQC.MQPD_NONE,
            property_type: int = CMQC.MQTYPE_AS_SET,
        ) -> Any:
            """MQINQMP.

            Args:
                default: not used: a property that is not there is 2471.
                max_value_length: room for the value, bytes; None: ``MessageHandle.default_value_length``.
                pd: MQPD_* options.
                property_type: the type to convert to, with MQIMPO_CONVERT_TYPE.

            Raises:
                MQMIError: 2471 no such property; 2469 there is too little room: ``value`` has what there was room for,
                    ``dataLength`` the whole length; 2470, 2472 it cannot be converted.
            """
            handle = self._handle
            room = max_value_length or MessageHandle.default_value_length
            impo, descriptor = MQIMPO(options=impo_options), MQPD(options=pd)
            found, length, comp, reason = handle._call(
                verbs.mqinqmp, handle.msg_handle, impo, _text(name), descriptor, property_type, room
            )
            value: Any = None if found is None else found.value
            if isinstance(value, bool):
                value = int(value)
            if comp != CMQC.MQCC_OK:
                if isinstance(value, str):
                    value = value.encode()[:room].decode("utf-8", "ignore")
                raise MQMIError(
                    comp, reason, value=value[:room] if isinstance(value, bytes) else value, dataLength=length
                )
            return value

        def set(
            self,
            name: str | bytes,
            value: Any,
            property_type: int = CMQC.MQTYPE_STRING,
            value_length: int = CMQC.MQVL_NULL_TERMINATED,
            pd: PD | None = None,
            smpo: SMPO | None = None,
        ) -> None:
            """MQSETMP.

            Args:
                value_length: of a string (in UTF-8) or byte string, bytes; MQVL_NULL_TERMINATED: all of it, of a string
                    up to the first null.

            Raises:
                PYIFError: the value is none of the type.
                MQMIError: 2442 no property may have this name, 2473 no such type, 2469 the value does not fit it, ...
            """
            handle = self._handle
            options = to_native(wire.SMPO, SMPO() if smpo is None else smpo)
            descriptor = to_native(wire.PD, PD() if pd is None else pd)
            given = _given(value, property_type, value_length)
            check(
                *handle._call(verbs.mqsetmp, handle.msg_handle, options, _text(name), descriptor, property_type, given)
            )

        def dlt(self, name: str | bytes, dmpo: DMPO | None = None) -> None:
            """MQDLTMP (not in pymqi)."""
            handle = self._handle
            options = to_native(wire.DMPO, DMPO() if dmpo is None else dmpo)
            check(*handle._call(verbs.mqdltmp, handle.msg_handle, options, _text(name)))


def _text(name: str | bytes) -> str:
    """A name, as text or in UTF-8."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def _given(value: Any, type_: int, length: int) -> Value:
    """The value as C takes it from a buffer of its type."""
    try:
        return _converted(value, type_, length)
    except (TypeError, ValueError, OverflowError) as error:
        kind = WrongTypeError if isinstance(error, TypeError) else WrongValueError
        raise kind(f"a property's value, {value!r:.100}: {error}") from error


def _converted(value: Any, type_: int, length: int) -> Value:
    if type_ in (CMQC.MQTYPE_STRING, CMQC.MQTYPE_BYTE_STRING) and hasattr(value, "__index__"):
        # Python would make so many bytes of it.
        raise TypeError("a number is no string")
    if type_ == CMQC.MQTYPE_STRING:
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
        data = data.partition(b"\0")[0] if length == CMQC.MQVL_NULL_TERMINATED else data[:length]
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            fail(CMQC.MQRC_PROP_VALUE_NOT_CONVERTED)
    if type_ == CMQC.MQTYPE_BYTE_STRING:
        return bytes(value) if length == CMQC.MQVL_NULL_TERMINATED else bytes(value)[:length]
    if type_ == CMQC.MQTYPE_BOOLEAN:
        return bool(value)
    if type_ in _FLOATS:
        return float(value)
    return int(value) if type_ in INTEGERS else None if type_ == PropertyType.NULL else value
