"""Character sets by CCSID: which codec, of Python's or of package ``ebcdic``, writes text as IBM's coded character set.

Source: IBM MQ reference, "Code page conversion"; IBM's CDRA registry for the numbers.
"""

from __future__ import annotations

import codecs
import importlib
import string
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from sharedq.mqi.constants.descriptor import Encoding
from sharedq.mqi.constants.reasons import MQRC

#: CCSIDs of Unicode in units of two bytes: MQMD's Encoding says which of the two comes first.
UTF_16: Final = frozenset({1200, 13488, 17584})
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
916 5012 iso8859-8
920 iso8859-9
919 iso8859-10
921 iso8859-13
923 iso8859-15
878 koi8-r
1168 koi8-u
1051 hp-roman8
1275 mac-roman
1280 mac-greek
1281 mac-turkish
1282 mac-latin2
1283 mac-cyrillic
932 943 cp932
954 5050 33722 euc-jp
936 1386 gbk
1383 gb2312
1392 5488 gb18030
950 1370 cp950
949 1363 cp949
970 euc-kr
"""
#: Those that Python knows by IBM's number: PCs, Windows.
_NUMBERED: Final = (
    *(437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869, 874, 1006, 1125),
    *range(1250, 1259),
)
#: IBM's numbers of Windows' code pages since they have the euro sign.
_WINDOWS_WITH_EURO: Final = range(5346, 5355)

#: EBCDIC with one byte a character: IBM's number of the code page that Python's codecs or package ``ebcdic`` have.
_EBCDIC: Final = {
    ccsid: ccsid
    for ccsid in (
        *(37, 273, 277, 278, 280, 284, 285, 290, 297, 420, 424, 500, 833, 838, 870, 871, 875),
        *(1025, 1026, 1047, 1097, 1112, 1122, 1123, *range(1140, 1150)),
    )
}
#: Code pages with the euro sign where the page that they come from has the currency sign.
_EBCDIC_WITH_EURO: Final = {1153: 870, 1155: 1026, 1156: 1112, 1157: 1122}
_NEXT_LINE, _LINE_FEED = 0x15, 0x25
#: Stands in a table of characters for a byte that has none.
_UNDEFINED: Final = "\ufffe"

CODECS: Final[dict[int, str]] = (
    {int(ccsid): line.split()[-1] for line in _NAMED.splitlines() for ccsid in line.split()[:-1]}
    | {ccsid: f"cp{ccsid}" for ccsid in _NUMBERED}
    | {ccsid: f"cp{ccsid - 4096}" for ccsid in _WINDOWS_WITH_EURO}
    | {ccsid: f"cp{page:03}" for ccsid, page in (_EBCDIC | _EBCDIC_WITH_EURO).items()}
)
_OF_NAMES: Final = string.ascii_letters + string.digits + "./_%"
#: Characters of an EBCDIC page, by byte, and bytes by character.
_Table = tuple[str, dict[int, int]]


class Representation(NamedTuple):
    """How data are written: CodedCharSetId and Encoding, none of them a special value."""

    ccsid: int
    encoding: int


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """One coded character set.

    Attributes:
        codec: Python's name for it.
    """

    codec: str
    _table: _Table | None = field(default=None, compare=False, repr=False)
    _has_euro: bool = False

    @property
    def is_for_names(self) -> bool:
        """Whether it has one byte for each character that a queue's name may have."""
        try:
            return len(self.data(_OF_NAMES)) == len(_OF_NAMES)
        except UnicodeEncodeError:
            return False

    def text(self, data: bytes, *, is_cut: bool = False) -> str:
        """The text that *data* are.

        Args:
            is_cut: the data may end within a character, which is then left out.

        Raises:
            UnicodeDecodeError: they are no text of this character set.
        """
        if self._table is not None:
            return codecs.charmap_decode(data, "strict", self._table[0])[0]
        return codecs.getincrementaldecoder(self.codec)().decode(data, final=not is_cut)

    def data(self, text: str) -> bytes:
        """The bytes of *text*. Raises UnicodeEncodeError: a character of it is not in this character set."""
        if self._table is not None:
            return codecs.charmap_encode(text, "strict", self._table[1])[0]
        return text.encode(self.codec)

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
    if ccsid in UTF_16:
        order = integer_order(encoding, is_source=is_source)
        if isinstance(order, MQRC):
            return order
        return CharacterSet("utf-16-be" if order == ">" else "utf-16-le")
    codec = CODECS.get(ccsid)
    if codec is None:
        return MQRC.SOURCE_CCSID_ERROR if is_source else MQRC.TARGET_CCSID_ERROR
    if ccsid in _EBCDIC or ccsid in _EBCDIC_WITH_EURO:
        has_euro = ccsid in _EBCDIC_WITH_EURO
        return CharacterSet(codec, _table(codec, has_euro=has_euro), has_euro)
    return CharacterSet(codec)


@lru_cache(maxsize=64)
def _table(codec: str, *, has_euro: bool) -> _Table:
    """The characters of an EBCDIC page. Its control characters for the end of a line are IBM's in all of them."""
    try:
        decoder = codecs.lookup(codec)
    except LookupError:
        # The package registers its codecs, in a few milliseconds, which only EBCDIC shall cost.
        importlib.import_module("ebcdic")
        decoder = codecs.lookup(codec)
    characters = [decoder.decode(bytes([byte]), "replace")[0] for byte in range(256)]
    characters[_NEXT_LINE], characters[_LINE_FEED] = "\x85", "\n"
    if has_euro:
        characters = ["\u20ac" if each == "\xa4" else each for each in characters]
    table = "".join(_UNDEFINED if each == "\ufffd" else each for each in characters)
    bytes_by_character = {ord(each): byte for byte, each in reversed(list(enumerate(table))) if each != _UNDEFINED}
    return table, bytes_by_character


def integer_order(encoding: int, *, is_source: bool) -> str | MQRC:
    """How *encoding* writes integers: ``>`` high byte first, ``<`` low byte first; or 2112, 2116 as above."""
    if encoding & _INTEGER_MASK == Encoding.INTEGER_NORMAL:
        return ">"
    if encoding & _INTEGER_MASK == Encoding.INTEGER_REVERSED:
        return "<"
    return MQRC.SOURCE_INTEGER_ENC_ERROR if is_source else MQRC.TARGET_INTEGER_ENC_ERROR
