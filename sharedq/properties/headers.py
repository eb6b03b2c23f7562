"""The MQRFH2 headers at the front of a message: reading them, taking properties out, putting properties in.

Numbers of a header have the byte order in which its Version is 2. Its StrucId and Format are text of the character set
told by the descriptor or the header before it, ASCII or EBCDIC. The folders have the character set that NameValueCCSID
names.

Source: IBM MQ reference, "MQRFH2 - Rules and formatting header 2", "MQRFH2 headers that are not valid"; "MaxMsgLength",
"MaxPropertiesLength", "Properties and message length".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple

from sharedq.mqi.character_sets import CharacterSet, character_set
from sharedq.mqi.constants import MQRC, CharSet, Encoding, Format
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.headers import MQRFH2
from sharedq.mqi.limits import DEFAULT_CCSID, FORMAT_LENGTH
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import RFH2, rfh2_folders
from sharedq.properties.folders import (
    FolderError,
    Property,
    folder_name,
    has_properties,
    read_properties,
    write_folders,
)
from sharedq.properties.values import length_of

FIXED_LENGTH: Final = RFH2.length(2)
_VERSION_AT: Final = 4
_LONG: Final = 4
_UTF_8: Final = 1208
_ASCII_ID: Final = RFH2.identifier
_EBCDIC_ID: Final = "RFH ".encode("cp037")
_INTEGER_MASK: Final = 0x00F
_ORDERS: Final = {int(Encoding.INTEGER_NORMAL): ">", int(Encoding.INTEGER_REVERSED): "<"}
#: CodedCharSetIds that no header of a message that is put may have.
_NO_CCSIDS: Final = (CharSet.Q_MGR, CharSet.EMBEDDED, CharSet.APPL)
#: How a part of a message is written: Encoding, CodedCharSetId, Format.
Described = tuple[int, int, bytes]
#: Headers after each other, and folders in them, at most.
_MOST_HEADERS, _MOST_FOLDERS = 100, 1000
#: Properties that the queue manager adds to a publication.
_ADDED: Final = "mqps."


@dataclass(frozen=True, slots=True)
class ChainedHeader:
    """One MQRFH2.

    Attributes:
        encoding, coded_char_set_id, format: of the data after the header; the format without blanks.
        order: ``>`` or ``<``, of its numbers.
        is_ebcdic: its StrucId and Format are in EBCDIC.
        folders: the bytes of each, as they came.
        length: in bytes.
    """

    encoding: int
    coded_char_set_id: int
    format: bytes
    flags: int
    name_value_ccsid: int
    folders: tuple[bytes, ...]
    order: str
    is_ebcdic: bool
    length: int

    def text(self, folder: bytes) -> str:
        """The text of a folder. Raises FolderError: it is none of its character set, or nobody knows that."""
        try:
            return self._set().text(folder)
        except UnicodeError as error:
            raise FolderError(f"a folder is no text of CCSID {self.name_value_ccsid}: {error}") from None

    def data(self, text: str) -> bytes:
        """The bytes of a folder, with blanks up to a multiple of four.

        Raises:
            FolderError: its character set has not all of the characters, or nobody knows it.
        """
        try:
            blank, folder = self._set().data(" "), self._set().data(text)
        except UnicodeError as error:
            raise FolderError(f"not in CCSID {self.name_value_ccsid}: {error}") from None
        return folder + blank * (-len(folder) % _LONG // len(blank))

    def name(self, folder: bytes) -> str:
        """The name of a folder; empty where it has none."""
        try:
            return folder_name(self.text(folder))
        except FolderError:
            return ""

    def _set(self) -> CharacterSet:
        encoding = Encoding.INTEGER_NORMAL if self.order == ">" else Encoding.INTEGER_REVERSED
        found = character_set(self.name_value_ccsid, int(encoding), is_source=True)
        if not isinstance(found, CharacterSet):
            raise FolderError(f"NameValueCCSID {self.name_value_ccsid}")
        return found

    def pack(self) -> bytes:
        """Its bytes."""
        body = b"".join(struct.pack(f"{self.order}i", len(folder)) + folder for folder in self.folders)
        fixed = MQRFH2(
            struc_length=FIXED_LENGTH + len(body),
            encoding=self.encoding,
            coded_char_set_id=self.coded_char_set_id,
            format=self.format,
            flags=self.flags,
            name_value_ccsid=self.name_value_ccsid,
        )
        if not self.is_ebcdic:
            return RFH2.pack(fixed, order=self.order) + body
        fixed.format = self.format.ljust(FORMAT_LENGTH).decode("latin-1").encode("cp037", "replace")
        return _EBCDIC_ID + RFH2.pack(fixed, order=self.order)[len(_EBCDIC_ID) :] + body


@dataclass(frozen=True, slots=True)
class Chain:
    """The MQRFH2 headers at the front of a message.

    Attributes:
        described: how each header is written, and last what follows them all.
        length: of all of them, bytes.
    """

    headers: tuple[ChainedHeader, ...]
    described: tuple[Described, ...]
    length: int


def read_chain(md: MQMD, body: bytes) -> Chain:
    """The headers that the descriptor announces. Raises MQIError: 2334 one is not valid."""
    headers: list[ChainedHeader] = []
    described: list[Described] = [(md.encoding, md.coded_char_set_id, md.format.rstrip(b" \0"))]
    at = 0
    while described[-1][2] == Format.RF_HEADER_2 and len(headers) < _MOST_HEADERS:
        ccsid = described[-1][1]
        header = read_header(body, at)
        headers.append(header)
        at += header.length
        its_ccsid = ccsid if header.coded_char_set_id == CharSet.INHERIT else header.coded_char_set_id
        described.append((header.encoding, its_ccsid, header.format))
    return Chain(tuple(headers), tuple(described), at)


def check_chain(chain: Chain) -> None:
    """Raises MQIError: 2334, a header does not say in which character set its data are."""
    for header in chain.headers:
        if header.coded_char_set_id in _NO_CCSIDS:
            raise _invalid(f"CodedCharSetId {header.coded_char_set_id}")


def read_header(data: bytes, at: int) -> ChainedHeader:
    """The header at *at*; the order of its numbers is the one in which its Version is 2.

    Raises:
        MQIError: 2334 it is not valid.
    """
    # The data of a buffer may be a memoryview.
    front = bytes(data[at : at + FIXED_LENGTH])
    is_ebcdic = front.startswith(_EBCDIC_ID)
    fixed = RFH2.unpack(_ASCII_ID + front[len(_ASCII_ID) :] if is_ebcdic else front, may_be_foreign=True)
    if not FIXED_LENGTH <= fixed.struc_length <= len(data) - at:
        raise _invalid(f"StrucLength {fixed.struc_length}, {len(data) - at} bytes are there")
    order = "<" if data[at + _VERSION_AT] else ">"
    found = rfh2_folders(data, at + FIXED_LENGTH, at + fixed.struc_length, order)
    folders = tuple(islice(found, _MOST_FOLDERS + 1))
    if len(folders) > _MOST_FOLDERS:
        raise _invalid("there are too many folders")
    return ChainedHeader(
        fixed.encoding,
        fixed.coded_char_set_id,
        fixed.format.decode("cp037").encode("latin-1", "replace").rstrip(b" \0") if is_ebcdic else fixed.format,
        fixed.flags,
        fixed.name_value_ccsid,
        folders,
        order,
        is_ebcdic,
        fixed.struc_length,
    )


def _invalid(detail: str) -> Exception:
    return error_for(MQRC.RFH_ERROR, "", "MQRFH2", detail)


def properties_in(chain: Chain) -> list[Property]:
    """The properties in all folders that have properties; of several with one name the first.

    Raises:
        MQIError: 2421 a folder cannot be read.
    """
    found: dict[str, Property] = {}
    for header in chain.headers:
        for folder in header.folders:
            try:
                text = header.text(folder)
                if text.strip(" \0") and has_properties(text):
                    for each in read_properties(text):
                        found.setdefault(each.name, each)
            except FolderError as error:
                raise error_for(MQRC.RFH_FORMAT_ERROR, "", "MQRFH2", str(error)) from None
    return list(found.values())


def carries_properties(header: ChainedHeader, folder: bytes) -> bool:
    """Whether a folder of a header has properties that can be told from data."""
    try:
        return has_properties(header.text(folder))
    except FolderError:
        return False


def without_properties(md: MQMD, body: bytes, chain: Chain) -> bytes:
    """The message without its folders of properties; *md* then describes the rest.

    A header that has no other folder goes.
    """
    left: dict[int, ChainedHeader] = {}
    for at, header in enumerate(chain.headers):
        folders = tuple(folder for folder in header.folders if not carries_properties(header, folder))
        if folders or not header.folders:
            left[at] = replace(header, folders=folders)
    # Each says what comes after it: another one now, if its next one has gone.
    after = dict(zip(left, (*list(left)[1:], len(chain.headers)), strict=False))
    for at, header in left.items():
        if after[at] != at + 1:
            encoding, ccsid, name = chain.described[after[at]]
            left[at] = replace(header, encoding=encoding, coded_char_set_id=ccsid, format=name)
    md.encoding, md.coded_char_set_id, md.format = chain.described[next(iter(left), len(chain.headers))]
    return b"".join(header.pack() for header in left.values()) + body[chain.length :]


def separated(md: MQMD, body: bytes) -> tuple[list[Property], bytes]:
    """The properties of a message, and the message without them; *md* then describes that.

    A message has no properties, and stays as it is, if an MQRFH2 of it is not valid.
    """
    try:
        chain = read_chain(md, body)
        found = properties_in(chain)
    except MQIError:
        return [], body
    return found, without_properties(md, body, chain) if chain.headers else body


def with_properties(md: MQMD, body: bytes, properties: Iterable[Property]) -> bytes:
    """The message with an MQRFH2 that has these properties in front; *md* then describes that header.

    Its numbers are written as the descriptor says, low byte first where that says neither.
    """
    folders = _packed(write_folders(properties))
    return _with_header(md, body, folders) if folders else body


def with_folders(md: MQMD, body: bytes, chain: Chain, texts: Sequence[str]) -> bytes:
    """The message with these folders in its first MQRFH2, in place of those of the same names; *md* describes it.

    A message without an MQRFH2, or whose first one has a character set without these characters, gets one in front.
    """
    if chain.headers:
        first, names = chain.headers[0], {folder_name(text) for text in texts}
        with suppress(FolderError):
            added = tuple(first.data(text) for text in texts)
            kept = tuple(folder for folder in first.folders if first.name(folder) not in names)
            return replace(first, folders=kept + added).pack() + body[first.length :]
    return _with_header(md, body, _packed(texts))


def _packed(texts: Iterable[str]) -> tuple[bytes, ...]:
    folders = [text.encode("utf-8", "surrogatepass") for text in texts]
    return tuple(folder + b" " * (-len(folder) % _LONG) for folder in folders)


def _with_header(md: MQMD, body: bytes, folders: tuple[bytes, ...]) -> bytes:
    order = _ORDERS.get(md.encoding & _INTEGER_MASK, "<")
    ccsid = md.coded_char_set_id or DEFAULT_CCSID
    header = ChainedHeader(md.encoding, ccsid, md.format.rstrip(b" \0"), 0, _UTF_8, folders, order, False, 0)
    data = header.pack()
    if md.encoding & _INTEGER_MASK not in _ORDERS:
        md.encoding = int(Encoding.NATIVE)
    md.format, md.coded_char_set_id = Format.RF_HEADER_2, _UTF_8
    return data + body


class Lengths(NamedTuple):
    """Bytes of a message.

    Attributes:
        data: without the folders of properties.
        properties: the names and values that a program gave the message.
    """

    data: int
    properties: int


def lengths(md: MQMD, body: bytes) -> Lengths:
    """Measure a message. Headers that are not valid are data."""
    if md.format.rstrip(b" \0") != Format.RF_HEADER_2:
        return Lengths(len(body), 0)
    found, data = separated(replace(md), body)
    given = [each for each in found if not each.name.startswith(_ADDED)]
    return Lengths(len(data), sum(len(each.name.encode()) + length_of(each.type_, each.value) for each in given))
