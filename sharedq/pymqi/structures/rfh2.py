"""``RFH2``: rules and formatting header 2, a fixed part and folders of XML.

Source: IBM MQ reference, "MQRFH2 - Rules and formatting header 2".
"""

from __future__ import annotations

import struct
from typing import Any
from xml.etree import ElementTree as ET

from sharedq.mqi import wire
from sharedq.mqi.errors import MQIError
from sharedq.pymqi import CMQC
from sharedq.pymqi.boundary import checked, ensure_not_unicode
from sharedq.pymqi.errors import PYIFError
from sharedq.pymqi.structures.options import MQLONG_TYPE as LONG
from sharedq.pymqi.structures.options import Members, MQOpts, declared_members


@checked
class RFH2(MQOpts):
    """An MQRFH2. Each folder adds two members: its name, with the XML, and its name and ``Length``."""

    initial_opts: Members = declared_members(
        wire.RFH2,
        StrucLength=0,
        CodedCharSetId=CMQC.MQCCSI_Q_MGR,
        Format=CMQC.MQFMT_NONE,
        NameValueCCSID=CMQC.MQCCSI_Q_MGR,
    )

    #: Encodings that say, or whose other parts suggest, that the large end of integers comes first.
    big_endian_encodings = (
        CMQC.MQENC_INTEGER_NORMAL,
        CMQC.MQENC_DECIMAL_NORMAL,
        CMQC.MQENC_FLOAT_IEEE_NORMAL,
        CMQC.MQENC_FLOAT_S390,
        CMQC.MQENC_INTEGER_NORMAL | CMQC.MQENC_DECIMAL_NORMAL,
        CMQC.MQENC_INTEGER_NORMAL | CMQC.MQENC_FLOAT_IEEE_NORMAL,
        CMQC.MQENC_DECIMAL_NORMAL | CMQC.MQENC_FLOAT_IEEE_NORMAL,
        CMQC.MQENC_INTEGER_NORMAL | CMQC.MQENC_DECIMAL_NORMAL | CMQC.MQENC_FLOAT_IEEE_NORMAL,
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
        return self._packed(self._packer(_is_big(self._encoding if encoding is None else encoding)))

    def unpack(self, buff: bytes, encoding: int | None = None) -> None:
        """Read the header at the front of *buff*.

        Args:
            encoding: of its numbers; None finds it out.

        Raises:
            PYIFError: no MQRFH2, one that is cut, or a folder that is not well-formed XML or whose name is taken. Of
                one that is cut after its fixed part that part is read.
        """
        ensure_not_unicode(buff)
        self.read(buff, 0, encoding, may_lack_folders=len(buff) == CMQC.MQRFH_STRUC_LENGTH_FIXED_2)

    def read(self, buff: bytes, at: int, encoding: int | None = None, *, may_lack_folders: bool = False) -> None:
        """`unpack` of the header at *at*; what follows it is not copied."""
        left = len(buff) - at
        # Programs may compare these texts, which are those of pymqi.
        if buff[at : at + 4] != CMQC.MQRFH_STRUC_ID:
            raise PYIFError(f"RFH2 - StrucId not MQRFH_STRUC_ID. Value: {buff[at : at + 4]!r}")
        if left < CMQC.MQRFH_STRUC_LENGTH_FIXED_2:
            raise PYIFError(f"RFH2 - Buffer too short. Should be 36+ bytes instead of {left}")
        # The version is a small number: its first byte is null only if the large end comes first.
        is_big = buff[at + 4] == 0 if encoding is None else _is_big(encoding)
        self._encoding = CMQC.MQENC_INTEGER_NORMAL if is_big else CMQC.MQENC_INTEGER_REVERSED
        for name in [member[0] for member in self.opts[len(self.initial_opts) :]]:
            delattr(self, name)
        self.opts = [list(member) for member in self.initial_opts]
        self._define(self.opts)
        fixed = self._packer(is_big).unpack_from(buff, at)
        self.set(**{member[0]: value for member, value in zip(self.opts, fixed, strict=True)})
        length = self["StrucLength"]
        if length < 0:
            raise PYIFError('RFH2 - "StrucLength" is negative. Check numeric encoding.')
        if length > left and not may_lack_folders:
            raise PYIFError(f"RFH2 - Buffer too short. Expected: {length} Buffer Length: {left}")
        if self["Version"] != CMQC.MQRFH_VERSION_2 or length < CMQC.MQRFH_STRUC_LENGTH_FIXED_2:
            raise PYIFError(f"RFH2: Version {self['Version']}, StrucLength {length} (numbers of another encoding?)")
        begin, end = at + CMQC.MQRFH_STRUC_LENGTH_FIXED_2, at + min(length, left)
        folders: list[bytes] = []
        wrong = ""
        try:
            for folder in wire.rfh2_folders(buff, begin, end, ">" if is_big else "<"):
                folders.append(folder)  # noqa: PERF402 - those before a wrong one count
        except MQIError as error:
            wrong = error.detail
        # The length of one may be wrong because the one before it is.
        self._add(folders)
        if wrong:
            raise PYIFError(f"RFH2: {wrong}")

    def _add(self, folders: list[bytes]) -> None:
        kept = self.get()
        # Methods and other attributes are no names for folders either.
        taken = set(dir(self))
        added: list[list[Any]] = []
        for folder in folders:
            try:
                name = ET.fromstring(folder).tag
            except (ET.ParseError, ValueError, LookupError) as error:
                raise PYIFError(f"RFH2 - XML Folder not well formed. Exception: {error}") from error
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
    return encoding & CMQC.MQENC_INTEGER_MASK == CMQC.MQENC_INTEGER_NORMAL or encoding in RFH2.big_endian_encodings
