"""PCF: what is written is read again, IBM's layouts hold, and no bytes raise anything but the one error."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants.pcf import MQRCCF, FilterOperator, PCFType
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.reading import MESSAGE_TYPES, NESTING_MAX, read
from sharedq.mqi.pcf.writing import write

LONG = st.integers(-(2**31), 2**31 - 1)
LONG64 = st.integers(-(2**63), 2**63 - 1)
DATA = st.binary(max_size=40)
OPERATOR = st.sampled_from([int(operator) for operator in FilterOperator])
REPRESENTATION = st.sampled_from(
    [Representation(ccsid, encoding) for ccsid in (1208, 819, 500, 1047) for encoding in (0x222, 0x111, 273, 785)]
)


@st.composite
def string_lists(draw: st.DrawFn) -> pcf.MQCFSL:
    size = draw(st.integers(1, 9))
    strings = draw(st.lists(st.binary(min_size=size, max_size=size), max_size=5))
    return pcf.MQCFSL(draw(LONG), tuple(strings), draw(LONG))


LEAVES = st.one_of(
    st.builds(pcf.MQCFIN, LONG, LONG),
    st.builds(pcf.MQCFIN64, LONG, LONG64),
    st.builds(pcf.MQCFIL, LONG, st.lists(LONG, max_size=5).map(tuple)),
    st.builds(pcf.MQCFIL64, LONG, st.lists(LONG64, max_size=5).map(tuple)),
    st.builds(pcf.MQCFST, LONG, DATA, LONG),
    string_lists(),
    st.builds(pcf.MQCFBS, LONG, DATA),
    st.builds(pcf.MQCFIF, LONG, OPERATOR, LONG),
    st.builds(pcf.MQCFSF, LONG, OPERATOR, DATA, LONG),
    st.builds(pcf.MQCFBF, LONG, OPERATOR, DATA),
)
PARAMETERS = st.recursive(
    LEAVES, lambda inner: st.builds(pcf.MQCFGR, LONG, st.lists(inner, max_size=4).map(tuple)), max_leaves=12
)
HEADERS = st.builds(
    pcf.MQCFH,
    st.sampled_from([int(kind) for kind in MESSAGE_TYPES]),
    st.integers(1, 3),
    LONG,
    st.integers(1, 2**31 - 1),
    st.integers(0, 1),
    LONG,
    LONG,
)
MESSAGES = st.builds(pcf.PCFMessage, HEADERS, st.lists(PARAMETERS, max_size=6).map(tuple))


@given(MESSAGES, REPRESENTATION)
def test_a_written_message_is_read(message: pcf.PCFMessage, representation: Representation) -> None:
    assert read(write(message, representation), representation) == message


@given(st.binary(max_size=300), REPRESENTATION)
def test_arbitrary_bytes_raise_only_the_error(data: bytes, representation: Representation) -> None:
    with contextlib.suppress(pcf.PCFError):
        read(data, representation)


@given(MESSAGES, st.data())
def test_damaged_messages_raise_only_the_error(message: pcf.PCFMessage, data: st.DataObject) -> None:
    damaged = bytearray(write(message))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 4)) & ~3
        struct.pack_into("<i", damaged, at, data.draw(st.one_of(st.integers(-2, 64), LONG)))
    cut = data.draw(st.integers(0, len(damaged)))
    for damage in (bytes(damaged), bytes(damaged[:cut])):
        with contextlib.suppress(pcf.PCFError):
            read(damage)


def test_layout_is_ibms() -> None:
    message = pcf.PCFMessage(
        pcf.MQCFH(PCFType.EVENT, 1, 45, comp_code=1, reason=2224),
        (pcf.MQCFST(2015, b"QM1"), pcf.MQCFIN(35, 7), pcf.MQCFGR(1, (pcf.MQCFBS(7, b"ab"),))),
    )
    longs = (7, 36, 1, 45, 1, 1, 1, 2224, 3)
    assert write(message, Representation(1208, 273)) == (
        struct.pack(">9i", *longs)
        + struct.pack(">5i", 4, 24, 2015, 0, 3)
        + b"QM1\0"
        + struct.pack(">4i", 3, 16, 35, 7)
        + struct.pack(">4i", 20, 16, 1, 1)
        + struct.pack(">4i", 9, 20, 7, 2)
        + b"ab\0\0"
    )


HEADER = (2, 36, 1, 1, 1, 1, 0, 0, 1)


def bad_header(place: int, value: int) -> bytes:
    longs = list(HEADER)
    longs[place] = value
    return struct.pack("<9i", *longs) + struct.pack("<4i", 3, 16, 1, 1)


def parameter(*longs: int, data: bytes = b"") -> bytes:
    return struct.pack("<9i", *HEADER) + struct.pack(f"<{len(longs)}i", *longs) + data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", 3002),
        (bad_header(0, 3), 3001),
        (bad_header(1, 40), 3002),
        (bad_header(2, 4), 3003),
        (bad_header(4, 0), 3004),
        (bad_header(5, 2), 3005),
        (bad_header(8, -1), 3006),
        (bad_header(8, 2), 3006),
        (bad_header(8, 0), 3016),
        (parameter(11, 16, 1, 1), 3013),
        (parameter(3, 12, 1, 1), 3009),
        (parameter(3, 20, 1, 1, 1), 3009),
        (parameter(23, 16, 1, 1), 3009),
        (parameter(3, 16, 1), 3016),
        (parameter(4, 22, 1, 0, 2, data=b"ab"), 3010),
        (parameter(4, 28, 1, 0, 2, data=b"ab\0\0\0\0\0\0"), 3010),
        (parameter(4, 20, 1, 0, -1), 3011),
        (parameter(5, 20, 1, -1, 1), 3027),
        (parameter(5, 20, 1, 2, 1), 3028),
        (parameter(25, 20, 1, 1, 1), 3028),
        (parameter(6, 24, 1, 0, -1, 1), 3068),
        (parameter(6, 24, 1, 0, 1, 0), 3068),
        (parameter(6, 24, 1, 0, 1, -1), 3069),
        (parameter(6, 24, 1, 0, 1, 4), 3024),
        (parameter(9, 16, 1, -1), 3257),
        (parameter(9, 16, 1, 4), 3255),
        (parameter(20, 20, 1, 0, 0), 3258),
        (parameter(20, 16, 1, -1), 3259),
        (parameter(20, 16, 1, 1), 3259),
        (parameter(13, 24, 1, 2, 1, 1), 3241),
        (parameter(13, 20, 1, 99, 1), 3242),
        (parameter(14, 24, 1, 2, 0, 4), 3245),
        (parameter(14, 24, 1, 2, 0, -4), 3244),
        (parameter(14, 24, 1, 99, 0, 0), 3246),
        (parameter(15, 20, 1, 2, 4), 3264),
        (parameter(15, 20, 1, 2, -4), 3267),
        (parameter(15, 20, 1, 99, 0), 3266),
    ],
)
def test_each_fault_has_ibms_reason(data: bytes, reason: int) -> None:
    with pytest.raises(pcf.PCFError) as raised:
        read(data)
    assert raised.value.reason == reason


def test_groups_in_groups_are_bounded() -> None:
    deep = struct.pack("<9i", *HEADER) + struct.pack("<4i", 20, 16, 1, 1) * 100_000
    with pytest.raises(pcf.PCFError) as raised:
        read(deep)
    assert raised.value.reason == MQRCCF.CFGR_PARM_COUNT_ERROR
    group: pcf.Parameter = pcf.MQCFIN(1, 1)
    for _ in range(NESTING_MAX - 1):
        group = pcf.MQCFGR(1, (group,))
    message = pcf.PCFMessage(pcf.MQCFH(), (group,))
    assert read(write(message)) == message
    with pytest.raises(pcf.PCFError):
        write(pcf.PCFMessage(pcf.MQCFH(), (pcf.MQCFGR(1, (group,)),)))


def test_unknown_encoding_and_character_set() -> None:
    with pytest.raises(pcf.PCFError) as raised:
        read(bytes(36), Representation(1208, 0))
    assert raised.value.reason == MQRCCF.ENCODING_ERROR
    with pytest.raises(pcf.PCFError) as raised:
        pcf.text_of(b"a", 12345, pcf.NATIVE)
    assert raised.value.reason == MQRCCF.CCSID_ERROR


def test_ebcdic_strings_are_text() -> None:
    mainframe = Representation(500, 785)
    message = pcf.PCFMessage(
        pcf.MQCFH(), (pcf.MQCFSL(1, tuple(pcf.bytes_of(word, 0, mainframe) for word in ("A", "LONGER"))),)
    )
    (strings,) = read(write(message, mainframe), mainframe).parameters
    assert isinstance(strings, pcf.MQCFSL)
    assert strings.strings[0] == "A     ".encode("cp500")
    assert [pcf.text_of(one, strings.ccsid, mainframe) for one in strings.strings] == ["A", "LONGER"]


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_numbers_that_do_not_fit_are_refused(value: int) -> None:
    with pytest.raises(pcf.PCFError):
        write(pcf.PCFMessage(pcf.MQCFH(), (pcf.MQCFIN(1, value),)))
