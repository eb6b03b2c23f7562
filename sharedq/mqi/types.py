"""IBM's types, by which the classes of ``structures`` and ``headers`` declare their fields, and the reading of these.

The declaration of a class is the only description of its structure: the byte layouts (``wire``) and the classes of
``sharedq.pymqi`` are made from it. A ``ClassVar`` stands for a field that IBM's structure has and ours has not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MQLONG = int
MQPTR = int
MQHMSG = int
MQCHAR = bytes
MQCHAR4 = bytes
MQCHAR8 = bytes
MQCHAR12 = bytes
MQCHAR28 = bytes
MQCHAR32 = bytes
MQCHAR48 = bytes
MQCHAR64 = bytes
MQCHAR128 = bytes
MQCHAR256 = bytes
MQBYTE4 = bytes
MQBYTE8 = bytes
MQBYTE16 = bytes
MQBYTE24 = bytes
MQBYTE32 = bytes
MQBYTE40 = bytes
MQBYTE128 = bytes
#: A string somewhere else, to which IBM's structure has a pointer; in ours it is the string itself.
MQCHARV = bytes
MQCHARV_TEXT = str

_HIDDEN: Final = "ClassVar["
_NUMBERS: Final = {"MQLONG": "i", "MQPTR": "P", "MQHMSG": "q"}
_CHARACTERS: Final = re.compile(r"MQ(CHAR|BYTE)(\d*)")
#: MQCHARV: its members, and their kinds.
_STRING: Final = (("VSPtr", "P"), ("VSOffset", "i"), ("VSBufSize", "i"), ("VSLength", "i"), ("VSCCSID", "i"))
#: Words that IBM's names have in capitals.
_CAPITALS: Final = frozenset({"ccsid", "ssl"})


@dataclass(frozen=True, slots=True)
class Field:
    """A field of IBM's structure.

    Attributes:
        name: ours; "" for a field that only IBM's has.
        ibm_name: IBM's.
        kind: ``i`` MQLONG, ``q`` MQHMSG, ``P`` pointer, ``c48`` MQCHAR48, ``b24`` MQBYTE24.
    """

    name: str
    ibm_name: str
    kind: str


def declared(structure: type) -> tuple[Field, ...]:
    """The fields that a class declares, after StrucId and Version. A field of none of IBM's types is left out."""
    found: list[Field] = []
    for name, type_ in structure.__annotations__.items():
        kind = type_.removeprefix(_HIDDEN).removesuffix("]")
        ours = "" if type_.startswith(_HIDDEN) else name
        if name == "version":
            continue
        if kind.startswith("MQCHARV"):
            found += [Field("", ibm_name(name) + part, its_kind) for part, its_kind in _STRING]
        elif kind in _NUMBERS:
            found.append(Field(ours, ibm_name(name), _NUMBERS[kind]))
        elif told := _CHARACTERS.fullmatch(kind):
            found.append(Field(ours, ibm_name(name), told[1][0].lower() + (told[2] or "1")))
    return tuple(found)


def ibm_name(name: str) -> str:
    """IBM's name of a field: ``ReplyToQMgr`` for ``reply_to_q_mgr``."""
    return "".join(word.upper() if word in _CAPITALS else word.capitalize() for word in name.split("_"))
