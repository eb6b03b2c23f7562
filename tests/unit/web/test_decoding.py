"""Headers and properties of messages that any program may have written: nothing in them raises an error."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from igq.web.decoding import decode
from igq.web.rest.errors import RestError
from igq.web.rest.properties import JsonProperty, as_header, parse_header, read_properties, with_properties
from sharedq.mqi import wire
from sharedq.mqi.constants import Format
from sharedq.mqi.headers import MQDLH
from sharedq.mqi.structures import MQMD

FORMATS = [Format.DEAD_LETTER_HEADER, Format.XMIT_Q_HEADER, Format.MD_EXTENSION, Format.RF_HEADER_2, Format.STRING, b""]
IDENTIFIERS = [b"DLH ", b"XQH ", b"MDE ", b"RFH ", b""]


def rfh2(folders: list[bytes], *, length: int | None = None, form: bytes = b"MQSTR", version: int = 2) -> bytes:
    data = b"".join(struct.pack(">i", len(each)) + each for each in folders)
    whole = 36 + len(data) if length is None else length
    return struct.pack(">4s4i8s2i", b"RFH ", version, whole, 0x111, 1208, form.ljust(8), 0, 1208) + data


def descriptor(name: bytes, encoding: int = 0x111) -> MQMD:
    return MQMD(format=name, encoding=encoding, coded_char_set_id=1208)


@given(
    name=st.sampled_from(FORMATS),
    front=st.sampled_from(IDENTIFIERS),
    data=st.binary(max_size=600),
    encoding=st.integers(-(2**31), 2**31 - 1),
    ccsid=st.integers(-(2**31), 2**31 - 1),
)
def test_whatever_is_no_header_is_body(name: bytes, front: bytes, data: bytes, encoding: int, ccsid: int) -> None:
    whole = front + data
    decoded = decode(MQMD(format=name, encoding=encoding, coded_char_set_id=ccsid), whole)

    assert whole.endswith(decoded.body)
    assert decoded.text is None or isinstance(decoded.text, str)
    assert isinstance(as_header(read_properties(decoded.headers)), str)


@given(st.lists(st.binary(max_size=80), max_size=4), st.integers(-50, 400), st.integers(-3, 3))
def test_no_rfh2_raises_an_error(folders: list[bytes], length: int, version: int) -> None:
    for data in (rfh2(folders) + b"x", rfh2(folders, length=length), rfh2(folders, version=version)):
        decoded = decode(descriptor(Format.RF_HEADER_2), data)
        assert data.endswith(decoded.body)
        read_properties(decoded.headers)


def test_headers_after_each_other_are_taken_off() -> None:
    letter = wire.DLH.pack(
        MQDLH(reason=2053, dest_q_name=b"FULL", format=Format.RF_HEADER_2, encoding=0x111, coded_char_set_id=1208)
    )
    data = letter + rfh2([b"<usr><a>1</a></usr> "], form=Format.RF_HEADER_2) + rfh2([b"<x/>"]) + b"body"

    decoded = decode(MQMD(format=Format.DEAD_LETTER_HEADER), data)

    assert [each.name for each in decoded.headers] == ["MQDLH", "MQRFH2", "MQRFH2"]
    assert decoded.headers[0].fields["reason"] == 2053
    assert decoded.headers[1].folders == ["<usr><a>1</a></usr>"]
    assert (decoded.body, decoded.text, decoded.format) == (b"body", "body", b"MQSTR")


@pytest.mark.parametrize(
    "folder",
    [
        b'<!DOCTYPE usr [<!ENTITY a "aaaa">]><usr><x>&a;</x></usr>',
        b"<usr><!-- --><x>1</x></usr>",
        b"<usr><x>1</usr>",
        b"<usr>" + b"<a>" * 5_000,
        b"<usr><bad-name>1</bad-name><x\xff>1</x></usr>",
        b"<usr><x>line\nend</x></usr>",
        b'<usr><x dt="i1">999</x><y dt="blob">1</y></usr>',
    ],
)
def test_a_folder_that_holds_no_properties_holds_none(folder: bytes) -> None:
    assert read_properties(decode(descriptor(Format.RF_HEADER_2), rfh2([folder])).headers) == []


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["C", "Z"]), max_size=20)
PROPERTIES = st.one_of(
    st.builds(JsonProperty, NAMES, TEXTS, st.just("string")),
    st.builds(JsonProperty, NAMES, st.integers(-128, 127).map(str), st.just("i1")),
    st.builds(JsonProperty, NAMES, st.sampled_from(["true", "false"]), st.just("boolean")),
    st.builds(JsonProperty, NAMES, st.floats(-1e9, 1e9).map("{:.4f}".format), st.just("double")),
)


@given(st.lists(PROPERTIES, max_size=5, unique_by=lambda each: each.name), st.binary(max_size=30))
def test_properties_come_back_as_they_were_put(properties: list[JsonProperty], body: bytes) -> None:
    md = MQMD(format=Format.STRING, coded_char_set_id=1208)

    decoded = decode(md, with_properties(md, body, properties)) if properties else decode(md, body)

    assert read_properties(decoded.headers) == properties
    assert decoded.body == body


@given(st.text(max_size=60))
def test_a_header_of_properties_is_read_or_refused(told: str) -> None:
    with suppress(RestError):
        properties = parse_header(told)
        assert len({each.name for each in properties}) == len(properties)


@pytest.mark.parametrize("told", ['a;"x', "a;" * 40_000, '"' * 40_000, "a;b;string," * 40_000, " " * 40_000])
def test_a_long_header_of_properties_is_refused_at_once(told: str) -> None:
    with pytest.raises(RestError):
        parse_header(told)
