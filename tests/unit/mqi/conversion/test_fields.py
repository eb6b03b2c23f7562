"""Fields of each kind, in every encoding of numbers. Expected bytes are of IBM's and IEEE's definitions."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQRC, Encoding
from sharedq.mqi.conversion.errors import ConversionError
from sharedq.mqi.conversion.fields import converted_fields

NORMAL, REVERSED, S390, TNS = (int(getattr(Encoding, name)) for name in ("NORMAL", "REVERSED", "S390", "TNS"))


def converted(kind: str, data: bytes, source: int, target: int) -> bytes:
    return converted_fields(data, (("field", kind),), Representation(819, source), Representation(819, target))


def reason(kind: str, data: bytes, source: int, target: int) -> MQRC:
    with pytest.raises(ConversionError) as caught:
        converted(kind, data, source, target)
    return caught.value.reason


@pytest.mark.parametrize(
    ("kind", "low_first", "high_first"),
    [
        ("h", b"\x02\x01", b"\x01\x02"),
        ("i", b"\x04\x03\x02\x01", b"\x01\x02\x03\x04"),
        ("q", b"\x08\x07\x06\x05\x04\x03\x02\x01", b"\x01\x02\x03\x04\x05\x06\x07\x08"),
        ("p3", b"\x5c\x34\x12", b"\x12\x34\x5c"),
        ("f", struct.pack("<f", 1.5), struct.pack(">f", 1.5)),
        ("d", struct.pack("<d", float("nan")), struct.pack(">d", float("nan"))),
        ("b4", b"\x01\x02\x03\x04", b"\x01\x02\x03\x04"),
    ],
)
def test_numbers_take_the_other_order(kind: str, low_first: bytes, high_first: bytes) -> None:
    assert converted(kind, low_first, REVERSED, NORMAL) == high_first
    assert converted(kind, high_first, NORMAL, REVERSED) == low_first


@pytest.mark.parametrize(
    ("kind", "number", "hexadecimal"),
    [
        ("f", 0.0, b"\0\0\0\0"),
        ("f", 1.0, b"\x41\x10\0\0"),
        ("f", -118.625, b"\xc2\x76\xa0\0"),
        ("f", 0.15625, b"\x40\x28\0\0"),
        ("d", 1.0, b"\x41\x10\0\0\0\0\0\0"),
        ("d", -0.5, b"\xc0\x80\0\0\0\0\0\0"),
        ("d", 1 / 16, b"\x40\x10\0\0\0\0\0\0"),
        ("d", 256.0, b"\x43\x10\0\0\0\0\0\0"),
    ],
)
def test_hexadecimal_floating_point(kind: str, number: float, hexadecimal: bytes) -> None:
    for order, encoding in (("<", REVERSED), (">", NORMAL)):
        ieee = struct.pack(order + kind, number)
        assert converted(kind, ieee, encoding, S390) == hexadecimal
        assert converted(kind, hexadecimal, S390, encoding) == ieee


@given(st.floats(min_value=-1e70, max_value=1e70).filter(lambda number: not 0 < abs(number) < 1e-70))
def test_any_long_float_goes_there_and_back(number: float) -> None:
    ieee = struct.pack(">d", number)
    there = converted("d", ieee, NORMAL, S390)
    # 56 bits hold the 53 of IEEE, whatever the four bits are with which its first digit begins.
    assert converted("d", there, S390, NORMAL) == ieee
    exponent, fraction = (there[0] & 0x7F) - 64, Fraction(int.from_bytes(there[1:], "big"), 1 << 56)
    assert abs(Fraction(number)) == fraction * Fraction(16) ** exponent
    assert not number or there[1] >> 4


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 1e300])
def test_numbers_that_hexadecimal_floating_point_does_not_have(number: float) -> None:
    assert reason("d", struct.pack(">d", number), NORMAL, S390) == MQRC.NOT_CONVERTED


def test_numbers_that_ieee_does_not_have_in_four_bytes() -> None:
    assert reason("f", b"\x7f\xff\xff\xff", S390, NORMAL) == MQRC.NOT_CONVERTED
    assert converted("f", struct.pack(">f", 1e-45), NORMAL, S390)[:1] < b"\x40"
    assert converted("d", struct.pack(">d", 1e-300), NORMAL, S390) == bytes(8)


@pytest.mark.rule(
    "mqi/conversion", "An encoding that is not known is an error only for a field that needs it: 2112 to 2118."
)
def test_each_kind_of_number_has_its_own_reasons() -> None:
    odd = 0x000
    for kind, source, target in (
        ("i", MQRC.SOURCE_INTEGER_ENC_ERROR, MQRC.TARGET_INTEGER_ENC_ERROR),
        ("p4", MQRC.SOURCE_DECIMAL_ENC_ERROR, MQRC.TARGET_DECIMAL_ENC_ERROR),
        ("f", MQRC.SOURCE_FLOAT_ENC_ERROR, MQRC.TARGET_FLOAT_ENC_ERROR),
    ):
        assert reason(kind, b"\0\0\0\0", odd, NORMAL) == source
        assert reason(kind, b"\0\0\0\0", NORMAL, odd) == target
    # Floats of Tandem are not known, but need no conversion to themselves.
    assert reason("f", b"\0\0\0\0", TNS, NORMAL) == MQRC.SOURCE_FLOAT_ENC_ERROR
    assert reason("f", b"\0\0\0\0", NORMAL, TNS) == MQRC.TARGET_FLOAT_ENC_ERROR
    assert converted("f", b"abcd", TNS, TNS) == b"abcd"
    assert converted("p4", b"abcd", odd, odd) == b"abcd"
    assert converted("c4", b"abcd", odd, NORMAL) == b"abcd"


def test_fields_that_are_not_all_there() -> None:
    assert reason("i", b"\0\0\0", NORMAL, REVERSED) == MQRC.FORMAT_ERROR


def test_several_fields_one_after_the_other() -> None:
    fields = (("name", "c4"), ("", "b1"), ("amount", "p3"), ("count", "i"))
    found = converted_fields(
        b"AB  \xff\x12\x34\x5c\0\0\0\x07", fields, Representation(819, NORMAL), Representation(500, REVERSED)
    )
    assert found == b"\xc1\xc2\x40\x40\xff\x5c\x34\x12\x07\0\0\0"
