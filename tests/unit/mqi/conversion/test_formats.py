"""Formats of other packages: entry points of the group igq.conversion, of a package that is really installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQRC, Encoding, Format
from sharedq.mqi.conversion.messages import Converted, convert
from sharedq.mqi.headers import MQDLH
from sharedq.mqi.wire import DLH

LATIN1 = Representation(819, int(Encoding.REVERSED))
HOST = Representation(500, int(Encoding.S390))

SOURCE = """
from sharedq.mqi.constants import MQRC
from sharedq.mqi.conversion.errors import ConversionError
from sharedq.mqi.conversion.fields import converted_fields

def order(data, source, target):
    return converted_fields(data, (("number", "i"), ("price", "d"), ("name", "c4")), source, target)

def refuses(data, source, target):
    raise ConversionError(MQRC.DBCS_ERROR)

def fails(data, source, target):
    return {}["nothing"]

def text(data, source, target):
    return "no bytes"
"""
ENTRIES = """[igq.conversion]
ORDER = their_formats:order
REFUSES = their_formats:refuses
FAILS = their_formats:fails
TEXT = their_formats:text
GONE = their_formats:gone
LOST = their_formats:lost
MQSTR = their_formats:fails
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with formats, as an installer leaves it."""
    (tmp_path / "their_formats.py").write_text(SOURCE, "utf-8")
    metadata = tmp_path / "their_formats-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-formats\nVersion: 1\n", "utf-8")
    (metadata / "entry_points.txt").write_text(ENTRIES, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("their_formats", None)


def converted(data: bytes, format_: bytes, room: int = 1000) -> Converted | MQRC:
    return convert(data, format_, LATIN1, HOST, room, may_cut=False, is_cut=False)


ORDER = b"\x07\0\0\0" + b"\0\0\0\0\0\0\xf0\x3f" + b"AB  "
ORDER_THERE = b"\0\0\0\x07" + b"\x41\x10\0\0\0\0\0\0" + b"\xc1\xc2\x40\x40"


@pytest.mark.rule("mqi/conversion", "A Format that is not built in is converted by the entry point with its name.")
def test_the_entry_point_with_the_name_of_the_format_converts() -> None:
    assert converted(ORDER, b"ORDER") == Converted(ORDER_THERE)
    header = MQDLH(encoding=LATIN1.encoding, coded_char_set_id=LATIN1.ccsid, format=b"ORDER")
    there = converted(DLH.pack(header) + ORDER, Format.DEAD_LETTER_HEADER)
    assert isinstance(there, Converted)
    assert there.data[172:] == ORDER_THERE
    assert there.data[108:116] == HOST.encoding.to_bytes(4) + HOST.ccsid.to_bytes(4)


@pytest.mark.rule("mqi/conversion", "A converter that fails leaves the data unconverted: its own reason, else 2119.")
@pytest.mark.parametrize(
    ("format_", "reason"),
    [
        (b"REFUSES", MQRC.DBCS_ERROR),
        (b"FAILS", MQRC.NOT_CONVERTED),
        (b"TEXT", MQRC.NOT_CONVERTED),
        (b"GONE", MQRC.FORMAT_ERROR),
        (b"UNKNOWN", MQRC.FORMAT_ERROR),
        (b"", MQRC.FORMAT_ERROR),
        (b"\xff\0[]", MQRC.FORMAT_ERROR),
    ],
)
@pytest.mark.filterwarnings("ignore:.*converter of Format:RuntimeWarning")
def test_a_converter_that_fails(format_: bytes, reason: MQRC) -> None:
    assert converted(ORDER, format_) == reason


@pytest.mark.parametrize(("format_", "why"), [(b"FAILS", "failed: KeyError"), (b"LOST", "cannot be loaded: Attribute")])
def test_a_warning_says_why_it_failed(format_: bytes, why: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"{format_.decode()}.*{why}"):
        converted(ORDER, format_)


def test_data_of_it_that_do_not_fit_or_are_cut() -> None:
    assert converted(ORDER, b"ORDER", room=15) == MQRC.CONVERTED_MSG_TOO_BIG
    assert converted(ORDER[:10], b"ORDER") == MQRC.FORMAT_ERROR


def test_a_format_of_ibm_is_not_replaced() -> None:
    assert converted(b"A", Format.STRING) == Converted(b"\xc1")
