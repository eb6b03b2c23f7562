"""IBM's layouts of the headers and structures that a message may begin with: each field by its offset, with a value."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from sharedq.mqi.character_sets import CharacterSet, Representation, character_set
from sharedq.mqi.constants import Encoding, Format

NORMAL, REVERSED, S390 = int(Encoding.NORMAL), int(Encoding.REVERSED), int(Encoding.S390)
LATIN1 = Representation(819, REVERSED)
HOST = Representation(500, S390)
UTF8 = Representation(1208, REVERSED)
#: Stands in a layout for what a structure says about itself and about what comes after it.
LENGTH, ENCODING, CCSID, FORMAT = "length", "encoding", "ccsid", "format"


@dataclass(frozen=True)
class Text:
    """Characters at an offset: those of *value*, and blanks up to *length*."""

    value: str
    length: int


Cell = int | str | Text | bytes


@dataclass(frozen=True)
class Layout:
    """A structure of IBM's: its Format, its length, its cells by offset."""

    format: bytes
    length: int
    cells: dict[int, Cell]


def chained(identifier: str, version: int) -> dict[int, Cell]:
    """The front of the headers that have a StrucLength."""
    head: dict[int, Cell] = {0: Text(identifier, 4), 4: version, 8: LENGTH, 12: ENCODING, 16: CCSID, 20: FORMAT}
    return head


_CIH_1: dict[int, Cell] = {
    **chained("CIH", 1),
    28: 4,
    32: 5,
    36: 2,
    40: 2062,
    44: 273,
    48: -2,
    52: 1,
    56: -1,
    60: 65535,
    64: 3,
    68: 1,
    72: 256,
    76: b"\x01\xffACILIT",
    84: Text("LINK", 4),
    88: Text("ASRA", 4),
    92: Text("SECRET", 8),
    100: Text("", 8),
    108: Text("MQSTR", 8),
    116: Text("SYS1", 4),
    120: Text("RTRN", 4),
    124: Text("TRAN", 4),
    128: Text("FAC", 4),
    132: Text("AID", 4),
    136: Text("S", 4),
    140: Text("CANC", 4),
    144: Text("NEXT", 4),
    148: Text("", 8),
    156: Text("", 8),
}
#: Offsets and lengths are of IBM's reference (for z/OS and for 64-bit machines they are the same).
LAYOUTS = {
    "MQCIH 1": Layout(Format.CICS, 164, _CIH_1),
    "MQCIH 2": Layout(Format.CICS, 180, {**_CIH_1, 4: 2, 164: 1, 168: 2, 172: 3, 176: 0}),
    "MQIIH": Layout(
        Format.IMS,
        84,
        {
            **chained("IIH", 1),
            28: 1,
            32: Text("LTERM", 8),
            40: Text("MAP", 8),
            48: Text("MQSTR", 8),
            56: Text("PASSWORD", 8),
            64: bytes(range(200, 216)),
            80: Text("C", 1),
            81: Text("0", 1),
            82: Text("F", 1),
            83: Text("", 1),
        },
    ),
    "MQWIH": Layout(
        Format.WORK_INFO_HEADER,
        120,
        {
            **chained("WIH", 1),
            28: 0,
            32: Text("SERVICE", 32),
            64: Text("STEP", 8),
            72: b"\xc1" * 16,
            88: Text("", 32),
        },
    ),
    "MQRFH": Layout(Format.RF_HEADER_1, 32, {**chained("RFH", 1), 28: 7}),
    "MQRFH2": Layout(Format.RF_HEADER_2, 36, {**chained("RFH", 2), 28: 7, 32: 1208}),
    "MQDH": Layout(Format.DIST_HEADER, 48, {**chained("DH", 1), 28: 1, 32: 0, 36: 0, 40: 0, 44: 0}),
    "MQRMH": Layout(
        Format.REF_MSG_HEADER,
        108,
        {
            **chained("RMH", 1),
            28: 1,
            32: Text("FILE", 8),
            40: b"\x85" * 24,
            64: 0,
            68: 0,
            72: 0,
            76: 0,
            80: 0,
            84: 0,
            88: 0,
            92: 0,
            96: -1,
            100: 5,
            104: 6,
        },
    ),
    "MQMDE": Layout(
        Format.MD_EXTENSION,
        72,
        {**chained("MDE", 2), 28: 0, 32: b"\x81" * 24, 56: 7, 60: 4096, 64: 24, 68: -1},
    ),
    "MQDLH": Layout(
        Format.DEAD_LETTER_HEADER,
        172,
        {
            0: Text("DLH", 4),
            4: 1,
            8: 2053,
            12: Text("ORDERS", 48),
            60: Text("EWR", 48),
            108: ENCODING,
            112: CCSID,
            116: FORMAT,
            124: 28,
            128: Text("shop", 28),
            156: Text("20130101", 8),
            164: Text("05150067", 8),
        },
    ),
    "MQTM": Layout(
        Format.TRIGGER,
        684,
        {
            0: Text("TM", 4),
            4: 1,
            8: Text("ORDERS", 48),
            56: Text("PROCESS", 48),
            104: Text("DATA", 64),
            168: 6,
            172: Text("run", 256),
            428: Text("env", 128),
            556: Text("user", 128),
        },
    ),
    "MQTMC2 1": Layout(
        Format.TRIGGER,
        684,
        {
            0: Text("TMC", 4),
            4: Text("   1", 4),
            8: Text("ORDERS", 48),
            56: Text("PROCESS", 48),
            104: Text("DATA", 64),
            168: Text("   6", 4),
            172: Text("run", 256),
            428: Text("env", 128),
            556: Text("user", 128),
        },
    ),
    "MQTMC2": Layout(
        Format.TRIGGER,
        732,
        {
            0: Text("TMC", 4),
            4: Text("   2", 4),
            8: Text("ORDERS", 48),
            56: Text("PROCESS", 48),
            104: Text("DATA", 64),
            168: Text("   6", 4),
            172: Text("run", 256),
            428: Text("env", 128),
            556: Text("user", 128),
            684: Text("QM1", 48),
        },
    ),
    "MQXQH": Layout(
        Format.XMIT_Q_HEADER,
        428,
        {
            0: Text("XQH", 4),
            4: 1,
            8: Text("REMOTE.Q", 48),
            56: Text("REMOTE", 48),
            # The descriptor in it begins at 104.
            104: Text("MD", 4),
            108: 1,
            112: 64,
            116: 8,
            120: -1,
            124: 0,
            128: ENCODING,
            132: CCSID,
            136: FORMAT,
            144: 5,
            148: 1,
            152: b"\x82" * 24,
            176: b"\x83" * 24,
            200: 2,
            204: Text("REPLY", 48),
            252: Text("QM1", 48),
            300: Text("USER", 12),
            312: b"\x84" * 32,
            344: Text("identity", 32),
            376: 2,
            380: Text("program", 28),
            408: Text("20130101", 8),
            416: Text("05150067", 8),
            424: Text("orig", 4),
        },
    ),
}
#: After the fields of these, and the data after them are written as the header itself.
WITH_TAIL, WITHOUT_OWN = ("MQRFH", "MQRFH2", "MQDH", "MQRMH"), ("MQCIH 1", "MQCIH 2", "MQIIH")
HEADERS = [name for name, layout in LAYOUTS.items() if FORMAT in layout.cells.values()]


def text(value: str, how: Representation) -> bytes:
    found = character_set(*how, is_source=True)
    assert isinstance(found, CharacterSet)
    return found.data(value)


def number(value: int, how: Representation) -> bytes:
    return struct.pack(">i" if how.encoding & 0xF == int(Encoding.INTEGER_NORMAL) else "<i", value)


def built(
    layout: Layout,
    how: Representation,
    *,
    following: Representation | None = None,
    format_: bytes = b"",
    tail: bytes = b"",
) -> bytes:
    """The structure, written as *how* says, with what it says about what comes after it."""
    told = following or Representation(0, 0)
    special = {
        LENGTH: number(layout.length + len(tail), how),
        ENCODING: number(told.encoding, how),
        CCSID: number(told.ccsid, how),
        FORMAT: text(format_.decode().ljust(8), how),
    }
    data = bytearray()
    for offset, cell in sorted(layout.cells.items()):
        assert offset == len(data), "a layout without a gap"
        match cell:
            case str():
                data += special[cell]
            case Text():
                data += text(cell.value.ljust(cell.length), how)
            case int():
                data += number(cell, how)
            case bytes():
                data += cell
    assert len(data) == layout.length
    return bytes(data) + tail
