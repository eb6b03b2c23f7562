"""Conversion of data by character set, encoding and format. Expected bytes are IBM's, written out."""

from __future__ import annotations

import codecs
import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedq.mqi.character_sets import CODECS, CharacterSet, Representation, character_set
from sharedq.mqi.constants import MQRC, Encoding, Format
from sharedq.mqi.conversion.messages import Converted, convert
from sharedq.mqi.headers import MQDLH, MQMDE, MQTM
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.wire import DLH, MDE, TM
from tests.support.examples import examples

NORMAL, REVERSED = int(Encoding.NORMAL), int(Encoding.REVERSED)
UTF8 = Representation(1208, REVERSED)
LATIN1 = Representation(819, REVERSED)
HOST = Representation(500, int(Encoding.S390))


def converted(
    data: bytes,
    source: Representation,
    target: Representation,
    format_: bytes = Format.STRING,
    *,
    room: int = 1000,
    may_cut: bool = False,
    is_cut: bool = False,
) -> Converted | MQRC:
    return convert(data, format_, source, target, room, may_cut=may_cut, is_cut=is_cut)


@pytest.mark.parametrize(
    ("ccsid", "encoding", "data", "text"),
    [
        (1208, REVERSED, b"Z\xc3\xbcrich", "Zürich"),
        (1200, NORMAL, b"\0Z\0\xfc", "Zü"),
        (1200, REVERSED, b"Z\0\xfc\0", "Zü"),
        (13488, NORMAL, b"\x20\xac", "€"),
        (17584, REVERSED, b"\xac\x20", "€"),
        (819, REVERSED, b"Z\xfcrich", "Zürich"),
        (437, REVERSED, b"Z\x81rich", "Zürich"),
        (850, REVERSED, b"\x9d\x81", "Øü"),
        (858, REVERSED, b"\xd5", "€"),
        (1252, REVERSED, b"\x80", "€"),
        (5348, REVERSED, b"\x80", "€"),
        (923, REVERSED, b"\xa4", "€"),
        (37, NORMAL, b"\xc8\xc5\xd3\xd3\xd6\xba\xbb", "HELLO[]"),
        (500, NORMAL, b"\xc8\xc5\xd3\xd3\xd6\x4a\x5a", "HELLO[]"),
        (1047, NORMAL, b"\xc8\xc5\xd3\xd3\xd6\xad\xbd\x5f\xb0\xba\xbb", "HELLO[]^¬Ý¨"),
        (1140, NORMAL, b"\x9f", "€"),
        (273, NORMAL, b"\xc0\xd0\x9f", "äü¤"),
        (1141, NORMAL, b"\xc0\xd0\x9f", "äü€"),
        (1148, NORMAL, b"\x9f", "€"),
        (943, REVERSED, b"\x93\xfa", "日"),
        (932, REVERSED, b"\x93\xfa", "日"),
        (954, REVERSED, b"\xc6\xfc", "日"),
        (1386, REVERSED, b"\xd6\xd0", "中"),
        (5488, REVERSED, b"\xd6\xd0\x81\x30\x84\x36", "中¥"),
        (950, REVERSED, b"\xa4\xa4", "中"),
        (970, REVERSED, b"\xb0\xa1", "가"),
    ],
)
def test_character_sets_are_ibms(ccsid: int, encoding: int, data: bytes, text: str) -> None:
    found = Representation(ccsid, encoding)
    expected = text.encode()
    assert converted(data, found, UTF8) == Converted(expected)
    assert converted(expected, UTF8, found) == Converted(data)


@pytest.mark.parametrize("ccsid", sorted(CODECS))
def test_there_is_a_codec_for_every_ccsid(ccsid: int) -> None:
    found = character_set(ccsid, REVERSED, is_source=True)
    assert isinstance(found, CharacterSet)
    codecs.lookup(found.codec)
    assert found.text(found.data("AZ09./_")) == "AZ09./_"
    # The Arabic code page of PCs has another percent sign.
    assert found.is_for_names == (ccsid != 864)


#: Character, and its bytes, where the pages of countries differ. Source: IBM's code page charts.
@pytest.mark.parametrize(
    ("ccsid", "data", "text"),
    [
        (277, b"\x7b\x7c\x5b\x4a\x5a", "ÆØÅ#¤"),
        (278, b"\x5b\xec\x7b\x7c\x5a", "Å@ÄÖ¤"),
        (280, b"\x90\x51\xb5\x9f", "[]@¤"),
        (284, b"\x7b\x69\x4a\x5a\x9f", "Ñ#[]¤"),
        (285, b"\x5b\x4a\x9f", "£$¤"),
        (297, b"\x7c\x44\x90\xb5\x79\x9f", "à@[]µ¤"),
        (871, b"\x5a\xac\x4a\x9f", "Æ@Þ¤"),
        (1142, b"\x5a", "€"),
        (1143, b"\x5a", "€"),
        (1144, b"\x9f", "€"),
        (1145, b"\x9f", "€"),
        (1146, b"\x9f", "€"),
        (1147, b"\x9f", "€"),
        (1149, b"\x9f", "€"),
        (870, b"\x9f", "¤"),
        (1153, b"\x9f", "€"),
        (1026, b"\x9f", "¤"),
        (1155, b"\x9f", "€"),
        (1156, b"\x9f", "€"),
        (1157, b"\x5a", "€"),
        (290, b"\x81\x62", "ア".translate({0x30A2: 0xFF71}) + "a"),
        (838, b"\x42", "ก"),
        (1025, b"\x76\x77\xb9", "юаА"),
        (500, b"\x15\x25", "\x85\n"),
        (277, b"\x15\x25", "\x85\n"),
        (1047, b"\x15\x25", "\x85\n"),
    ],
)
def test_pages_of_countries_are_ibms(ccsid: int, data: bytes, text: str) -> None:
    page = Representation(ccsid, NORMAL)
    assert converted(data, page, UTF8) == Converted(text.encode())
    assert converted(text.encode(), UTF8, page) == Converted(data)


LATIN_EBCDIC = [37, 273, 277, 278, 280, 284, 285, 297, 500, 870, 871, 1047, 1112, *range(1140, 1150), 819, 437]


@given(st.binary(max_size=40), st.sampled_from(LATIN_EBCDIC))
def test_every_byte_goes_there_and_back(data: bytes, ccsid: int) -> None:
    there = converted(data, Representation(ccsid, NORMAL), UTF8)
    assert isinstance(there, Converted)
    assert converted(there.data, UTF8, Representation(ccsid, NORMAL)) == Converted(data)


@pytest.mark.rule(
    "mqi/conversion", "Each cause of a failed conversion has its own reason: 2110 to 2112, 2115, 2116, 2119."
)
@pytest.mark.parametrize(
    ("data", "source", "target", "format_", "reason"),
    [
        (b"x", UTF8, LATIN1, Format.NONE, MQRC.FORMAT_ERROR),
        (b"x", UTF8, LATIN1, b"MYOWN", MQRC.FORMAT_ERROR),
        (b"x", UTF8, LATIN1, Format.RF_HEADER_2, MQRC.FORMAT_ERROR),
        (b"x", Representation(1, NORMAL), LATIN1, Format.STRING, MQRC.SOURCE_CCSID_ERROR),
        (b"x", Representation(-3, NORMAL), LATIN1, Format.STRING, MQRC.SOURCE_CCSID_ERROR),
        (b"x", UTF8, Representation(65_000, NORMAL), Format.STRING, MQRC.TARGET_CCSID_ERROR),
        (b"\0x", Representation(1200, 0), LATIN1, Format.STRING, MQRC.SOURCE_INTEGER_ENC_ERROR),
        (b"x", LATIN1, Representation(1200, 0x110), Format.STRING, MQRC.TARGET_INTEGER_ENC_ERROR),
        (b"\xff", UTF8, LATIN1, Format.STRING, MQRC.NOT_CONVERTED),
        (b"Z\xc3", UTF8, LATIN1, Format.STRING, MQRC.NOT_CONVERTED),
        ("日".encode(), UTF8, LATIN1, Format.STRING, MQRC.NOT_CONVERTED),
    ],
)
def test_each_cause_of_a_failed_conversion(
    data: bytes, source: Representation, target: Representation, format_: bytes, reason: MQRC
) -> None:
    assert converted(data, source, target, format_) == reason


def test_data_in_the_requested_form_needs_no_conversion() -> None:
    for format_ in (Format.NONE, b"MYOWN", Format.STRING, Format.DEAD_LETTER_HEADER):
        assert converted(b"\xff", UTF8, UTF8, format_) == Converted(b"\xff")
    # Another encoding does not matter for characters of one byte, but changes those of two.
    assert converted(b"x", LATIN1, Representation(819, NORMAL)) == Converted(b"x")
    assert converted(b"x\0", Representation(1200, REVERSED), Representation(1200, NORMAL)) == Converted(b"\0x")


@pytest.mark.rule(
    "mqi/conversion", "Text whose character set is the one asked for stays, even if nobody knows that set."
)
def test_a_character_set_that_nobody_needs() -> None:
    for ccsid in (930, 1, 819):
        source, target = Representation(ccsid, NORMAL), Representation(ccsid, REVERSED)
        assert converted(b"\x0e\x43\x81\xff", source, target) == Converted(b"\x0e\x43\x81\xff")


def test_data_that_grow_out_of_the_buffer() -> None:
    data = b"Z\xfcrich"
    assert converted(data, LATIN1, UTF8, room=7) == Converted(b"Z\xc3\xbcrich")
    assert converted(data, LATIN1, UTF8, room=6) == MQRC.CONVERTED_MSG_TOO_BIG
    assert converted(data, LATIN1, UTF8, room=6, may_cut=True) == Converted(b"Z\xc3\xbcric", is_cut=True)
    # No half of a character is returned.
    assert converted(b"\xfc\xfc\xfc", LATIN1, UTF8, room=3, may_cut=True) == Converted(b"\xc3\xbc", is_cut=True)


def test_data_that_were_cut_within_a_character() -> None:
    assert converted(b"Z\xc3", UTF8, LATIN1, is_cut=True) == Converted(b"Z")
    assert converted(b"\0Z\0", Representation(1200, NORMAL), LATIN1, is_cut=True) == Converted(b"Z")


# -- headers ---------------------------------------------------------------------------------------------------


def dead_letter(data: bytes, **fields: Any) -> bytes:
    """A dead-letter header in ISO 8859-1 and little-endian numbers, and data."""
    header = MQDLH(
        reason=2053,
        dest_q_name=b"ORDERS",
        dest_q_mgr_name=b"EWR",
        put_appl_type=28,
        put_appl_name=b"shop",
        put_date=b"20130101",
        put_time=b"05150067",
        **fields,
    )
    return DLH.pack(header) + data


@pytest.mark.rule("mqi/conversion", "A header is converted field by field, and what follows it by the header's Format.")
def test_a_dead_letter_header_and_the_string_after_it() -> None:
    data = dead_letter(b"Z\xc3\xbcrich", encoding=REVERSED, coded_char_set_id=1208, format=Format.STRING)

    there = converted(data, LATIN1, HOST, Format.DEAD_LETTER_HEADER)

    # "DLH ", 1, 2053, "ORDERS" and blanks; then, after two names, encoding, CCSID and "MQSTR   ".
    assert isinstance(there, Converted)
    assert there.data[:4] == b"\xc4\xd3\xc8\x40"
    assert there.data[4:12] == b"\0\0\0\1\0\0\x08\x05"
    assert there.data[12:60] == b"\xd6\xd9\xc4\xc5\xd9\xe2".ljust(48, b"\x40")
    assert there.data[108:116] == b"\0\0\x03\x11\0\0\x01\xf4"
    assert there.data[116:124] == b"\xd4\xd8\xe2\xe3\xd9\x40\x40\x40"
    assert there.data[124:128] == b"\0\0\0\x1c"
    assert there.data[172:] == b"\xe9\xdc\x99\x89\x83\x88"
    back = converted(there.data, HOST, LATIN1, Format.DEAD_LETTER_HEADER)
    assert back == Converted(dead_letter(b"Z\xfcrich", encoding=REVERSED, coded_char_set_id=819, format=Format.STRING))


@pytest.mark.rule("mqi/conversion", "A header is converted field by field, and what follows it by the header's Format.")
def test_data_without_a_format_after_a_header_stay_and_are_described() -> None:
    for says, means in ((1208, 1208), (-2, 819), (0, 819)):
        data = dead_letter(b"\xff\0", encoding=REVERSED, coded_char_set_id=says)
        there = converted(data, LATIN1, HOST, Format.DEAD_LETTER_HEADER)
        assert isinstance(there, Converted)
        assert there.data[108:116] == REVERSED.to_bytes(4) + means.to_bytes(4)
        assert there.data[172:] == b"\xff\0"


def test_data_that_inherit_the_character_set_of_their_header() -> None:
    data = dead_letter(b"\xfc", encoding=REVERSED, coded_char_set_id=-2, format=Format.STRING)
    there = converted(data, LATIN1, UTF8, Format.DEAD_LETTER_HEADER)
    assert there == Converted(
        dead_letter("ü".encode(), encoding=REVERSED, coded_char_set_id=1208, format=Format.STRING)
    )


def test_data_after_a_header_may_need_no_conversion() -> None:
    data = dead_letter(b"\xff", encoding=REVERSED, coded_char_set_id=1208, format=b"MYOWN")
    assert converted(data, LATIN1, UTF8, Format.DEAD_LETTER_HEADER) == Converted(data)


def test_a_header_after_a_header() -> None:
    extension = MQMDE(
        encoding=REVERSED, coded_char_set_id=819, format=Format.STRING, group_id=b"\xff" * 24, msg_seq_number=7
    )
    inner = MDE.pack(extension) + b"\xfc"
    data = dead_letter(inner, encoding=REVERSED, coded_char_set_id=819, format=Format.MD_EXTENSION)

    there = converted(data, LATIN1, HOST, Format.DEAD_LETTER_HEADER)

    assert isinstance(there, Converted)
    assert there.data[172:180] == b"\xd4\xc4\xc5\x40\0\0\0\2"
    # Identifiers are no text.
    assert there.data[204:228] == b"\xff" * 24
    assert there.data[228:232] == b"\0\0\0\7"
    assert there.data[244:] == b"\xdc"
    assert converted(there.data, HOST, LATIN1, Format.DEAD_LETTER_HEADER) == Converted(data)


def test_a_trigger_message() -> None:
    data = TM.pack(MQTM(q_name=b"ORDERS", appl_type=28, user_data=b"x"))
    there = converted(data, LATIN1, HOST, Format.TRIGGER)
    assert isinstance(there, Converted)
    assert there.data[:14] == b"\xe3\xd4\x40\x40\0\0\0\1\xd6\xd9\xc4\xc5\xd9\xe2"
    assert converted(there.data, HOST, LATIN1, Format.TRIGGER) == Converted(data)
    assert converted(data + b"x", LATIN1, HOST, Format.TRIGGER) == MQRC.FORMAT_ERROR


def test_a_field_that_grows_loses_blanks_but_no_characters() -> None:
    blanks = dead_letter(b"")
    name = b"\xfc" * 24
    fits = blanks[:12] + name.ljust(48) + blanks[60:]
    there = converted(fits, LATIN1, UTF8, Format.DEAD_LETTER_HEADER)
    assert isinstance(there, Converted)
    assert there.data[12:60] == ("ü" * 24).encode()
    after_null = blanks[:12] + (name + b"\0").ljust(48, b"x") + blanks[60:]
    assert converted(after_null, LATIN1, UTF8, Format.DEAD_LETTER_HEADER) == there
    too_long = blanks[:12] + (name + b"x").ljust(48) + blanks[60:]
    assert converted(too_long, LATIN1, UTF8, Format.DEAD_LETTER_HEADER, may_cut=True) == MQRC.CONVERTED_STRING_TOO_BIG


@pytest.mark.rule(
    "mqi/conversion", "A header that cannot be converted leaves all data unconverted (2190 for a field of it)."
)
@pytest.mark.parametrize(
    ("data", "source", "target", "reason"),
    [
        (b"", LATIN1, HOST, MQRC.FORMAT_ERROR),
        (dead_letter(b"")[:171], LATIN1, HOST, MQRC.FORMAT_ERROR),
        (b"XLH " + dead_letter(b"")[4:], LATIN1, HOST, MQRC.FORMAT_ERROR),
        (dead_letter(b""), HOST, LATIN1, MQRC.FORMAT_ERROR),
        (dead_letter(b""), Representation(819, NORMAL), LATIN1, MQRC.FORMAT_ERROR),
        (dead_letter(b""), Representation(819, 0), LATIN1, MQRC.SOURCE_INTEGER_ENC_ERROR),
        (dead_letter(b""), LATIN1, Representation(819, 0), MQRC.TARGET_INTEGER_ENC_ERROR),
        (dead_letter(b""), Representation(1200, REVERSED), LATIN1, MQRC.SOURCE_CCSID_ERROR),
        (dead_letter(b""), LATIN1, Representation(1200, REVERSED), MQRC.TARGET_CCSID_ERROR),
        (dead_letter(b"x", format=b"MYOWN", coded_char_set_id=819), LATIN1, HOST, MQRC.FORMAT_ERROR),
        (dead_letter(b"x", format=b"MQSTR", coded_char_set_id=9), LATIN1, HOST, MQRC.SOURCE_CCSID_ERROR),
    ],
)
def test_headers_that_cannot_be_converted(
    data: bytes, source: Representation, target: Representation, reason: MQRC
) -> None:
    assert converted(data, source, target, Format.DEAD_LETTER_HEADER) == reason


def test_a_string_after_a_header_is_cut_at_the_end_of_the_buffer() -> None:
    data = dead_letter(b"\xfc\xfc", encoding=REVERSED, coded_char_set_id=819, format=Format.STRING)
    for room, may_cut, length in ((176, False, 176), (175, True, 174), (174, True, 174)):
        there = converted(data, LATIN1, UTF8, Format.DEAD_LETTER_HEADER, room=room, may_cut=may_cut)
        assert isinstance(there, Converted)
        assert (len(there.data), there.is_cut) == (length, length < 176)
    assert converted(data, LATIN1, UTF8, Format.DEAD_LETTER_HEADER, room=175) == MQRC.CONVERTED_MSG_TOO_BIG


def chain(count: int, data: bytes, source: Representation, last: bytes = Format.STRING) -> bytes:
    """*data* after *count* extensions, all of it written as *source* says."""
    fields: dict[str, Any] = {"encoding": source.encoding, "coded_char_set_id": source.ccsid}
    inner = MDE.pack(MQMDE(format=Format.MD_EXTENSION, **fields))
    return inner * (count - 1) + MDE.pack(MQMDE(format=last, **fields)) + data


def test_any_number_of_headers_is_converted() -> None:
    count = 3000
    found = converted(chain(count, b"text", UTF8), UTF8, HOST, Format.MD_EXTENSION, room=10**6)
    assert isinstance(found, Converted)
    assert len(found.data) == count * 72 + 4
    assert found.data[-4:] == "text".encode("cp500")
    back = converted(found.data, HOST, UTF8, Format.MD_EXTENSION, room=10**6)
    assert isinstance(back, Converted)
    assert back.data == chain(count, b"text", UTF8)


def test_memory_does_not_grow_with_headers_times_data() -> None:
    data = chain(150, b"x" * 1_000_000, UTF8)
    tracemalloc.start()
    try:
        assert isinstance(converted(data, UTF8, LATIN1, Format.MD_EXTENSION, room=10**7), Converted)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(data)


@pytest.mark.parametrize("length", [-1, 0, 71, 73, 200])
def test_an_extension_of_another_length_is_not_converted(length: int) -> None:
    data = MDE.pack(MQMDE(struc_length=length, format=Format.STRING, encoding=REVERSED, coded_char_set_id=1208))
    assert converted(data + b"text", UTF8, HOST, Format.MD_EXTENSION) == MQRC.FORMAT_ERROR


_WARNINGS = {
    MQRC.FORMAT_ERROR,
    MQRC.SOURCE_CCSID_ERROR,
    MQRC.SOURCE_INTEGER_ENC_ERROR,
    MQRC.TARGET_CCSID_ERROR,
    MQRC.TARGET_INTEGER_ENC_ERROR,
    MQRC.NOT_CONVERTED,
    MQRC.CONVERTED_MSG_TOO_BIG,
    MQRC.CONVERTED_STRING_TOO_BIG,
}
_NUMBERS = st.one_of(st.sampled_from([0, -1, -2, 1, 2, 72, 2**31 - 1]), st.integers(-(2**31), 2**31 - 1))
_REPRESENTATIONS = st.builds(
    Representation,
    st.one_of(st.sampled_from(sorted(CODECS)), st.sampled_from([1200, 13488]), _NUMBERS),
    st.one_of(st.sampled_from([NORMAL, REVERSED, int(Encoding.S390)]), _NUMBERS),
)
_FORMATS = (Format.STRING, Format.MD_EXTENSION, Format.DEAD_LETTER_HEADER, Format.TRIGGER, b"", b"NOBODYS")


@st.composite
def messages(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A Format, and data that have it or nearly have it."""
    format_ = draw(st.sampled_from(_FORMATS))
    data, following = draw(st.binary(max_size=20)), draw(st.sampled_from(_FORMATS))
    for _ in range(draw(st.integers(0, 3))):
        told = draw(_REPRESENTATIONS)
        fields: dict[str, Any] = {"format": following, "encoding": told.encoding, "coded_char_set_id": told.ccsid}
        is_dead_letter = draw(st.booleans())
        header = DLH.pack(MQDLH(**fields)) if is_dead_letter else MDE.pack(MQMDE(**fields))
        following = Format.DEAD_LETTER_HEADER if is_dead_letter else Format.MD_EXTENSION
        data, format_ = header + data, following
    if format_ == Format.TRIGGER and draw(st.booleans()):
        data = TM.pack(MQTM()) + data
    changed = bytearray(data)
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, max(0, len(changed) - 4) // 4)) * 4
        changed[place : place + 4] = struct.pack(draw(st.sampled_from("<>")) + "i", draw(_NUMBERS))
    return format_, bytes(changed[: draw(st.integers(0, len(changed)))] if draw(st.booleans()) else changed)


@settings(max_examples=examples(1000))
@given(messages(), _REPRESENTATIONS, _REPRESENTATIONS, st.integers(0, 600), st.booleans(), st.booleans())
def test_any_message_is_converted_or_has_a_reason(
    message: tuple[bytes, bytes], source: Representation, target: Representation, room: int, may_cut: bool, is_cut: bool
) -> None:
    format_, data = message
    found = converted(data, source, target, format_, room=room, may_cut=may_cut, is_cut=is_cut)
    assert isinstance(found, Converted) or found in _WARNINGS


# -- PCF ----------------------------------------------------------------------------------------------------------

LATIN1_NAME, HOST_NAME = "Zürich".encode("latin-1"), "Zürich".encode("cp500")


@pytest.mark.parametrize("format_", [Format.ADMIN, Format.EVENT, Format.PCF])
def test_pcf_is_converted_parameter_by_parameter(format_: bytes) -> None:
    def message(name: bytes, own: bytes, ccsid: int, names: tuple[bytes, ...]) -> pcf.PCFMessage:
        group = pcf.MQCFGR(9, (pcf.MQCFST(1, name), pcf.MQCFSF(2, 18, name), pcf.MQCFIN64(3, 1 << 40)))
        rest = pcf.MQCFST(4, own, ccsid), pcf.MQCFSL(5, names), pcf.MQCFBS(6, b"\x01\xfc"), pcf.MQCFIF(7, 2, -1)
        return pcf.PCFMessage(pcf.MQCFH(command=3), (group, *rest))

    given = message(LATIN1_NAME, b"Z\x81rich", 437, (b"A ", b"BB"))
    expected = message(HOST_NAME, HOST_NAME, 500, (b"\xc1\x40", b"\xc2\xc2"))
    assert converted(write(given, LATIN1), LATIN1, HOST, format_) == Converted(write(expected, HOST))


def test_pcf_that_grows_out_of_the_buffer() -> None:
    data = write(pcf.PCFMessage(pcf.MQCFH(), (pcf.MQCFST(1, b"\xfc" * 40),)), LATIN1)
    assert converted(data, LATIN1, UTF8, Format.PCF, room=len(data), may_cut=True) == MQRC.CONVERTED_MSG_TOO_BIG


@pytest.mark.parametrize(
    ("data", "source", "reason"),
    [
        (b"no PCF", LATIN1, MQRC.FORMAT_ERROR),
        (write(pcf.PCFMessage(pcf.MQCFH(), (pcf.MQCFST(1, b"x", 77),)), LATIN1), LATIN1, MQRC.FORMAT_ERROR),
        (write(pcf.PCFMessage(pcf.MQCFH(), (pcf.MQCFST(1, b"\xff"),)), UTF8), UTF8, MQRC.NOT_CONVERTED),
        (write(pcf.PCFMessage(pcf.MQCFH()), LATIN1), Representation(77, REVERSED), MQRC.SOURCE_CCSID_ERROR),
    ],
)
def test_pcf_that_cannot_be_converted(data: bytes, source: Representation, reason: MQRC) -> None:
    assert converted(data, source, HOST, Format.ADMIN) == reason


@given(st.binary(max_size=80), st.integers(0, 90), st.binary(max_size=6))
def test_any_bytes_of_pcf_are_converted_or_have_a_reason(data: bytes, at: int, change: bytes) -> None:
    whole = write(pcf.PCFMessage(pcf.MQCFH(), (pcf.MQCFST(1, b"abc"), pcf.MQCFSL(2, (b"x", b"yz")))), LATIN1)
    for each in (data, whole[:at] + change + whole[at + len(change) :]):
        assert isinstance(converted(each, LATIN1, HOST, Format.PCF), Converted | MQRC)
