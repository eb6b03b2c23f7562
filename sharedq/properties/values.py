"""Values of properties: their Python types, their text in a folder, and what MQINQMP converts them to.

MQTYPE_BOOLEAN is ``bool``, MQTYPE_INT* ``int``, MQTYPE_FLOAT* ``float``, MQTYPE_STRING ``str``, MQTYPE_BYTE_STRING
``bytes``, MQTYPE_NULL ``None``.

Source: IBM MQ, "Mapping property data types to MQRFH2 data types"; MQINQMP, MQIMPO_CONVERT_TYPE.
"""

from __future__ import annotations

import re
import string
import struct
from typing import Final

from sharedq.mqi.constants import MQRC, PropertyType
from sharedq.mqi.errors import error_for

Value = bool | int | float | str | bytes | None

_T = PropertyType
#: Integer types with their lengths in bits.
INTEGERS: Final = {_T.INT8: 8, _T.INT16: 16, _T.INT32: 32, _T.INT64: 64}
_FLOATS: Final = (_T.FLOAT32, _T.FLOAT64)
_PYTHON: Final = {
    _T.BOOLEAN: (bool, int),
    _T.BYTE_STRING: (bytes,),
    _T.FLOAT32: (float, int),
    _T.FLOAT64: (float, int),
    _T.STRING: (str,),
    _T.NULL: (type(None),),
    **dict.fromkeys(INTEGERS, (int,)),
}
#: The attribute ``dt`` of an element. Without it a value is a string.
WORDS: Final = {
    _T.BOOLEAN: "boolean",
    _T.BYTE_STRING: "bin.hex",
    _T.INT8: "i1",
    _T.INT16: "i2",
    _T.INT32: "i4",
    _T.INT64: "i8",
    _T.FLOAT32: "r4",
    _T.FLOAT64: "r8",
    _T.STRING: "string",
}
TYPES: Final = {word: type_ for type_, word in WORDS.items()} | {"int": _T.INT64}
_LENGTHS: Final = {_T.BOOLEAN: 4, _T.FLOAT32: 4, _T.FLOAT64: 8, _T.NULL: 0} | {t: b // 8 for t, b in INTEGERS.items()}
_TRUTHS: Final = {"1": True, "true": True, "0": False, "false": False}
_WHOLE: Final = re.compile(r"[ \t]*[+-]?[0-9]{1,19}[ \t]*")
_NUMBER: Final = re.compile(
    r"[ \t]*[+-]?(inf|nan|([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?)[ \t]*"
)
_SINGLE: Final = struct.Struct("<f")


def checked(type_: int, value: Value) -> tuple[PropertyType, Value]:
    """A type and a value of it, as MQSETMP takes them.

    Raises:
        MQIError: 2473 no such type, or the value is of another one; 2469 it does not fit it.
    """
    try:
        known = PropertyType(type_)
    except ValueError:
        known = _T.AS_SET
    if known == _T.AS_SET or not isinstance(value, _PYTHON[known]) or (known in INTEGERS and isinstance(value, bool)):
        detail = f"a value of type {type(value).__name__} is no {known.name if known else type_}"
        raise error_for(MQRC.PROPERTY_TYPE_ERROR, "MQSETMP", "", detail)
    if known == _T.BOOLEAN:
        return known, bool(value)
    if known in _FLOATS:
        assert isinstance(value, int | float)
        return known, _float(known, value)
    if known in INTEGERS:
        assert isinstance(value, int)
        bits = INTEGERS[known]
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise error_for(MQRC.PROPERTY_VALUE_TOO_BIG, "MQSETMP", "", f"{value} does not fit {bits} bits")
    if isinstance(value, str) and not value.isascii():
        _encodable(value)
    return known, value


def _encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise error_for(MQRC.PROP_VALUE_NOT_CONVERTED, "MQSETMP", "", f"half of a surrogate pair: {error}") from None


def _float(type_: PropertyType, value: float) -> float:
    try:
        return float(_SINGLE.unpack(_SINGLE.pack(value))[0]) if type_ == _T.FLOAT32 else float(value)
    except OverflowError:
        raise error_for(MQRC.PROPERTY_VALUE_TOO_BIG, "", "", f"{value!r} does not fit {type_.name}") from None


def type_of(value: Value) -> PropertyType:
    """The type that a value has if its program says none: numbers take the widest."""
    if isinstance(value, bool):
        return _T.BOOLEAN
    for type_, kind in ((_T.INT64, int), (_T.FLOAT64, float), (_T.STRING, str), (_T.BYTE_STRING, bytes)):
        if isinstance(value, kind):
            return type_
    return _T.NULL


def length_of(type_: PropertyType, value: Value) -> int:
    """The length of a value in the buffer of an MQINQMP, bytes. A string is in UTF-8."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    return len(value) if isinstance(value, bytes) else _LENGTHS[type_]


def text_of(type_: PropertyType, value: Value) -> str:
    """The text of a value in a folder, not yet escaped."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, float):
        return _float_text(type_, value)
    return "" if value is None else str(value)


def _float_text(type_: PropertyType, value: float) -> str:
    # Nine digits bring a number of 32 bits back.
    return f"{value:.9g}" if type_ == _T.FLOAT32 else repr(value)


def value_of(type_: PropertyType, text: str) -> Value:
    """The value that a text in a folder is. Raises ValueError: it is no value of this type."""
    if type_ == _T.STRING:
        return text
    if type_ == _T.BYTE_STRING:
        return bytes.fromhex(text)
    if type_ == _T.BOOLEAN:
        return _truth(text)
    return _whole(type_, text) if type_ in INTEGERS else _real(type_, text)


def _truth(text: str) -> bool:
    known = _TRUTHS.get(text.strip(string.whitespace).lower())
    if known is None:
        raise ValueError(f"{text[:40]!r} is no truth value")
    return known


def _whole(type_: PropertyType, text: str) -> int:
    bits = INTEGERS[type_]
    if not _WHOLE.fullmatch(text) or not -(1 << bits - 1) <= int(text) < 1 << bits - 1:
        raise ValueError(f"{text[:40]!r} is no whole number of {bits} bits")
    return int(text)


def _real(type_: PropertyType, text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no number")
    return _float(type_, float(text))


def converted(type_: PropertyType, value: Value, wanted: PropertyType) -> Value:
    """A value as another type (MQIMPO_CONVERT_TYPE).

    Raises:
        MQIError: 2470 there is no such conversion, or it would lose something; 2472 a text is no such number.
    """
    if type_ == wanted or wanted == _T.AS_SET:
        return value
    if value is None or wanted in (_T.NULL, _T.BYTE_STRING):
        raise _no_conversion(type_, wanted)
    if wanted == _T.STRING:
        return ("TRUE" if value else "FALSE") if type_ == _T.BOOLEAN else text_of(type_, value)
    if isinstance(value, str):
        try:
            return value_of(wanted, value)
        except ValueError as error:
            raise error_for(MQRC.PROP_NUMBER_FORMAT_ERROR, "MQINQMP", "", str(error)) from None
    if isinstance(value, bytes) or (isinstance(value, float) and wanted not in _FLOATS):
        raise _no_conversion(type_, wanted)
    if wanted == _T.BOOLEAN:
        return bool(value)
    if wanted in _FLOATS:
        if type_ not in _FLOATS or _float(wanted, value) != value:
            raise _no_conversion(type_, wanted)
        return value
    bits = INTEGERS[wanted]
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise _no_conversion(type_, wanted)
    return int(value)


def _no_conversion(type_: PropertyType, wanted: PropertyType) -> Exception:
    detail = f"this {type_.name} cannot be {wanted.name}"
    return error_for(MQRC.PROP_CONV_NOT_SUPPORTED, "MQINQMP", "", detail)
