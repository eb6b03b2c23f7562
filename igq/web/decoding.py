"""The parts of a message's data: headers in front, and the body after them. Pure.

The data come from any program, so whatever is no header is body, and nothing here raises an error for it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from sharedq.mqi import wire
from sharedq.mqi.character_sets import CharacterSet, character_set
from sharedq.mqi.constants import Format
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.mqi.structures import MQMD
from sharedq.properties.headers import read_header

#: MQCCSI_INHERIT: as the header before it.
_INHERIT = -2
#: Headers and folders to look at: more are shown as data.
_MOST_HEADERS, _MOST_FOLDERS = 20, 50


@dataclass(frozen=True, slots=True)
class ShownHeader:
    """A header. ``folders``: of an MQRFH2, as text."""

    name: str
    fields: dict[str, str | int]
    folders: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The headers of a message, and how the body after them is written."""

    headers: list[ShownHeader]
    body: bytes
    format: bytes
    ccsid: int
    encoding: int

    @property
    def text(self) -> str | None:
        """The body as text; None if it is none in its character set."""
        try:
            return _set_of(self.ccsid, self.encoding).text(self.body)
        except (UnicodeError, LookupError):
            return None


def decode(md: MQMD, data: bytes) -> Decoded:
    """Take the headers off the front of *data*, as the formats say."""
    headers: list[ShownHeader] = []
    name, ccsid, encoding, at = md.format.rstrip(b" \0"), md.coded_char_set_id, md.encoding, 0
    while len(headers) < _MOST_HEADERS:
        found = _header(name, data, at, encoding)
        if found is None:
            break
        header, length, name, next_ccsid, encoding = found
        headers.append(header)
        ccsid, at = ccsid if next_ccsid == _INHERIT else next_ccsid, at + length
    return Decoded(headers, data[at:], name, ccsid, encoding)


def _header(name: bytes, data: bytes, at: int, encoding: int) -> tuple[ShownHeader, int, bytes, int, int] | None:
    """Return the header at *at*, its length, and format, character set and encoding of what follows."""
    try:
        if name == Format.DEAD_LETTER_HEADER:
            dlh = wire.DLH.unpack(data[at : at + wire.DLH.length(1)], may_be_foreign=True)
            return _plain("MQDLH", dlh), wire.DLH.length(1), dlh.format.rstrip(), dlh.coded_char_set_id, dlh.encoding
        if name == Format.XMIT_Q_HEADER:
            xqh = wire.unpack_xqh(data[at : at + wire.XQH_LENGTH])
            inner = xqh.msg_desc
            fields: dict[str, str | int] = {f"MQMD.{key}": value for key, value in described(inner).items()}
            fields["remote_q_name"] = _name(xqh.remote_q_name)
            fields["remote_q_mgr_name"] = _name(xqh.remote_q_mgr_name)
            header = ShownHeader("MQXQH", fields)
            return header, wire.XQH_LENGTH, inner.format.rstrip(), inner.coded_char_set_id, inner.encoding
        if name == Format.MD_EXTENSION:
            mde = wire.MDE.unpack(data[at : at + wire.MDE.length(2)], may_be_foreign=True)
            return _plain("MQMDE", mde), wire.MDE.length(2), mde.format.rstrip(), mde.coded_char_set_id, mde.encoding
        if name == Format.RF_HEADER_2:
            return _rfh2(data, at, encoding)
    except MQIError:
        pass
    return None


def _rfh2(data: bytes, at: int, encoding: int) -> tuple[ShownHeader, int, bytes, int, int]:
    header = read_header(data, at)
    folders = [_text(folder, header.name_value_ccsid, encoding) for folder in header.folders[:_MOST_FOLDERS]]
    fields: dict[str, str | int] = {
        "version": 2,
        "struc_length": header.length,
        "encoding": header.encoding,
        "coded_char_set_id": header.coded_char_set_id,
        "format": _name(header.format),
        "flags": header.flags,
        "name_value_ccsid": header.name_value_ccsid,
    }
    found = ShownHeader("MQRFH2", fields, folders)
    return found, header.length, header.format, header.coded_char_set_id, header.encoding


def described(structure: Any) -> dict[str, str | int]:
    """The fields of a descriptor or header as numbers and texts. Identifiers are hexadecimal."""
    found: dict[str, str | int] = {}
    for each in dataclasses.fields(structure):
        value = getattr(structure, each.name)
        if isinstance(value, bytes):
            is_identifier = each.name.endswith(("_id", "_token")) or len(value) in (24, 32)
            value = value.hex() if is_identifier else _name(value)
        if isinstance(value, (str, int)):
            found[each.name] = int(value) if isinstance(value, int) else value
    return found


def _plain(name: str, header: Any) -> ShownHeader:
    return ShownHeader(name, described(header))


def _name(value: bytes) -> str:
    return value.rstrip(b" \0").decode("utf-8", "backslashreplace")


def _text(data: bytes, ccsid: int, encoding: int) -> str:
    try:
        return _set_of(ccsid, encoding).text(data).rstrip()
    except (UnicodeError, LookupError):
        return data.decode("latin-1").rstrip()


def _set_of(ccsid: int, encoding: int) -> CharacterSet:
    found = character_set(ccsid if ccsid > 0 else DEFAULT_CCSID, encoding, is_source=True)
    if not isinstance(found, CharacterSet):
        raise LookupError(found)
    return found
