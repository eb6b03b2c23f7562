"""Writing of PCF: structures in, bytes out, in any order of bytes and coded character set."""

from __future__ import annotations

import struct
from typing import Final

from sharedq.mqi.character_sets import Representation, integer_order
from sharedq.mqi.constants.pcf import MQRCCF, PCFType
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.reading import HEADER_LENGTH, NESTING_MAX

_ALIGNMENT: Final = 4


def write(message: pcf.PCFMessage, representation: Representation = pcf.NATIVE) -> bytes:
    """Return the bytes of *message*.

    Raises:
        PCFError: a number does not fit its field, or groups are too deep within one another.
    """
    return b"".join(_Writer(representation).message(message))


class _Writer:
    def __init__(self, representation: Representation) -> None:
        order = integer_order(representation.encoding, is_source=False)
        if isinstance(order, MQRC):
            raise pcf.PCFError(MQRCCF.ENCODING_ERROR, f"encoding {representation.encoding}")
        self._order, self._representation = order, representation

    def message(self, message: pcf.PCFMessage) -> list[bytes]:
        header = message.header
        front = self.longs(
            MQRCCF.CFH_LENGTH_ERROR,
            header.type,
            HEADER_LENGTH,
            header.version,
            header.command,
            header.msg_seq_number,
            header.control,
            header.comp_code,
            header.reason,
            len(message.parameters),
        )
        parts, open_ = [front], [iter(message.parameters)]
        while open_:
            parameter = next(open_[-1], None)
            if parameter is None:
                open_.pop()
            elif isinstance(parameter, pcf.MQCFGR):
                if len(open_) >= NESTING_MAX:
                    raise pcf.PCFError(MQRCCF.CFGR_PARM_COUNT_ERROR, f"more than {NESTING_MAX} groups in groups")
                count = len(parameter.parameters)
                parts.append(self.longs(MQRCCF.CFGR_LENGTH_ERROR, PCFType.GROUP, 16, parameter.parameter, count))
                open_.append(iter(parameter.parameters))
            else:
                parts.append(self._parameter(parameter))
        return parts

    def _parameter(self, one: pcf.Parameter) -> bytes:
        longs = self.longs
        match one:
            case pcf.MQCFIN():
                return longs(MQRCCF.CFIN_LENGTH_ERROR, PCFType.INTEGER, 16, one.parameter, one.value)
            case pcf.MQCFIN64():
                front = longs(MQRCCF.CFIN_LENGTH_ERROR, PCFType.INTEGER64, 24, one.parameter, 0)
                return front + self._pack(MQRCCF.CFIN_LENGTH_ERROR, "q", one.value)
            case pcf.MQCFIL() | pcf.MQCFIL64():
                kind, size, code = (PCFType.INTEGER_LIST, 4, "i")
                if isinstance(one, pcf.MQCFIL64):
                    kind, size, code = (PCFType.INTEGER64_LIST, 8, "q")
                count, reason = len(one.values), MQRCCF.CFIL_LENGTH_ERROR
                return longs(reason, kind, 16 + size * count, one.parameter, count) + self._pack(
                    reason, f"{count}{code}", *one.values
                )
            case pcf.MQCFST():
                reason = MQRCCF.CFST_LENGTH_ERROR
                return self._with_string(reason, PCFType.STRING, one.string, one.parameter, one.ccsid)
            case pcf.MQCFSL():
                return self._strings(one)
            case pcf.MQCFBS():
                return self._with_string(MQRCCF.CFBS_LENGTH_ERROR, PCFType.BYTE_STRING, one.string, one.parameter)
            case pcf.MQCFIF():
                reason = MQRCCF.CFIF_LENGTH_ERROR
                return longs(reason, PCFType.INTEGER_FILTER, 20, one.parameter, one.operator, one.filter_value)
            case pcf.MQCFSF():
                fields = one.parameter, one.operator, one.ccsid
                return self._with_string(MQRCCF.CFSF_LENGTH_ERROR, PCFType.STRING_FILTER, one.filter_value, *fields)
            case pcf.MQCFBF():
                reason, kind = MQRCCF.CFBF_LENGTH_ERROR, PCFType.BYTE_STRING_FILTER
                return self._with_string(reason, kind, one.filter_value, one.parameter, one.operator)
        raise pcf.PCFError(MQRCCF.STRUCTURE_TYPE_ERROR, type(one).__name__)

    def _strings(self, one: pcf.MQCFSL) -> bytes:
        size = max(map(len, one.strings), default=0)
        if size == 0 and one.strings:
            # A list of empty strings is one of blanks: reading refuses strings without a byte.
            size = 1
        is_padded = any(len(string) < size for string in one.strings)
        blanks = pcf.bytes_of(" " * size, one.ccsid, self._representation) if is_padded else b""
        data = b"".join(string + blanks[: size - len(string)] for string in one.strings)
        padding = -len(data) % _ALIGNMENT
        reason, count = MQRCCF.CFSL_LENGTH_ERROR, len(one.strings)
        length = 24 + len(data) + padding
        front = self.longs(reason, PCFType.STRING_LIST, length, one.parameter, one.ccsid, count, size)
        return front + data + bytes(padding)

    def _with_string(self, reason: MQRCCF, kind: PCFType, string: bytes, *fields: int) -> bytes:
        """A structure that ends with the length of a string and the string."""
        padding = -len(string) % _ALIGNMENT
        length = 4 * (len(fields) + 3) + len(string) + padding
        return self.longs(reason, kind, length, *fields, len(string)) + string + bytes(padding)

    def longs(self, reason: MQRCCF | MQRC, *values: int) -> bytes:
        return self._pack(reason, f"{len(values)}i", *values)

    def _pack(self, reason: MQRCCF | MQRC, text: str, *values: int) -> bytes:
        try:
            return struct.pack(f"{self._order}{text}", *values)
        except struct.error as error:
            raise pcf.PCFError(reason, f"a number does not fit its field: {error}") from error
