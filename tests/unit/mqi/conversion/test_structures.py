"""Each structure by IBM's offsets, in both orders of bytes and in ASCII and EBCDIC; the chains that they make."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQRC, Format
from sharedq.mqi.conversion.fields import length_of
from sharedq.mqi.conversion.messages import Converted, convert
from sharedq.mqi.conversion.structures import STRUCTURES, Tail
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.writing import write
from tests.support.examples import examples
from tests.support.layouts import (
    HEADERS,
    HOST,
    LATIN1,
    LAYOUTS,
    LENGTH,
    NORMAL,
    REVERSED,
    UTF8,
    WITH_TAIL,
    WITHOUT_OWN,
    Cell,
    Layout,
    built,
    chained,
    number,
    text,
)


def converted(data: bytes, format_: bytes, source: Representation, target: Representation) -> Converted | MQRC:
    return convert(data, format_, source, target, 100_000, may_cut=False, is_cut=False)


WRITTEN = [LATIN1, HOST, UTF8, Representation(1047, NORMAL), Representation(37, REVERSED), Representation(819, NORMAL)]


@pytest.mark.rule("mqi/conversion", "A header is converted field by field, and what follows it by the header's Format.")
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("target", WRITTEN)
@pytest.mark.parametrize("source", WRITTEN)
def test_each_structure_is_ibms(name: str, source: Representation, target: Representation) -> None:
    layout = LAYOUTS[name]
    # Fields about data that are not there, and IMS' and CICS' reserved fields, stay as they are.
    told = Representation(819, REVERSED)
    there = converted(built(layout, source, following=told), layout.format, source, target)
    assert there == Converted(built(layout, target, following=told))


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("target", [HOST, Representation(1208, NORMAL)])
def test_each_header_says_what_its_string_has_become(name: str, target: Representation) -> None:
    layout = LAYOUTS[name]
    keeps = name in WITHOUT_OWN
    # CICS' and IMS' headers do not say how the data after them are written: as they themselves are.
    written = LATIN1 if keeps else Representation(1208, NORMAL)
    told = Representation(0, 0) if keeps else written
    data = built(layout, LATIN1, following=told, format_=Format.STRING) + text("Zürich", written)

    there = converted(data, layout.format, LATIN1, target)

    after = told if keeps else target
    expected = built(layout, target, following=after, format_=Format.STRING) + text("Zürich", target)
    assert there == Converted(expected)


def test_the_table_has_a_layout_for_every_structure() -> None:
    named = {layout.format for layout in LAYOUTS.values()} | {Format.EMBEDDED_PCF}
    assert set(STRUCTURES) == named
    of_format = {format_: [each for each in LAYOUTS.values() if each.format == format_] for format_ in named}
    for format_, structures in STRUCTURES.items():
        lengths = sorted(
            sum(length_of(kind) for _, kind in fields)
            for structure in structures
            if structure.tail is not Tail.PCF
            for fields in structure.versions.values()
        )
        assert lengths == sorted(layout.length for layout in of_format[format_])


# -- what has its own end ------------------------------------------------------------------------------------------


@pytest.mark.rule("mqi/conversion", "Folders of an MQRFH2 stay in their character set; UTF-16 takes the new order.")
def test_folders_keep_their_character_set() -> None:
    folders = ["<usr><a>ü</a></usr>".encode(), b"<mcd/>  "]

    def header(how: Representation) -> bytes:
        tail = b"".join(number(len(folder), how) + folder for folder in folders)
        return built(LAYOUTS["MQRFH2"], how, following=how, format_=Format.STRING, tail=tail) + text("ü", how)

    assert converted(header(LATIN1), Format.RF_HEADER_2, LATIN1, HOST) == Converted(header(HOST))
    assert converted(header(HOST), Format.RF_HEADER_2, HOST, LATIN1) == Converted(header(LATIN1))


@pytest.mark.parametrize("ccsid", [1200, 13488, 17584])
def test_folders_in_utf_16_take_the_order_of_the_header(ccsid: int) -> None:
    def header(how: Representation, codec: str) -> bytes:
        folder = "<usr>ü€</usr>".encode(codec)
        layout = LAYOUTS["MQRFH2"]
        changed = Layout(layout.format, layout.length, {**layout.cells, 32: ccsid})
        told = Representation(819, REVERSED)
        return built(changed, how, following=told, tail=number(len(folder), how) + folder)

    there = converted(header(LATIN1, "utf-16-le"), Format.RF_HEADER_2, LATIN1, HOST)
    assert there == Converted(header(HOST, "utf-16-be"))
    odd = built(LAYOUTS["MQRFH2"], LATIN1, tail=number(3, LATIN1) + b"abc")
    odd = odd[:32] + number(ccsid, LATIN1) + odd[36:]
    assert converted(odd, Format.RF_HEADER_2, LATIN1, HOST) == MQRC.FORMAT_ERROR


@pytest.mark.rule("mqi/conversion", "An MQRFH2 whose NameValueCCSID is not Unicode is not converted (2111).")
def test_folders_in_another_character_set() -> None:
    data = built(LAYOUTS["MQRFH2"], LATIN1)
    for ccsid in (819, 500, 0, -1):
        changed = data[:32] + number(ccsid, LATIN1) + data[36:]
        assert converted(changed, Format.RF_HEADER_2, LATIN1, HOST) == MQRC.SOURCE_CCSID_ERROR


def test_name_and_value_of_an_mqrfh_grow_with_their_header() -> None:
    def header(how: Representation, value: str, blanks: int) -> bytes:
        tail = text(value + " " * blanks, how)
        return built(LAYOUTS["MQRFH"], how, following=how, format_=Format.STRING, tail=tail) + text("x", how)

    # 8 characters are 9 bytes, and 12 with what keeps data after them where the alignment of the machine is.
    assert converted(header(LATIN1, "city ürt", 0), Format.RF_HEADER_1, LATIN1, UTF8) == Converted(
        header(UTF8, "city ürt", 3)
    )
    assert converted(header(LATIN1, "city ür", 0), Format.RF_HEADER_1, LATIN1, UTF8) == Converted(
        header(UTF8, "city ür", 0)
    )
    assert converted(header(UTF8, "city ü", 0), Format.RF_HEADER_1, UTF8, HOST) == Converted(header(HOST, "city ü", 0))


def test_an_embedded_pcf_header_and_the_string_after_it() -> None:
    def header(how: Representation) -> bytes:
        message = pcf.PCFMessage(pcf.MQCFH(command=3), (pcf.MQCFST(1, text("Zürich", how)), pcf.MQCFIN(2, -7)))
        body = write(message, how)
        front: dict[int, Cell] = {**chained("EPH", 1), 28: 3}
        fixed = Layout(Format.EMBEDDED_PCF, 32, front)
        return built(fixed, how, following=how, format_=Format.STRING, tail=body) + text("ü", how)

    for source, target in ((LATIN1, HOST), (HOST, UTF8), (UTF8, LATIN1), (LATIN1, UTF8)):
        assert converted(header(source), Format.EMBEDDED_PCF, source, target) == Converted(header(target))
    cut = header(LATIN1)[:40]
    assert converted(cut, Format.EMBEDDED_PCF, LATIN1, HOST) == MQRC.FORMAT_ERROR


def _changed(name: str, **cells: Cell) -> Layout:
    """A layout with other values, by ``at_OFFSET``."""
    layout = LAYOUTS[name]
    others = {int(key.removeprefix("at_")): value for key, value in cells.items()}
    return Layout(layout.format, layout.length, {**layout.cells, **others})


def test_records_of_a_distribution_list() -> None:
    def header(how: Representation) -> bytes:
        # Object records first; then of each put message record the MsgId, the feedback and the accounting token.
        fixed = _changed("MQDH", at_32=1 | 8 | 16, at_36=2, at_40=48, at_44=48 + 2 * 96)
        objects = "".join(name.ljust(48) for name in ("A", "QM1", "ORDERS", ""))
        put = b"".join(b"\xc1" * 24 + number(each, how) + b"\x81" * 32 for each in (259, -1))
        return built(fixed, how, following=how, format_=Format.STRING, tail=text(objects, how) + put) + text("ü", how)

    for source, target in ((LATIN1, HOST), (HOST, UTF8), (UTF8, LATIN1)):
        assert converted(header(source), Format.DIST_HEADER, source, target) == Converted(header(target))


@pytest.mark.parametrize(
    "cells",
    [
        {"at_36": -1},
        {"at_36": 2, "at_40": 48},
        {"at_36": 1, "at_40": 47},
        {"at_36": 1, "at_40": 49},
        {"at_36": 1, "at_40": -48},
        {"at_36": 1, "at_32": 32},
        {"at_36": 1, "at_32": 1, "at_44": 48 + 73},
        {"at_36": 2**31 - 1, "at_32": 8, "at_44": 48},
    ],
)
def test_records_that_are_not_there(cells: dict[str, Cell]) -> None:
    data = built(_changed("MQDH", **cells), LATIN1, tail=b" " * 96)
    assert converted(data, Format.DIST_HEADER, LATIN1, HOST) == MQRC.FORMAT_ERROR


def test_strings_that_a_reference_message_refers_to() -> None:
    def header(how: Representation, *lengths: int) -> bytes:
        env, name, end = lengths
        # Source's name in front of its environment; no destination's environment.
        fixed = _changed("MQRMH", at_64=env, at_68=108 + name, at_72=name, at_76=108, at_88=end, at_92=108 + name + env)
        strings = text("/tmp/ü" + "DIR=x" + "über", how)
        strings += text(" ", how) * (-len(strings) % 4)
        return built(fixed, how, following=how, format_=Format.STRING, tail=strings) + text("ü", how)

    one_byte, two_bytes = (5, 6, 4), (5, 7, 5)
    for source, target in ((LATIN1, HOST), (HOST, UTF8), (UTF8, LATIN1)):
        given, expected = (header(how, *(two_bytes if how == UTF8 else one_byte)) for how in (source, target))
        assert converted(given, Format.REF_MSG_HEADER, source, target) == Converted(expected)
    for cells in ({"at_64": 4, "at_68": 107}, {"at_64": 5, "at_68": 108}, {"at_64": -1, "at_68": 108}, {"at_88": 1}):
        wrong = built(_changed("MQRMH", **cells), LATIN1, tail=b"abcd")
        assert converted(wrong, Format.REF_MSG_HEADER, LATIN1, HOST) == MQRC.FORMAT_ERROR


def test_strings_for_ims_have_their_lengths() -> None:
    def strings(how: Representation, *values: str) -> bytes:
        order = ">" if how.encoding & 0xF == 1 else "<"
        found = [text(value, how) for value in values]
        return b"".join(struct.pack(f"{order}hh", len(each) + 4, 5) + each for each in found)

    values = ("TRAN one", "", "Zürich")
    for source, target in ((LATIN1, HOST), (HOST, UTF8), (UTF8, LATIN1)):
        data = built(LAYOUTS["MQIIH"], source, format_=Format.IMS_VAR_STRING) + strings(source, *values)
        expected = built(LAYOUTS["MQIIH"], target, format_=Format.IMS_VAR_STRING) + strings(target, *values)
        assert converted(data, Format.IMS, source, target) == Converted(expected)
    for wrong in (b"\x03\0\0\0", b"\x05\0\0\0", b"\x04\0\0", b"\xff\xff\0\0"):
        assert converted(wrong, Format.IMS_VAR_STRING, LATIN1, HOST) == MQRC.FORMAT_ERROR


def test_a_header_that_grows_out_of_the_buffer() -> None:
    data = built(LAYOUTS["MQRFH"], LATIN1, following=LATIN1, tail=b"\xfc" * 4)
    for may_cut in (False, True):
        found = convert(data, Format.RF_HEADER_1, LATIN1, UTF8, len(data) + 3, may_cut=may_cut, is_cut=False)
        assert found == MQRC.CONVERTED_MSG_TOO_BIG
    found = convert(data, Format.RF_HEADER_1, LATIN1, UTF8, len(data) + 4, may_cut=False, is_cut=False)
    assert isinstance(found, Converted)


# -- chains and what is not a header -------------------------------------------------------------------------------

_REPRESENTATIONS = st.sampled_from(WRITTEN)


@given(
    st.lists(st.sampled_from(HEADERS), max_size=6),
    st.text("ABC xyz0", max_size=20),
    _REPRESENTATIONS,
    _REPRESENTATIONS,
    st.data(),
)
def test_any_chain_goes_there_and_back(
    names: list[str], value: str, source: Representation, target: Representation, data: st.DataObject
) -> None:
    """Each header may be written in its own way; after the conversion all are as asked."""
    layouts = [LAYOUTS[name] for name in names]
    formats = [layout.format for layout in layouts] + [Format.STRING]
    written = [source]
    for name in names:
        written.append(written[-1] if name in WITHOUT_OWN else data.draw(_REPRESENTATIONS))

    def chain(how: list[Representation], *, last: Representation) -> bytes:
        parts = []
        for at, layout in enumerate(layouts):
            says = Representation(0, 0) if names[at] in WITHOUT_OWN else how[at + 1]
            says = says if at + 1 < len(layouts) or value or says.ccsid == 0 else last
            parts.append(built(layout, how[at], following=says, format_=formats[at + 1]))
        return b"".join(parts) + text(value, how[-1])

    there = converted(chain(written, last=written[-1]), formats[0], source, target)
    if source == target:
        assert there == Converted(chain(written, last=written[-1]))
        return
    assert isinstance(there, Converted)
    if target not in written:
        assert there.data == chain([target] * len(written), last=written[-1])
        back = converted(there.data, formats[0], target, source)
        assert back == Converted(chain([source] * len(written), last=written[-1]))


@pytest.mark.parametrize("name", [*HEADERS, "MQTM", "MQTMC2"])
def test_a_structure_that_is_cut_or_another_one(name: str) -> None:
    layout = LAYOUTS[name]
    good = built(layout, LATIN1)
    wrong = [good[:-1], good[:7], b"", b"ZZZ " + good[4:], good[:4] + b"\x63\0\0\0" + good[8:]]
    if LENGTH in layout.cells.values():
        wrong += [good[:8] + number(length, LATIN1) + good[12:] for length in (0, -1, len(good) - 4, len(good) + 4)]
    for data in wrong:
        assert converted(data, layout.format, LATIN1, HOST) == MQRC.FORMAT_ERROR
    assert converted(good, layout.format, HOST, LATIN1) == MQRC.FORMAT_ERROR
    sixteen = Representation(1200, REVERSED)
    assert converted(good, layout.format, sixteen, LATIN1) == MQRC.SOURCE_CCSID_ERROR
    assert converted(good, layout.format, LATIN1, sixteen) == MQRC.TARGET_CCSID_ERROR
    assert converted(good, layout.format, Representation(819, 0), HOST) == MQRC.SOURCE_INTEGER_ENC_ERROR
    assert converted(good, layout.format, LATIN1, Representation(500, 0x310)) == MQRC.TARGET_INTEGER_ENC_ERROR


def test_a_transmission_header_needs_a_descriptor_of_version_1() -> None:
    good = built(LAYOUTS["MQXQH"], LATIN1)
    for wrong in (b"MX  " + number(1, LATIN1), b"MD  " + number(2, LATIN1)):
        assert converted(good[:104] + wrong + good[112:], Format.XMIT_Q_HEADER, LATIN1, HOST) == MQRC.FORMAT_ERROR


_WARNINGS = {
    *(MQRC.FORMAT_ERROR, MQRC.SOURCE_CCSID_ERROR, MQRC.SOURCE_INTEGER_ENC_ERROR, MQRC.TARGET_CCSID_ERROR),
    *(MQRC.TARGET_INTEGER_ENC_ERROR, MQRC.NOT_CONVERTED, MQRC.CONVERTED_MSG_TOO_BIG, MQRC.CONVERTED_STRING_TOO_BIG),
}
_NUMBERS = st.one_of(st.sampled_from([0, -1, -2, 1, 2, 4, 36, 2**31 - 1]), st.integers(-(2**31), 2**31 - 1))


@settings(max_examples=examples(400))
@given(st.data())
def test_any_structure_is_converted_or_has_a_reason(data: st.DataObject) -> None:
    """Structures with any field changed, any bytes after them, any place where they end."""
    name = data.draw(st.sampled_from(sorted(LAYOUTS)))
    layout = LAYOUTS[name]
    source, target = data.draw(_REPRESENTATIONS), data.draw(_REPRESENTATIONS)
    following = data.draw(st.sampled_from([*STRUCTURES, Format.STRING, Format.PCF, Format.IMS_VAR_STRING, b"", b"ODD"]))
    tail = data.draw(st.binary(max_size=40)) if name in WITH_TAIL else b""
    body = bytearray(built(layout, source, following=data.draw(_REPRESENTATIONS), format_=following, tail=tail))
    body += data.draw(st.binary(max_size=60))
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(body) // 4 - 1)) * 4
        body[place : place + 4] = number(data.draw(_NUMBERS), source)
    whole = bytes(body[: data.draw(st.integers(0, len(body)))] if data.draw(st.booleans()) else body)
    room, may_cut, is_cut = data.draw(st.integers(0, 900)), data.draw(st.booleans()), data.draw(st.booleans())
    found = convert(whole, layout.format, source, target, room, may_cut=may_cut, is_cut=is_cut)
    assert found in _WARNINGS if isinstance(found, MQRC) else len(found.data) <= max(room, len(whole))
