"""Character sets by CCSID: which of Python's codecs writes text as a coded character set of IBM's.

Source: IBM MQ reference, "Code page conversion"; IBM's CDRA registry for the numbers.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from sharedq.mqi.constants.descriptor import Encoding
from sharedq.mqi.constants.reasons import MQRC

#: Unicode in units of two bytes: MQMD's Encoding says which of the two comes first.
_UTF_16: Final = frozenset({1200, 13488, 17584})
_INTEGER_MASK: Final = 0x00F

#: Lines of CCSIDs with Python's name of the codec.
_NAMED: Final = """
1208 utf-8
367 ascii
819 latin-1
912 iso8859-2
913 iso8859-3
914 iso8859-4
915 iso8859-5
1089 iso8859-6
813 iso8859-7
916 iso8859-8
920 iso8859-9
919 iso8859-10
921 iso8859-13
923 iso8859-15
878 koi8-r
1168 koi8-u
1275 mac-roman
37 1047 cp037
273 1141 cp273
500 1148 cp500
932 943 cp932
954 5050 33722 euc-jp
936 1386 gbk
1383 gb2312
1392 5488 gb18030
950 1370 cp950
949 1363 cp949
970 euc-kr
"""
#: Those that Python knows by IBM's number: PCs, EBCDIC, Windows.
_NUMBERED: Final = (
    *(437, 720, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 866, 869, 874, 1125),
    *(424, 875, 1026, 1140),
    *range(1250, 1259),
)
#: IBM's numbers of Windows' code pages since they have the euro sign.
_WINDOWS_WITH_EURO: Final = range(5346, 5355)

CODECS: Final[dict[int, str]] = (
    {int(ccsid): line.split()[-1] for line in _NAMED.splitlines() for ccsid in line.split()[:-1]}
    | {ccsid: f"cp{ccsid}" for ccsid in _NUMBERED}
    | {ccsid: f"cp{ccsid - 4096}" for ccsid in _WINDOWS_WITH_EURO}
)

#: EBCDIC "for open systems" is code page 37 with three pairs of characters changed round.
_PAIRS_OF_1047: Final = bytes.maketrans(b"\x5f\xb0\xad\xba\xbb\xbd", b"\xb0\x5f\xba\xad\xbd\xbb")
_SWAPPED_BYTES: Final[dict[int, bytes]] = {1047: _PAIRS_OF_1047}
#: These have the euro sign where the page that they come from has the currency sign.
_WITH_EURO: Final = frozenset({1141, 1148})
_EURO_FOR_CURRENCY: Final = str.maketrans("\u20ac\u00a4", "\u00a4\u20ac")


class Representation(NamedTuple):
    """How data are written: CodedCharSetId and Encoding, none of them a special value."""

    ccsid: int
    encoding: int


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """One coded character set.

    Attributes:
        codec: Python's name for it, or for the one that it differs little from.
        is_for_names: it has one byte for each character that a queue's name may have.
    """

    codec: str
    is_for_names: bool
    _swapped: bytes | None = None
    _has_euro: bool = False

    def text(self, data: bytes, *, is_cut: bool = False) -> str:
        """The text that *data* are.

        Args:
            is_cut: the data may end within a character, which is then left out.

        Raises:
            UnicodeDecodeError: they are no text of this character set.
        """
        if self._swapped is not None:
            data = data.translate(self._swapped)
        text = codecs.getincrementaldecoder(self.codec)().decode(data, final=not is_cut)
        return text.translate(_EURO_FOR_CURRENCY) if self._has_euro else text

    def data(self, text: str) -> bytes:
        """The bytes of *text*.

        Raises:
            UnicodeEncodeError: a character of it is not in this character set.
        """
        data = (text.translate(_EURO_FOR_CURRENCY) if self._has_euro else text).encode(self.codec)
        return data if self._swapped is None else data.translate(self._swapped)

    def cut(self, data: bytes, length: int) -> bytes:
        """The beginning of *data* that fits *length* bytes without tearing a character."""
        return self.data(self.text(data[:length], is_cut=True))


@lru_cache(maxsize=256)
def character_set(ccsid: int, encoding: int, *, is_source: bool) -> CharacterSet | MQRC:
    """The character set *ccsid*, written as *encoding* (MQENC_*) says.

    Returns:
        The character set; or what is wrong with it as that of a message (``is_source``), else with the one asked
        for: 2111 or 2115 it is not known, 2112 or 2116 the encoding does not say how it writes integers.
    """
    if ccsid in _UTF_16:
        order = integer_order(encoding, is_source=is_source)
        if isinstance(order, MQRC):
            return order
        return CharacterSet("utf-16-be" if order == ">" else "utf-16-le", is_for_names=False)
    codec = CODECS.get(ccsid)
    if codec is None:
        return MQRC.SOURCE_CCSID_ERROR if is_source else MQRC.TARGET_CCSID_ERROR
    return CharacterSet(codec, True, _SWAPPED_BYTES.get(ccsid), ccsid in _WITH_EURO)


def integer_order(encoding: int, *, is_source: bool) -> str | MQRC:
    """How *encoding* writes integers: ``>`` high byte first, ``<`` low byte first; or 2112, 2116 as above."""
    if encoding & _INTEGER_MASK == Encoding.INTEGER_NORMAL:
        return ">"
    if encoding & _INTEGER_MASK == Encoding.INTEGER_REVERSED:
        return "<"
    return MQRC.SOURCE_INTEGER_ENC_ERROR if is_source else MQRC.TARGET_INTEGER_ENC_ERROR
