"""MQRFH2 headers: either byte order, character sets, folders that are no properties, and what is malformed."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sharedq import MessageHandle
from sharedq.mqi.constants import MQRC, PropertyType
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.properties.folders import parse_folder, write_folders
from sharedq.properties.headers import properties_in, read_chain, without_properties
from tests.support.examples import examples


def rfh2(
    folders: list[bytes],
    *,
    order: str = "<",
    name_ccsid: int = 1208,
    form: bytes = b"MQSTR",
    encoding: int = 0x222,
    ccsid: int = 819,
    identifier: bytes = b"RFH ",
    version: int = 2,
    length: int | None = None,
) -> bytes:
    body = b"".join(struct.pack(f"{order}i", len(folder)) + folder for folder in folders)
    its_length = 36 + len(body) if length is None else length
    fixed = (identifier, version, its_length, encoding, ccsid, form.ljust(8), 0, name_ccsid)
    return struct.pack(f"{order}4siiii8sii", *fixed) + body


def described(encoding: int = 0x222, ccsid: int = 1208) -> MQMD:
    return MQMD(format=b"MQHRF2", encoding=encoding, coded_char_set_id=ccsid)


def values(data: bytes, md: MQMD) -> dict[str, object]:
    return {each.name: each.value for each in properties_in(read_chain(md, data))}


@pytest.mark.rule("mqi/properties", "Properties are read from headers of either byte order and in EBCDIC.")
@pytest.mark.parametrize(("order", "encoding"), [("<", 0x222), (">", 0x111), (">", 0x222), ("<", 0x311)])
@pytest.mark.parametrize(
    ("name_ccsid", "codec"),
    [(1208, "utf-8"), (1200, "utf-16"), (13488, "utf-16"), (819, "latin-1"), (37, "cp037"), (500, "cp500")],
)
def test_a_folder_is_read_in_its_character_set(order: str, encoding: int, name_ccsid: int, codec: str) -> None:
    if codec == "utf-16":
        codec += "-be" if order == ">" else "-le"
    folder = '<usr><a>Zürich</a><b dt="i4">-7</b></usr>'.encode(codec)
    data = rfh2([folder], order=order, name_ccsid=name_ccsid) + b"data"
    assert values(data, described(encoding)) == {"a": "Zürich", "b": -7}


def test_a_header_may_be_in_ebcdic() -> None:
    data = rfh2(
        [b"<usr><a>1</a></usr>"],
        order=">",
        identifier="RFH ".encode("cp037"),
        form="MQSTR   ".encode("cp037"),
        ccsid=500,
    )
    md = described(0x311, 500)
    assert values(data + b"data", md) == {"a": "1"}
    assert without_properties(md, data + b"data", read_chain(md, data)) == b"data"
    assert (md.format, md.coded_char_set_id) == (b"MQSTR", 500)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        (b"<usr></usr>", {}),
        (b"<usr/>  ", {}),
        (b"<usr><a/></usr>", {"a": ""}),
        (b"<usr><a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;</a></usr>", {"a": "<>&\"'AB"}),
        (b"<usr><a xsi:nil='true'></a></usr>", {"a": None}),
        (b"<usr><a dt='boolean'>TRUE</a><b dt='bin.hex'>0aFF</b></usr>", {"a": True, "b": b"\x0a\xff"}),
        (b"<usr><a dt='int'>9</a><b dt='r4'>0.5</b></usr>", {"a": 9, "b": 0.5}),
        (b"<usr><a dt='date'>x</a></usr>", {"a": "x"}),
        (b"<usr><JMSX>1</JMSX><NOT>2</NOT><a.b>3</a.b><x:y>4</x:y><a>5</a><a>6</a></usr>", {"a": "5"}),
        (b"<mq_usr><g><h><a>1</a></h></g><b>2</b></mq_usr>", {"mq_usr.g.h.a": "1", "mq_usr.b": "2"}),
        (b"<mine content='properties'><a>1</a></mine>", {"mine.a": "1"}),
        (b'<mine content="properties"><a>1</a></mine>', {"mine.a": "1"}),
        (b"<mine><a>1</a></mine>", {}),
        (b"<psc><Command>Publish</Command></psc>", {}),
        (b"<jms><Dst>queue:///Q</Dst></jms>", {"jms.Dst": "queue:///Q"}),
        (b"   ", {}),
    ],
)
def test_a_folder_is_read(folder: bytes, expected: dict[str, object]) -> None:
    assert values(rfh2([folder]), described()) == expected


@pytest.mark.rule("mqi/properties", "A folder that cannot be read is 2421, a header that is not valid 2334.")
@pytest.mark.parametrize(
    "folder",
    [
        *(b"<usr>", b"<usr><a></usr>", b"<usr><a>1</b></usr>", b"<<usr>", b"usr", b"<usr><a>&x;</a></usr>"),
        *(b"<usr><a>&#1114112;</a></usr>", b"<usr><!-- x --></usr>", b"<usr><![CDATA[x]]></usr>", b"<?x?><usr/>"),
        *(b"<usr><a dt='i4'>x</a></usr>", b"<usr><a dt='i1'>128</a></usr>", b"<usr><a dt='bin.hex'>0</a></usr>"),
        *(b"<usr><a dt='boolean'>2</a></usr>", b"<usr/><usr/>", b"</usr>", b"<usr a='<'/>", b"\xff\xfe"),
        b"<usr>" + b"<a>" * 200 + b"</a>" * 200 + b"</usr>",
    ],
)
def test_a_malformed_folder_is_told(folder: bytes) -> None:
    handle, md = MessageHandle(), described()
    handle.set("kept", 1)
    with pytest.raises(MQIError) as caught:
        handle.from_buffer(md, rfh2([folder]) + b"data")
    assert caught.value.reason == MQRC.RFH_FORMAT_ERROR
    assert (list(handle), md) == (["kept"], described())


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"RFH ", b"XXXX" + bytes(40), rfh2([])[:35], rfh2([], version=1), rfh2([], length=35)),
        *(rfh2([], length=37), rfh2([], length=-1), rfh2([b"<usr/>"])[:-1], rfh2([], ccsid=0), rfh2([], ccsid=-1)),
        rfh2([], length=40) + struct.pack("<i", 8),
        rfh2([], length=38) + b"\0\0",
        rfh2([], length=40) + struct.pack("<i", -4),
        rfh2([b"<usr/>"], form=b"MQHRF2") + b"short",
    ],
)
def test_a_malformed_header_is_told(data: bytes) -> None:
    with pytest.raises(MQIError) as caught:
        MessageHandle().from_buffer(described(), data)
    assert caught.value.reason == MQRC.RFH_ERROR


def test_folders_without_properties_stay() -> None:
    data = (
        rfh2([b"<usr><a>1</a></usr>"], form=b"MQHRF2", ccsid=1208)
        + rfh2([b"<psc>x</psc>", b"<mcd><Msd>none</Msd></mcd>"], order="<", form=b"MQHRF2", ccsid=-2)
        + rfh2([b"<jms><Dst>q</Dst></jms>"], form=b"MQSTR", ccsid=37, encoding=0x311)
        + b"data"
    )
    md, handle = described(), MessageHandle()
    left = handle.from_buffer(md, data)
    assert list(handle) == ["a", "mcd.Msd", "jms.Dst"]
    assert (md.format, left[-4:]) == (b"MQHRF2", b"data")
    (header,) = read_chain(md, left).headers
    assert (header.folders, header.format) == ((b"<psc>x</psc>",), b"MQSTR")
    assert (header.coded_char_set_id, header.encoding) == (37, 0x311)


NAMES = st.from_regex(r"[a-z_$][A-Za-z0-9_$]{0,6}", fullmatch=True).filter(
    lambda name: (
        name.upper() not in {"NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"}
        and not name.lower().startswith("mq")
    )
)
PATHS = st.one_of(NAMES, st.builds("folder.{}".format, NAMES), st.builds("mq_usr.{}.{}".format, NAMES, NAMES))
TYPED = st.one_of(
    st.tuples(st.just(PropertyType.NULL), st.none()),
    st.tuples(st.just(PropertyType.BOOLEAN), st.booleans()),
    st.tuples(st.just(PropertyType.BYTE_STRING), st.binary(max_size=8)),
    st.tuples(st.just(PropertyType.INT8), st.integers(-128, 127)),
    st.tuples(st.just(PropertyType.INT64), st.integers(-(1 << 63), (1 << 63) - 1)),
    st.tuples(st.just(PropertyType.FLOAT32), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    st.tuples(st.just(PropertyType.FLOAT64), st.floats(allow_nan=False, allow_infinity=False)),
    st.tuples(st.just(PropertyType.STRING), st.text(st.characters(exclude_categories=["Cs"]), max_size=10)),
)


@settings(max_examples=examples(200))
@given(st.dictionaries(PATHS, TYPED, max_size=6), st.sampled_from([0x111, 0x222, 0x311, 0]), st.binary(max_size=9))
def test_any_properties_come_back(given_: dict[str, tuple[PropertyType, object]], encoding: int, body: bytes) -> None:
    sent, got = MessageHandle(), MessageHandle()
    for name, (type_, value) in given_.items():
        with suppress(MQIError):
            sent.set(name, value, type_)  # type: ignore[arg-type] # made for the type
    md = MQMD(encoding=encoding)
    data = (sent.to_buffer("%", md) if len(sent) else b"") + body
    assert got.from_buffer(md, data) == body
    assert {each.name: (each.type_, each.value) for each in got.properties()} == {
        each.name: (each.type_, each.value) for each in sent.properties()
    }
    for text in write_folders(sent.properties()):
        parse_folder(text)


PIECES = st.sampled_from(
    [
        *(
            b"<usr>",
            b"</usr>",
            b"<a>",
            b"</a>",
            b"<a dt='i4'>",
            b' dt="',
            b"'",
            b"&lt;",
            b"&#",
            b"&",
            b"1",
            b"RFH ",
            b"\0",
        ),
        *(
            b"<mq_usr>",
            b"</mq_usr>",
            b"<a xsi:nil='true'/>",
            b"\xff",
            b"<!--",
            b"content='properties'",
            b">",
            b"<",
            b"/",
        ),
    ]
)


@settings(max_examples=examples(300))
@given(
    st.lists(st.lists(PIECES, max_size=8).map(b"".join), max_size=4),
    st.lists(st.tuples(st.integers(0, 60), st.binary(min_size=1, max_size=4)), max_size=4),
    st.sampled_from([1208, 1200, 37, 0, -1, 99999]),
    st.sampled_from(["<", ">"]),
)
@example([b"<usr><a>1</a></usr>"], [], 1208, "<")
def test_no_bytes_bring_anything_down(
    folders: list[bytes], changes: list[tuple[int, bytes]], name_ccsid: int, order: str
) -> None:
    data = bytearray(rfh2(folders, order=order, name_ccsid=name_ccsid) + b"data")
    for at, new in changes:
        data[at : at + len(new)] = new
    handle, md, reason = MessageHandle(), described(), MQRC.NONE
    try:
        handle.from_buffer(md, bytes(data))
    except MQIError as error:
        reason = error.reason
    assert reason in (MQRC.NONE, MQRC.RFH_ERROR, MQRC.RFH_FORMAT_ERROR)
    assert (md == described()) or reason == MQRC.NONE
