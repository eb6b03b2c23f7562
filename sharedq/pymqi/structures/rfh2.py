"""``RFH2``: rules and formatting header 2, a fixed part and folders of XML.

Source: IBM MQ reference, "MQRFH2 - Rules and formatting header 2".
"""

from __future__ import annotations

import struct
from typing import Any
from xml.etree import ElementTree as ET

from sharedq.pymqi import CMQC
from sharedq.pymqi.errors import PYIFError
from sharedq.pymqi.structures.options import MQLONG_TYPE as LONG
from sharedq.pymqi.structures.options import MQOpts
from sharedq.pymqi.text import ensure_not_unicode

#: MQENC_INTEGER_MASK's value for big-endian integers.
_BIG_ENDIAN = CMQC.MQENC_INTEGER_NORMAL


class RFH2(MQOpts):
    """An MQRFH2. Each folder adds two members: its name, with the XML, and its name and ``Length``."""

    initial_opts: tuple[tuple[str, int | bytes, str], ...] = (
        ("StrucId", CMQC.MQRFH_STRUC_ID, "4s"),
        ("Version", CMQC.MQRFH_VERSION_2, LONG),
        ("StrucLength", 0, LONG),
        ("Encoding", CMQC.MQENC_NATIVE, LONG),
        ("CodedCharSetId", CMQC.MQCCSI_Q_MGR, LONG),
        ("Format", CMQC.MQFMT_NONE, "8s"),
        ("Flags", 0, LONG),
        ("NameValueCCSID", CMQC.MQCCSI_Q_MGR, LONG),
    )

    def __init__(self, **kw: Any) -> None:
        self.opts: list[list[Any]] = [list(member) for member in self.initial_opts]
        self._encoding: int = CMQC.MQENC_NATIVE
        super().__init__(self.opts, **kw)

    def add_folder(self, folder_data: bytes) -> None:
        """Add a folder, padded with blanks to a multiple of four bytes; StrucLength becomes right.

        Raises:
            PYIFError: it is not well-formed XML, or its name is taken.
        """
        ensure_not_unicode(folder_data)
        self._add([folder_data + b" " * (-len(folder_data) % 4)])
        self["StrucLength"] = self.get_length()

    def pack(self, encoding: int | None = None) -> bytes:
        """The header's bytes.

        Args:
            encoding: of its numbers, as the MQMD or the header before says; None: as they were in what was unpacked.
        """
        return self._packer(_is_big(self._encoding if encoding is None else encoding)).pack(*self._flat_values())

    def unpack(self, buff: bytes, encoding: int | None = None) -> None:
        """Read the header at the front of *buff*.

        Args:
            encoding: of its numbers; None finds it out.

        Raises:
            PYIFError: no MQRFH2, one that is cut, or a folder that is not well-formed XML or whose name is taken.
        """
        ensure_not_unicode(buff)
        self.read(buff, 0, encoding)

    def read(self, buff: bytes, at: int, encoding: int | None = None) -> None:
        """`unpack` of the header at *at*; what follows it is not copied."""
        left = len(buff) - at
        if buff[at : at + 4] != CMQC.MQRFH_STRUC_ID:
            raise PYIFError(f"RFH2: StrucId is {buff[at : at + 4]!r}")
        if left < CMQC.MQRFH_STRUC_LENGTH_FIXED_2:
            raise PYIFError(f"RFH2: {left} bytes, at least {CMQC.MQRFH_STRUC_LENGTH_FIXED_2} are needed")
        # The version is a small number: its first byte is null only if the large end comes first.
        is_big = buff[at + 4] == 0 if encoding is None else _is_big(encoding)
        self._encoding = CMQC.MQENC_INTEGER_NORMAL if is_big else CMQC.MQENC_INTEGER_REVERSED
        for name in [member[0] for member in self.opts[len(self.initial_opts) :]]:
            delattr(self, name)
        self.opts = [list(member) for member in self.initial_opts]
        self._define(self.opts)
        fixed = self._packer(is_big).unpack_from(buff, at)
        self.set(**{member[0]: value for member, value in zip(self.opts, fixed, strict=True)})
        if self["Version"] != CMQC.MQRFH_VERSION_2:
            raise PYIFError(f"RFH2: Version is {self['Version']} (numbers of another encoding?)")
        length = self["StrucLength"]
        if not CMQC.MQRFH_STRUC_LENGTH_FIXED_2 <= length <= left:
            raise PYIFError(f"RFH2: StrucLength is {length} (numbers of another encoding?), {left} bytes are there")
        number = struct.Struct(">i" if is_big else "<i")
        place, end = at + CMQC.MQRFH_STRUC_LENGTH_FIXED_2, at + length
        folders: list[bytes] = []
        while place < end:
            if place + number.size > end:
                raise PYIFError("RFH2: a folder's length is cut off")
            (length,) = number.unpack_from(buff, place)
            place += number.size
            if not 0 <= length <= end - place:
                raise PYIFError(f"RFH2: a folder of {length} bytes where {end - place} are left")
            folders.append(buff[place : place + length])
            place += length
        self._add(folders)

    def _add(self, folders: list[bytes]) -> None:
        kept = self.get()
        # Methods and other attributes are no names for folders either.
        taken = set(dir(self))
        added: list[list[Any]] = []
        for folder in folders:
            try:
                name = ET.fromstring(folder).tag
            except (ET.ParseError, ValueError, LookupError) as error:
                raise PYIFError(f"RFH2: a folder is not well-formed XML: {error}") from error
            members = {f"{name}Length", name}
            if members & taken:
                raise PYIFError(f"RFH2: a folder cannot be named {name}: there is something of that name already")
            taken |= members
            added += [[f"{name}Length", len(folder), LONG], [name, folder, f"{len(folder)}s"]]
        self.opts += added
        self._define(self.opts)
        self.set(**kept)

    def _packer(self, is_big: bool) -> struct.Struct:
        return struct.Struct((">" if is_big else "<") + "".join(member[2] for member in self.opts))


def take_rfh2_headers(msg: bytes, message_format: bytes) -> tuple[list[RFH2], bytes]:
    """The MQRFH2 headers at the front of *msg*, as the formats say, and the data after them.

    The message is off its queue, so a header that cannot be read is no error: it and what follows are the data.
    """
    headers: list[RFH2] = []
    at = 0
    while message_format.ljust(CMQC.MQ_FORMAT_LENGTH) == CMQC.MQFMT_RF_HEADER_2:
        header = RFH2()
        try:
            header.read(msg, at)
        except PYIFError:
            break
        headers.append(header)
        at, message_format = at + header["StrucLength"], header["Format"]
    return headers, msg[at:]


def _is_big(encoding: int) -> bool:
    return encoding & CMQC.MQENC_INTEGER_MASK == _BIG_ENDIAN
