"""The structures: access by name, IBM's layouts, headers."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedq import pymqi
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import MD as MD_LAYOUT
from sharedq.pymqi import CMQC, CMQXC
from sharedq.pymqi.structures.rfh2 import take_rfh2_headers
from tests.support.examples import examples

pytestmark = pytest.mark.share

LENGTHS: dict[type[pymqi.MQOpts], int] = {
    pymqi.MD: CMQC.MQMD_LENGTH_2,
    pymqi.GMO: CMQC.MQGMO_LENGTH_4,
    pymqi.PMO: CMQC.MQPMO_LENGTH_3,
    pymqi.OD: CMQC.MQOD_LENGTH_4,
    pymqi.TM: CMQC.MQTM_LENGTH_1,
    pymqi.TMC2: CMQC.MQTMC2_LENGTH_2,
    pymqi.SCO: CMQC.MQSCO_LENGTH_5,
    pymqi.CD: CMQXC.MQCD_LENGTH_12,
    # The message descriptor that follows is a structure of its own.
    pymqi.XQH: CMQC.MQXQH_LENGTH_1 - CMQC.MQMD_LENGTH_1,
}


@pytest.mark.parametrize("structure", LENGTHS)
def test_a_structure_has_ibms_length_and_survives_its_bytes(structure: type[pymqi.MQOpts]) -> None:
    original, copy = structure(), structure()  # type: ignore[call-arg]
    packed = original.pack()
    assert len(packed) == original.get_length()
    # At the end of those with pointers, C pads to a multiple of eight.
    assert len(packed) in (LENGTHS[structure], LENGTHS[structure] - 4)
    copy.unpack(packed)
    assert copy.pack() == packed


def test_members_are_attributes_items_and_keywords() -> None:
    md = pymqi.MD(Priority=3)
    md.CorrelId = b"c"
    md["ReplyToQ"] = b"REPLIES"
    md.set(Persistence=CMQC.MQPER_PERSISTENT)
    assert (md["Priority"], md["CorrelId"], md.ReplyToQ, md.Persistence) == (3, b"c", b"REPLIES", 1)
    assert md.get()["Priority"] == 3
    assert str(md).splitlines()[:2] == ["StrucId: b'MD  '", "Version: 1"]
    assert "Priority: 3" in str(md).splitlines()
    assert repr(md) == str(md.pack())


def test_every_object_has_its_own_members() -> None:
    first, second = pymqi.CD(), pymqi.CD()
    first.HdrCompList[0] = 7
    first.Version = 11
    assert (second.HdrCompList, second.Version) == ([0, -1], 6)
    second.unpack(first.pack())
    assert second.HdrCompList == [7, -1]


def test_unknown_members_and_text_are_refused() -> None:
    with pytest.raises(AttributeError):
        pymqi.MD(NoSuchField=1)
    md = pymqi.MD()
    with pytest.raises(AttributeError):
        md["NoSuchField"] = 1
    for set_text in (lambda: pymqi.MD(MsgId="text"), lambda: md.set(MsgId="text"), lambda: md.unpack("text")):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            set_text()
    md.MsgId = "text"
    with pytest.raises(TypeError):
        md.pack()
    md.MsgId, md.Priority = b"", b"high"
    with pytest.raises(struct.error):
        md.pack()


def test_missing_bytes_at_the_end_count_as_nulls() -> None:
    md = pymqi.MD()
    md.unpack(pymqi.MD(MsgSeqNumber=5).pack()[: CMQC.MQMD_LENGTH_1])
    assert (md.MsgSeqNumber, md.GroupId) == (0, bytes(24))


def test_the_native_descriptor_has_the_same_layout_and_initial_values() -> None:
    native = MQMD(version=2)
    padded = {"Format": 8, "ReplyToQ": 48, "ReplyToQMgr": 48, "UserIdentifier": 12, "ApplIdentityData": 32}
    padded |= {"PutApplName": 28, "PutDate": 8, "PutTime": 8, "ApplOriginData": 4}
    ours = pymqi.MD(Version=2, **{name: b" " * length for name, length in padded.items()})
    assert ours.pack() == MD_LAYOUT.pack(native)


def test_programs_can_describe_their_own_structures() -> None:
    class Header(pymqi.MQOpts):
        def __init__(self, **kw: object) -> None:
            super().__init__([["StrucId", b"HDR ", "4s"], ["Counts", [1, 2], "i", 2], ["Name", b"", "8s"]], **kw)

    header, copy = Header(Name=b"x"), Header()
    copy.unpack(header.pack())
    assert header.get_length() == 20
    assert copy.get() == {"StrucId": b"HDR ", "Counts": [1, 2], "Name": b"x".ljust(8, b"\0")}


def test_variable_length_strings() -> None:
    od = pymqi.OD()
    assert od.get_vs("ObjectString") is None
    od.set_vs("ObjectString", "some/topic")
    assert od.get_vs("ObjectStringVSPtr") == b"some/topic"
    assert od.ObjectStringVSLength == 10
    with pytest.raises(TypeError):
        od.set_vs("SelectionString", "text")


# -- MQRFH2 -------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.text("abcdefgh", min_size=1, max_size=9), max_size=4, unique=True),
    st.sampled_from([None, CMQC.MQENC_NATIVE, CMQC.MQENC_INTEGER_NORMAL, CMQC.MQENC_S390]),
    st.binary(max_size=9),
)
def test_a_header_survives_its_bytes(names: list[str], encoding: int | None, data: bytes) -> None:
    header, copy = pymqi.RFH2(Format=CMQC.MQFMT_STRING, NameValueCCSID=1208), pymqi.RFH2()
    for name in names:
        header.add_folder(f"<{name}><v>{name}</v></{name}>".encode())
    # StrucLength is filled in with the first folder.
    header["StrucLength"] = header.get_length()
    packed = header.pack(encoding)
    assert len(packed) == header["StrucLength"]
    assert len(packed) % 4 == 0
    copy.unpack(packed + data, encoding)
    assert copy.get() == header.get()
    found_out = pymqi.RFH2()
    found_out.unpack(packed)
    assert found_out.get() == header.get()


def test_bytes_that_are_no_header_are_refused() -> None:
    header = pymqi.RFH2()
    header.add_folder(b"<usr><a>1</a></usr>")
    good = header.pack()
    broken = [
        b"XXXX" + good[4:],
        good[:30],
        good[:-4],
        good[:8] + struct.pack("<i", -1) + good[12:],
        good[:36] + struct.pack("<i", 10_000) + good[40:],
        good[:36] + struct.pack("<i", -4) + good[40:],
        good.replace(b"</usr>", b"</usx>"),
    ]
    for buffer in broken:
        with pytest.raises(pymqi.PYIFError):
            pymqi.RFH2().unpack(buffer)
    with pytest.raises(pymqi.PYIFError, match="XML"):
        header.add_folder(b"<usr>")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda good: b"XXXX" + good[4:], "RFH2 - StrucId not MQRFH_STRUC_ID. Value: b'XXXX'"),
        (lambda good: good[:30], "RFH2 - Buffer too short. Should be 36+ bytes instead of 30"),
        (lambda good: good[:40], "RFH2 - Buffer too short. Expected: 60 Buffer Length: 40"),
        (lambda good: good[:11] + b"\xff" + good[12:], 'RFH2 - "StrucLength" is negative. Check numeric encoding.'),
    ],
)
def test_a_broken_header_is_described_as_pymqi_does(change: Callable[[bytes], bytes], text: str) -> None:
    header = pymqi.RFH2()
    header.add_folder(b"<usr><a>1</a></usr>")
    with pytest.raises(pymqi.PYIFError) as caught:
        pymqi.RFH2().unpack(change(header.pack()))
    assert str(caught.value) == f"PYMQI Error: {text}"


def test_the_fixed_part_of_a_header_can_be_read_alone() -> None:
    header = pymqi.RFH2(Format=CMQC.MQFMT_STRING)
    header.add_folder(b"<usr><a>1</a></usr>")
    front = header.pack()[:36]
    found = pymqi.RFH2()
    found.unpack(front)
    assert (found["StrucLength"], found["Format"], len(found.get())) == (60, CMQC.MQFMT_STRING, 8)
    assert take_rfh2_headers(front, CMQC.MQFMT_RF_HEADER_2) == ([], front)


@pytest.mark.parametrize("encoding", [0x1, 0x10, 0x100, 0x300, 0x11, 0x101, 0x110, 0x111, 0x311])
def test_large_ends_come_first_for_these_encodings(encoding: int) -> None:
    assert pymqi.RFH2().pack(encoding)[4:8] == b"\0\0\0\2"


@pytest.mark.parametrize("encoding", [None, 0, 0x2, 0x20, 0x200, 0x22, 0x202, 0x220, 0x222, 0x302])
def test_small_ends_come_first_for_these_encodings(encoding: int | None) -> None:
    assert pymqi.RFH2().pack(encoding)[4:8] == b"\2\0\0\0"


_TEXTS = st.text("abcdefgh", min_size=1, max_size=9).filter(lambda name: name not in dir(pymqi.RFH2()))


@given(
    st.dictionaries(_TEXTS, st.text("xyz", max_size=9), max_size=4),
    st.sampled_from([CMQC.MQENC_NATIVE, CMQC.MQENC_INTEGER_NORMAL, CMQC.MQENC_S390]),
    st.booleans(),
)
def test_a_header_that_was_read_is_written_in_the_order_it_came_in(
    folders: dict[str, str], encoding: int, is_told: bool
) -> None:
    header = pymqi.RFH2(Format=CMQC.MQFMT_STRING, NameValueCCSID=1208, StrucLength=36)
    for name, value in folders.items():
        header.add_folder(f"<{name}>{value}</{name}>".encode())
    packed = header.pack(encoding)
    copy = pymqi.RFH2()
    copy.unpack(packed, encoding if is_told else None)
    assert copy.pack() == packed
    copy.add_folder(b"<more/>")
    again = pymqi.RFH2()
    again.unpack(copy.pack(), encoding)
    assert again["more"] == b"<more/> "
    # An object that has read one header reads another.
    again.unpack(packed)
    assert again.pack() == packed
    assert "more" not in again.get()


@pytest.mark.parametrize("name", ["opts", "get", "pack", "_definition", "Version", "StrucLength", "usr", "usrLength"])
def test_a_folder_cannot_take_a_used_name(name: str) -> None:
    header = pymqi.RFH2()
    header.add_folder(b"<usr/>")
    before = header.pack()
    with pytest.raises(pymqi.PYIFError, match="named"):
        header.add_folder(f"<{name}/>".encode())
    assert header.pack() == before


_NUMBERS = st.one_of(st.sampled_from([0, -1, 1, 2, 4, 36, 2**31 - 1]), st.integers(-(2**31), 2**31 - 1))
_FOLDERS = st.sampled_from(
    [b"", b"<a/>", b"<usr><a>1</a></usr> ", b"<opts/> ", b"<?xml version='1.0' encoding='x'?><a/>"]
)


@settings(max_examples=examples(1000))
@given(
    st.lists(_FOLDERS | st.binary(max_size=12), max_size=3),
    st.sampled_from("<>"),
    st.lists(st.tuples(st.integers(0, 14), st.sampled_from("<>"), _NUMBERS), max_size=2),
    st.none() | st.integers(0, 120),
    st.sampled_from([None, CMQC.MQENC_NATIVE, CMQC.MQENC_INTEGER_NORMAL]),
)
def test_any_bytes_are_read_and_written_alike_or_refused(
    folders: list[bytes],
    order: str,
    changes: list[tuple[int, str, int]],
    length: int | None,
    encoding: int | None,
) -> None:
    body = b"".join(struct.pack(f"{order}i", len(folder)) + folder for folder in folders)
    fixed = struct.pack(f"{order}4siiii8sii", b"RFH ", 2, 36 + len(body), 273, 1208, b"MQHRF2  ", 0, 1208)
    data = bytearray(fixed + body)
    for field, written, number in changes:
        if field * 4 + 4 <= len(data):
            struct.pack_into(f"{written}i", data, field * 4, number)
    sent = bytes(data if length is None else data[:length])
    header = pymqi.RFH2()
    try:
        header.unpack(sent, encoding)
    except pymqi.PYIFError:
        pass
    else:
        assert header.pack() == sent[: header["StrucLength"]]
    found, rest = take_rfh2_headers(sent, CMQC.MQFMT_RF_HEADER_2)
    assert b"".join(each.pack() for each in found) + rest == sent


def test_many_headers_are_taken_off_a_long_message() -> None:
    data = pymqi.RFH2(Format=CMQC.MQFMT_RF_HEADER_2, StrucLength=36).pack() * 2000 + b"x" * 4_000_000
    found, rest = take_rfh2_headers(data, CMQC.MQFMT_RF_HEADER_2)
    assert (len(found), len(rest)) == (2000, 4_000_000)
