"""The verbs of the protocol: one function each, from the numbers and blobs of a request to those of its reply.

A function raises MQIError for what is wrong before the call, such as a handle that there is not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Final

from igq.channels.frames import Verb
from igq.channels.handles import UNUSABLE, Handles
from igq.channels.structures import (
    Given,
    in_utf_8,
    numbers_of,
    object_records,
    packed_numbers,
    packed_put_records,
    packed_responses,
    packed_value,
    property_value,
    put_records,
    response_records,
)
from sharedq import verbs
from sharedq.mqi.constants import MQCC, MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.mqi.structures import MQMD, MQOD, MQPMO, MQSD
from sharedq.mqi.wire import (
    BMHO,
    BO,
    CMHO,
    DMHO,
    DMPO,
    GMO,
    IMPO,
    MD,
    MHBO,
    OD,
    PD,
    PMO,
    SD,
    SMPO,
    SRO,
    STS,
)
from sharedq.session.connection import Connection
from sharedq.session.topics import SubscriptionHandle

#: Numbers, of which the first two are CompCode and Reason, and blobs.
Reply = tuple[Sequence[int], Sequence[bytes]]
Call = Callable[[Connection, Handles, "Arguments"], Reply]

_HANDLE_NUMBER: Final = struct.Struct("<q")
#: Message handles of one connection, at most.
MESSAGE_HANDLES_MAX: Final = 10_000
#: Selectors from here on are about characters (MQCA_FIRST).
_FIRST_OF_CHARACTERS: Final = 2001
#: MQCA_TRIGGER_DATA, the one attribute of characters that MQSET sets, and its length.
_SETTABLE_CHARACTERS: Final = {2023: 64}
#: MQHO_NONE.
_NO_HANDLE: Final = 0
#: Destinations of a distribution list whose responses are told, at most.
_RESPONSES_MAX: Final = 65_536


class Arguments:
    """The numbers and blobs of a request, in their order. Those that are left out are 0 or empty."""

    __slots__ = ("_blobs", "_numbers")

    def __init__(self, numbers: Sequence[int], blobs: Sequence[bytes]) -> None:
        self._numbers = chain(numbers, repeat(0))
        self._blobs = chain(blobs, repeat(b""))

    def number(self) -> int:
        return next(self._numbers)

    def blob(self) -> bytes:
        return next(self._blobs)

    def message_handle(self) -> int:
        """The next blob as the number of a message handle."""
        data = self.blob()
        return int(_HANDLE_NUMBER.unpack(data)[0]) if len(data) == _HANDLE_NUMBER.size else 0


# -- objects -----------------------------------------------------------------------------------------------------------


class _Descriptor:
    """An MQOD with its strings and records, as a request gives it and a reply returns it."""

    def __init__(self, arguments: Arguments) -> None:
        self._given: Given[MQOD] = Given(OD, arguments.blob())
        od = self.od = self._given.value
        od.object_string = self._given.text("ObjectString", arguments.blob())
        selection = self._given.text("SelectionString", arguments.blob())
        od.selection_string = selection.decode("utf-8", "surrogateescape")
        od.object_records = object_records(arguments.blob())
        if od.recs_present:
            od.response_records = response_records(od.recs_present, len(od.object_records))

    def returned(self) -> tuple[bytes, bytes, bytes]:
        """The structure, its ResObjectString and the response records."""
        return self._given.returned(), self.od.res_object_string, packed_responses(self.od.response_records)


class _PutOptions:
    """An MQPMO with its records, as a request gives it and a reply returns it."""

    def __init__(self, raw: bytes) -> None:
        self._given: Given[MQPMO] = Given(PMO, raw)
        self.pmo = self._given.value

    def take_records(self, data: bytes) -> None:
        pmo = self.pmo
        if pmo.recs_present:
            pmo.put_msg_records = put_records(data, pmo.put_msg_rec_fields)
            pmo.response_records = response_records(pmo.recs_present, _RESPONSES_MAX)

    def returned(self) -> tuple[bytes, bytes, bytes]:
        """The structure, the put message records and the response records."""
        pmo = self.pmo
        records = packed_put_records(pmo.put_msg_records, pmo.put_msg_rec_fields)
        return self._given.returned(), records, packed_responses(pmo.response_records)


def _open(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    options, descriptor = arguments.number(), _Descriptor(arguments)
    handle, comp_code, reason = verbs.mqopen(connection, descriptor.od, options)
    return (comp_code, reason, handles.add(handle)), descriptor.returned()


def _close(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    number, options = arguments.number(), arguments.number()
    comp_code, reason = verbs.mqclose(connection, handles.any(number), options)
    if comp_code != MQCC.FAILED:
        handles.forget(number)
    return (comp_code, reason), ()


def _put(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    codes, md, options = _done_put(connection, handles, arguments)
    return codes, (md.returned(), *options.returned())


def _put_async(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    """A put without a reply: nothing is packed for one."""
    return _done_put(connection, handles, arguments)[0], ()


def _done_put(
    connection: Connection, handles: Handles, arguments: Arguments
) -> tuple[Sequence[int], Given[MQMD], _PutOptions]:
    handle = handles.object(arguments.number())
    md, options = Given(MD, arguments.blob()), _PutOptions(arguments.blob())
    options.take_records(arguments.blob())
    return verbs.mqput(connection, handle, md.value, options.pmo, arguments.blob()), md, options


def _put1(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    descriptor = _Descriptor(arguments)
    md, options = Given(MD, arguments.blob()), _PutOptions(arguments.blob())
    options.take_records(arguments.blob())
    codes = verbs.mqput1(connection, descriptor.od, md.value, options.pmo, arguments.blob())
    return codes, (*descriptor.returned(), md.returned(), *options.returned())


def _get(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    handle, length = handles.object(arguments.number()), arguments.number()
    md, gmo = Given(MD, arguments.blob()), Given(GMO, arguments.blob())
    body, whole, comp_code, reason = verbs.mqget(connection, handle, md.value, gmo.value, length)
    return (comp_code, reason, whole), (md.returned(), gmo.returned(), body)


def _inq(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    handle, count, length = handles.object(arguments.number()), arguments.number(), arguments.number()
    selectors = numbers_of(arguments.blob())
    if count < 0:
        raise error_for(MQRC.INT_ATTR_COUNT_ERROR, "MQINQ", "", f"{count} integers")
    if length < 0:
        raise error_for(MQRC.CHAR_ATTR_LENGTH_ERROR, "MQINQ", "", f"{length} characters")
    values, comp_code, reason = verbs.mqinq(connection, handle, selectors)
    if comp_code == MQCC.FAILED:
        return (comp_code, reason), ()
    found = [values[selector] for selector in selectors]
    numbers = [int(value) for value in found if isinstance(value, int)]
    characters = b"".join([value for value in found if isinstance(value, bytes)])
    # Of two warnings IBM MQ tells the first.
    if len(characters) > length:
        comp_code, reason = MQCC.WARNING, MQRC.CHAR_ATTRS_TOO_SHORT
    elif len(numbers) > count:
        comp_code, reason = MQCC.WARNING, MQRC.INT_ATTR_COUNT_TOO_SMALL
    return (comp_code, reason), (packed_numbers(numbers[:count]), characters[:length])


def _set(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    handle = handles.object(arguments.number())
    selectors, numbers = numbers_of(arguments.blob()), iter(numbers_of(arguments.blob()))
    characters, values = arguments.blob(), dict[int, int | bytes]()
    for selector in selectors:
        if selector >= _FIRST_OF_CHARACTERS:
            length = _SETTABLE_CHARACTERS.get(selector, 0)
            values[selector], characters = characters[:length], characters[length:]
            continue
        number = next(numbers, None)
        if number is None:
            raise error_for(MQRC.INT_ATTR_COUNT_TOO_SMALL, "MQSET", "", "fewer integers than selectors")
        values[selector] = number
    return verbs.mqset(connection, handle, values), ()


# -- units of work -----------------------------------------------------------------------------------------------------


def _begin(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    options = Given(BO, arguments.blob())
    return verbs.mqbegin(connection), (options.returned(),)


def _cmit(connection: Connection, _handles: Handles, _arguments: Arguments) -> Reply:
    return verbs.mqcmit(connection), ()


def _back(connection: Connection, _handles: Handles, _arguments: Arguments) -> Reply:
    return verbs.mqback(connection), ()


def _stat(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    type_, status = arguments.number(), Given(STS, arguments.blob())
    codes = verbs.mqstat(connection, status.value, type_)
    return codes, (status.returned(), status.value.object_string, status.value.sub_name)


# -- subscriptions -----------------------------------------------------------------------------------------------------


def _sub(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    number = arguments.number()
    given: Given[MQSD] = Given(SD, arguments.blob())
    sd = given.value
    sd.object_string = given.text("ObjectString", arguments.blob())
    sd.sub_name = given.text("SubName", arguments.blob())
    sd.sub_user_data = given.text("SubUserData", arguments.blob())
    sd.selection_string = given.text("SelectionString", arguments.blob())
    queue = None if number in (UNUSABLE, _NO_HANDLE) else handles.queue(number)
    handle, comp_code, reason = verbs.mqsub(connection, sd, queue)
    if handle is not None and queue is None:
        number = handles.add(handle.queue)
    strings = (sd.sub_name, sd.sub_user_data, sd.selection_string, sd.res_object_string)
    return (comp_code, reason, number, handles.add(handle)), (given.returned(), *strings)


def _subrq(connection: Connection, handles: Handles, arguments: Arguments) -> Reply:
    number, action = arguments.number(), arguments.number()
    handle = handles.any(number)
    if not isinstance(handle, SubscriptionHandle):
        raise error_for(MQRC.HOBJ_ERROR, "MQSUBRQ", "", "it is no subscription")
    options = Given(SRO, arguments.blob())
    return verbs.mqsubrq(connection, handle, action, options.value), (options.returned(),)


# -- message handles ---------------------------------------------------------------------------------------------------


def _crtmh(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    options = Given(CMHO, arguments.blob())
    if len(connection.message_handles) >= MESSAGE_HANDLES_MAX:
        raise error_for(MQRC.HANDLE_NOT_AVAILABLE, "MQCRTMH", "", f"{MESSAGE_HANDLES_MAX} message handles")
    number, comp_code, reason = verbs.mqcrtmh(connection, options.value)
    return (comp_code, reason), (_HANDLE_NUMBER.pack(number),)


def _dltmh(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    number, options = arguments.message_handle(), Given(DMHO, arguments.blob())
    return verbs.mqdltmh(connection, number, options.value), ()


def _name(arguments: Arguments, blob: bytes) -> str:
    """The name of a property, whose character set is the last number of the request."""
    return in_utf_8(blob, arguments.number() or DEFAULT_CCSID).decode("utf-8", "surrogateescape")


def _setmp(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    type_, number, options = arguments.number(), arguments.message_handle(), Given(SMPO, arguments.blob())
    name, descriptor, data = arguments.blob(), Given(PD, arguments.blob()), arguments.blob()
    smpo = options.value
    value = property_value(type_, data, smpo.value_encoding, smpo.value_ccsid)
    codes = verbs.mqsetmp(connection, number, smpo, _name(arguments, name), descriptor.value, type_, value)
    return codes, (descriptor.returned(),)


def _inqmp(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    type_, length, number = arguments.number(), arguments.number(), arguments.message_handle()
    options, name, descriptor = Given(IMPO, arguments.blob()), arguments.blob(), Given(PD, arguments.blob())
    impo = options.value
    found, whole, comp_code, reason = verbs.mqinqmp(
        connection, number, impo, _name(arguments, name), descriptor.value, type_, length
    )
    value = b""
    if found is not None:
        type_, value = int(found.type_), packed_value(found.type_, found.value)
    blobs = (options.returned(), impo.returned_name.encode("utf-8", "surrogateescape"), descriptor.returned())
    return (comp_code, reason, type_, whole), (*blobs, value[: max(0, length)])


def _dltmp(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    number, options, name = arguments.message_handle(), Given(DMPO, arguments.blob()), arguments.blob()
    return verbs.mqdltmp(connection, number, options.value, _name(arguments, name)), ()


def _bufmh(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    number, options = arguments.message_handle(), Given(BMHO, arguments.blob())
    md, data = Given(MD, arguments.blob()), arguments.blob()
    left, comp_code, reason = verbs.mqbufmh(connection, number, options.value, md.value, data)
    return (comp_code, reason, len(left)), (md.returned(), left)


def _mhbuf(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    length, number = arguments.number(), arguments.message_handle()
    options, name, md = Given(MHBO, arguments.blob()), arguments.blob(), Given(MD, arguments.blob())
    data, whole, comp_code, reason = verbs.mqmhbuf(
        connection, number, options.value, _name(arguments, name), md.value, length
    )
    return (comp_code, reason, whole), (md.returned(), data)


def _xcnvc(connection: Connection, _handles: Handles, arguments: Arguments) -> Reply:
    options, source_ccsid, target_ccsid = arguments.number(), arguments.number(), arguments.number()
    length, source = arguments.number(), arguments.blob()
    target, whole, comp_code, reason = verbs.mqxcnvc(connection, options, source_ccsid, source, target_ccsid, length)
    return (comp_code, reason, whole), (target,)


#: The calls that need a connection and no more.
CALLS: Final[dict[int, Call]] = {
    Verb.OPEN: _open,
    Verb.CLOSE: _close,
    Verb.PUT: _put,
    Verb.PUT_ASYNC: _put_async,
    Verb.PUT1: _put1,
    Verb.GET: _get,
    Verb.INQ: _inq,
    Verb.SET: _set,
    Verb.BEGIN: _begin,
    Verb.CMIT: _cmit,
    Verb.BACK: _back,
    Verb.SUB: _sub,
    Verb.SUBRQ: _subrq,
    Verb.STAT: _stat,
    Verb.CRTMH: _crtmh,
    Verb.DLTMH: _dltmh,
    Verb.SETMP: _setmp,
    Verb.INQMP: _inqmp,
    Verb.DLTMP: _dltmp,
    Verb.BUFMH: _bufmh,
    Verb.MHBUF: _mhbuf,
    Verb.XCNVC: _xcnvc,
}
