"""IBM's types, by which the classes of ``structures`` and ``headers`` declare their fields, and the reading of these.

The declaration of a class is the only description of its structure: the byte layouts (``wire``) and the classes of
``sharedq.pymqi`` are made from it. A ``ClassVar`` stands for a field that IBM's structure has and ours has not.

Many fields of a structure are read and written at once, in code that Python compiles for those fields. Only compiled
code lets CPython remember where an attribute is: ``operator.attrgetter`` takes 2.6 times as long for the 28 fields of a
message descriptor, and every put reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

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
T = TypeVar("T")


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


def reader(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns these fields of a structure, in this order."""
    return _compiled("lambda structure: ({fields})", names, {})


def reader_into(call: Callable[..., T], names: Iterable[str]) -> Callable[[Any], T]:
    """A function that makes the *call* with these fields of a structure as its arguments."""
    return _compiled("lambda structure: call({fields})", names, {"call": call})


def type_checker(initial: Mapping[str, int | bytes], wide: Collection[str]) -> Callable[[Any], object]:
    """A function that says whether these fields of a structure are byte strings, and numbers that fit 32 bits.

    It may raise AttributeError. Most fields have their *initial* values, and identity with these is quickly seen.

    Args:
        wide: the numbers that have 64 bits.
    """
    tests = []
    for name, value in initial.items():
        field = f"structure.{name}"
        limit = 1 << (63 if name in wide else 31)
        is_right = f"isinstance({field}, int) and {-limit} <= {field} < {limit}"
        tests.append(f"({field} is {name} or {is_right if isinstance(value, int) else f'{field}.__class__ is bytes'})")
    return _compiled(f"lambda structure: {' and '.join(tests) or True}", (), dict(initial))


def packer(pack: Callable[..., bytes], fields: Iterable[tuple[str, int, bool]]) -> Callable[..., bytes | bool]:
    """A function that calls *pack* with what it is given after a structure, and with these fields of the structure.

    It returns False where a byte string is too long, and may raise what *pack* raises, AttributeError and TypeError.

    Args:
        fields: the name of each ("": nulls), the length of a byte string (0: a number), and whether blanks fill it up.
    """
    fits, values = "", ""
    for name, length, is_padded in fields:
        fits += f"len(structure.{name}) <= {length} and " if name and length else ""
        value = f"structure.{name}" if name else repr(b"" if length else 0)
        values += f"{value}.ljust({length}), " if name and is_padded else f"{value}, "
    return _compiled(f"lambda structure, *front: {fits}pack(*front, {values})", (), {"pack": pack})


def maker(structure: Callable[..., T], fields: Iterable[tuple[str, bool]]) -> Callable[..., T]:
    """A function that makes a structure of StrucId and the values of these fields.

    Args:
        fields: the name of each ("": left out), and whether blanks and nulls fill it up.
    """
    taken, given = "", ""
    for at, (name, is_padded) in enumerate(fields):
        taken += f", value{at}"
        end = r'.rstrip(b" \0")' if is_padded else ""
        given += f"{name}=value{at}{end}, " if name else ""
    return _compiled(f"lambda identifier{taken}: structure({given})", (), {"structure": structure})


def _compiled(text: str, names: Iterable[str], known: dict[str, Any]) -> Callable[..., Any]:
    # The names are those of a class in this package; no program and no message gives one.
    fields = "".join([f"structure.{name}, " for name in names])
    function: Callable[..., Any] = eval(text.format(fields=fields), known)
    return function
