"""Reading of PCF: bytes in, structures out. Every length, count and offset is checked before it is used.

Nothing recurses, so groups in groups cost no stack. Data are copied once, into the strings of the result.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sharedq.mqi.character_sets import Representation, integer_order
from sharedq.mqi.constants.pcf import MQRCCF, FilterOperator, PCFControl, PCFType
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.pcf import structures as pcf

HEADER_LENGTH: Final = 36
#: Groups within one another, at most; IBM's messages have three.
NESTING_MAX: Final = 64

_VERSION_MAX: Final = 3
_FRONT: Final = 8
_LONG, _LONG64, _ALIGNMENT = 4, 8, 4
#: Types of messages; the other types are of parameters.
MESSAGE_TYPES: Final = frozenset(
    {
        PCFType.COMMAND,
        PCFType.RESPONSE,
        PCFType.EVENT,
        PCFType.USER,
        PCFType.TRACE_ROUTE,
        PCFType.REPORT,
        PCFType.COMMAND_XR,
        PCFType.XR_MSG,
        PCFType.XR_ITEM,
        PCFType.XR_SUMMARY,
        PCFType.STATISTICS,
        PCFType.ACCOUNTING,
        PCFType.APP_ACTIVITY,
        PCFType.STATUS,
    }
)
_OPERATORS: Final = frozenset(FilterOperator)


@dataclass(slots=True)
class _Open:
    """A group whose parameters are being read, or the message itself."""

    parameter: int
    left: int
    at: int
    parameters: list[pcf.Parameter] = field(default_factory=list)


def read(data: bytes, representation: Representation = pcf.NATIVE) -> pcf.PCFMessage:
    """Read the one message that *data* are.

    Args:
        representation: MQMD's CodedCharSetId and Encoding of the message.

    Raises:
        PCFError: they are not one, or something follows it (3016).
    """
    message, end = read_from(data, 0, representation)
    if end != len(data):
        raise pcf.PCFError(MQRCCF.MSG_LENGTH_ERROR, f"{len(data) - end} bytes after the last parameter", end)
    return message


def read_from(data: bytes, at: int, representation: Representation = pcf.NATIVE) -> tuple[pcf.PCFMessage, int]:
    """Read the message at offset *at*. Returns the message and the offset after it. Raises PCFError: there is none."""
    return _Reader(data, representation).message(at)


class _Reader:
    def __init__(self, data: bytes, representation: Representation) -> None:
        order = integer_order(representation.encoding, is_source=True)
        if isinstance(order, MQRC):
            raise pcf.PCFError(MQRCCF.ENCODING_ERROR, f"encoding {representation.encoding}")
        self._data, self._order, self._representation = data, order, representation

    def message(self, at: int) -> tuple[pcf.PCFMessage, int]:
        header, count = self._header(at)
        open_, place = [_Open(0, count, at)], at + HEADER_LENGTH
        while True:
            while open_[-1].left == 0:
                done = open_.pop()
                if not open_:
                    return pcf.PCFMessage(header, tuple(done.parameters)), place
                open_[-1].parameters.append(pcf.MQCFGR(done.parameter, tuple(done.parameters)))
            open_[-1].left -= 1
            kind, length = self._front(place, open_)
            if kind == PCFType.GROUP:
                open_.append(self._group(place, length))
                if len(open_) > NESTING_MAX:
                    raise pcf.PCFError(MQRCCF.CFGR_PARM_COUNT_ERROR, f"more than {NESTING_MAX} groups in groups", place)
            else:
                open_[-1].parameters.append(_READERS[kind](self, place, length))
            place += length

    def _header(self, at: int) -> tuple[pcf.MQCFH, int]:
        if len(self._data) - at < HEADER_LENGTH:
            raise pcf.PCFError(MQRCCF.CFH_LENGTH_ERROR, f"{len(self._data) - at} bytes, needs {HEADER_LENGTH}", at)
        kind, length, version, command, number, control, comp_code, reason, count = self._longs(at, 9)
        for is_right, code, detail in (
            (kind in MESSAGE_TYPES, MQRCCF.CFH_TYPE_ERROR, f"Type {kind}"),
            (length == HEADER_LENGTH, MQRCCF.CFH_LENGTH_ERROR, f"StrucLength {length}"),
            (1 <= version <= _VERSION_MAX, MQRCCF.CFH_VERSION_ERROR, f"Version {version}"),
            (number >= 1, MQRCCF.CFH_MSG_SEQ_NUMBER_ERR, f"MsgSeqNumber {number}"),
            (control in (PCFControl.NOT_LAST, PCFControl.LAST), MQRCCF.CFH_CONTROL_ERROR, f"Control {control}"),
            (count >= 0, MQRCCF.CFH_PARM_COUNT_ERROR, f"ParameterCount {count}"),
        ):
            if not is_right:
                raise pcf.PCFError(code, detail, at)
        return pcf.MQCFH(kind, version, command, number, control, comp_code, reason), count

    def _front(self, at: int, open_: list[_Open]) -> tuple[int, int]:
        """Return type and length of the parameter at *at*, which is all there."""
        left = len(self._data) - at
        if left == 0:
            # The count promised more: that of the innermost group, or of the message.
            reason = MQRCCF.CFGR_PARM_COUNT_ERROR if len(open_) > 1 else MQRCCF.CFH_PARM_COUNT_ERROR
            raise pcf.PCFError(reason, f"{open_[-1].left + 1} parameters are missing", open_[-1].at)
        if left < _FRONT:
            raise pcf.PCFError(MQRCCF.MSG_LENGTH_ERROR, f"{left} bytes are no parameter", at)
        kind, length = self._longs(at, 2)
        known = _LENGTHS.get(kind)
        if known is None:
            raise pcf.PCFError(MQRCCF.STRUCTURE_TYPE_ERROR, f"Type {kind}", at)
        fixed, is_fixed, reason = known
        if length < fixed or length % _ALIGNMENT or (is_fixed and length != fixed):
            raise pcf.PCFError(reason, f"StrucLength {length}", at)
        if length > left:
            raise pcf.PCFError(MQRCCF.MSG_LENGTH_ERROR, f"StrucLength {length}, {left} bytes are left", at)
        return kind, length

    def _group(self, at: int, _: int) -> _Open:
        parameter, count = self._longs(at + _FRONT, 2)
        if count < 0:
            raise pcf.PCFError(MQRCCF.CFGR_PARM_COUNT_ERROR, f"ParameterCount {count}", at)
        return _Open(parameter, count, at)

    def _integer(self, at: int, _: int) -> pcf.Parameter:
        return pcf.MQCFIN(*self._longs(at + _FRONT, 2))

    def _integer64(self, at: int, _: int) -> pcf.Parameter:
        (value,) = struct.unpack_from(f"{self._order}q", self._data, at + 16)
        return pcf.MQCFIN64(self._longs(at + _FRONT, 1)[0], value)

    def _integers(self, at: int, length: int) -> pcf.Parameter:
        parameter, count = self._counted(at, length, _LONG)
        return pcf.MQCFIL(parameter, self._longs(at + 16, count))

    def _integers64(self, at: int, length: int) -> pcf.Parameter:
        parameter, count = self._counted(at, length, _LONG64)
        return pcf.MQCFIL64(parameter, struct.unpack_from(f"{self._order}{count}q", self._data, at + 16))

    def _counted(self, at: int, length: int, size: int) -> tuple[int, int]:
        parameter, count = self._longs(at + _FRONT, 2)
        if count < 0:
            raise pcf.PCFError(MQRCCF.CFIL_COUNT_ERROR, f"Count {count}", at)
        if length != 16 + count * size:
            raise pcf.PCFError(MQRCCF.CFIL_LENGTH_ERROR, f"StrucLength {length}, Count {count}", at)
        return parameter, count

    def _string(self, at: int, length: int) -> pcf.Parameter:
        parameter, ccsid, size = self._longs(at + _FRONT, 3)
        reasons = MQRCCF.CFST_STRING_LENGTH_ERR, MQRCCF.CFST_LENGTH_ERROR
        return pcf.MQCFST(parameter, self._bytes(at, 20, size, length, reasons), ccsid)

    def _strings(self, at: int, length: int) -> pcf.Parameter:
        parameter, ccsid, count, size = self._longs(at + _FRONT, 4)
        if count < 0:
            raise pcf.PCFError(MQRCCF.CFSL_COUNT_ERROR, f"Count {count}", at)
        if size < 0:
            raise pcf.PCFError(MQRCCF.CFSL_STRING_LENGTH_ERR, f"StringLength {size}", at)
        if size == 0 < count:
            # Strings without a byte would cost memory that the message does not have.
            raise pcf.PCFError(MQRCCF.CFSL_COUNT_ERROR, f"Count {count}, StringLength 0", at)
        if length != _aligned(24 + count * size):
            raise pcf.PCFError(MQRCCF.CFSL_LENGTH_ERROR, f"StrucLength {length}, {count} strings of {size}", at)
        first = at + 24
        strings = tuple(self._data[place : place + size] for place in range(first, first + count * size, size or 1))
        return pcf.MQCFSL(parameter, strings, ccsid)

    def _byte_string(self, at: int, length: int) -> pcf.Parameter:
        parameter, size = self._longs(at + _FRONT, 2)
        reasons = MQRCCF.CFBS_STRING_LENGTH_ERR, MQRCCF.CFBS_LENGTH_ERROR
        return pcf.MQCFBS(parameter, self._bytes(at, 16, size, length, reasons))

    def _integer_filter(self, at: int, _: int) -> pcf.Parameter:
        parameter, operator, value = self._longs(at + _FRONT, 3)
        _check_operator(operator, MQRCCF.CFIF_OPERATOR_ERROR, at)
        return pcf.MQCFIF(parameter, operator, value)

    def _string_filter(self, at: int, length: int) -> pcf.Parameter:
        parameter, operator, ccsid, size = self._longs(at + _FRONT, 4)
        _check_operator(operator, MQRCCF.CFSF_OPERATOR_ERROR, at)
        reasons = MQRCCF.CFSF_FILTER_VAL_LEN_ERR, MQRCCF.CFSF_LENGTH_ERROR
        return pcf.MQCFSF(parameter, operator, self._bytes(at, 24, size, length, reasons), ccsid)

    def _byte_filter(self, at: int, length: int) -> pcf.Parameter:
        parameter, operator, size = self._longs(at + _FRONT, 3)
        _check_operator(operator, MQRCCF.CFBF_OPERATOR_ERROR, at)
        reasons = MQRCCF.CFBF_FILTER_VAL_LEN_ERR, MQRCCF.CFBF_LENGTH_ERROR
        return pcf.MQCFBF(parameter, operator, self._bytes(at, 20, size, length, reasons))

    def _bytes(self, at: int, fixed: int, size: int, length: int, reasons: tuple[MQRCCF, MQRCCF]) -> bytes:
        if size < 0:
            raise pcf.PCFError(reasons[0], f"a length of {size}", at)
        if length != _aligned(fixed + size):
            raise pcf.PCFError(reasons[1], f"StrucLength {length}, a string of {size} bytes", at)
        return self._data[at + fixed : at + fixed + size]

    def _longs(self, at: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f"{self._order}{count}i", self._data, at)

    def _text(self, at: int, size: int) -> str:
        return pcf.text_of(self._data[at : at + size], 0, self._representation)


def _check_operator(operator: int, reason: MQRCCF, at: int) -> None:
    if operator not in _OPERATORS:
        raise pcf.PCFError(reason, f"Operator {operator}", at)


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


#: Type -> the length of its fixed part, whether it has no other, and the reason for a wrong one.
_LENGTHS: Final[dict[int, tuple[int, bool, MQRCCF]]] = {
    PCFType.INTEGER: (16, True, MQRCCF.CFIN_LENGTH_ERROR),
    PCFType.INTEGER64: (24, True, MQRCCF.CFIN_LENGTH_ERROR),
    PCFType.INTEGER_LIST: (16, False, MQRCCF.CFIL_LENGTH_ERROR),
    PCFType.INTEGER64_LIST: (16, False, MQRCCF.CFIL_LENGTH_ERROR),
    PCFType.STRING: (20, False, MQRCCF.CFST_LENGTH_ERROR),
    PCFType.STRING_LIST: (24, False, MQRCCF.CFSL_LENGTH_ERROR),
    PCFType.BYTE_STRING: (16, False, MQRCCF.CFBS_LENGTH_ERROR),
    PCFType.GROUP: (16, True, MQRCCF.CFGR_LENGTH_ERROR),
    PCFType.INTEGER_FILTER: (20, True, MQRCCF.CFIF_LENGTH_ERROR),
    PCFType.STRING_FILTER: (24, False, MQRCCF.CFSF_LENGTH_ERROR),
    PCFType.BYTE_STRING_FILTER: (20, False, MQRCCF.CFBF_LENGTH_ERROR),
}
_READERS: Final[dict[int, Callable[[_Reader, int, int], pcf.Parameter]]] = {
    PCFType.INTEGER: _Reader._integer,
    PCFType.INTEGER64: _Reader._integer64,
    PCFType.INTEGER_LIST: _Reader._integers,
    PCFType.INTEGER64_LIST: _Reader._integers64,
    PCFType.STRING: _Reader._string,
    PCFType.STRING_LIST: _Reader._strings,
    PCFType.BYTE_STRING: _Reader._byte_string,
    PCFType.INTEGER_FILTER: _Reader._integer_filter,
    PCFType.STRING_FILTER: _Reader._string_filter,
    PCFType.BYTE_STRING_FILTER: _Reader._byte_filter,
}
