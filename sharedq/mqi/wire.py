"""IBM's byte layouts of the structures: C structures of a little-endian 64-bit machine, as pymqi has them.

``MD.pack(md)`` gives the bytes of the version that ``md.version`` names, ``MD.unpack(data)`` reads them.
Headers come from other machines, too: those are read as they were written, high byte first or low byte first.
Pointers mean nothing outside their process: they are written as null and skipped when read.

Source: IBM MQ reference, "Data types used in the MQI"; lengths as in cmqc.h.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

from sharedq.mqi.arguments import fields_of, refuse_structure, signed
from sharedq.mqi.constants.descriptor import Encoding
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.headers import MQDLH, MQMDE, MQTM, MQXQH
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.mqi.structures import (
    MQBMHO,
    MQCMHO,
    MQCNO,
    MQDMHO,
    MQDMPO,
    MQGMO,
    MQIMPO,
    MQMD,
    MQMHBO,
    MQOD,
    MQPD,
    MQPMO,
    MQSMPO,
)

T = TypeVar("T")

#: Field name ("" for what is written as null) and kind: ``i`` MQLONG, ``q`` MQINT64 or pointer,
#: ``c48`` MQCHAR48, ``b24`` MQBYTE24.
Fields = tuple[tuple[str, str], ...]

_HEAD: Final[Fields] = (("struc_id", "c4"), ("version", "i"))
_VERSION_OFFSET: Final = 4
_LONG: Final = struct.Struct("<i")
#: Encoding and CodedCharSetId of a structure that ``pack`` has written.
ENCODING: Final = int(Encoding.NATIVE)
CCSID: Final = DEFAULT_CCSID


class Layout(Generic[T]):
    """One structure's layout in all its versions.

    Args:
        structure: its class; made without arguments it has IBM's initial values.
        identifier: StrucId, four characters.
        error: the reason for bytes that are not this structure, or values that do not fit.
        versions: version -> (length in bytes, the fields that this version adds).
        length_field: the field that says the structure's length; bytes that say another one are not this structure.
    """

    def __init__(
        self,
        structure: type[T],
        identifier: bytes,
        error: MQRC,
        versions: dict[int, tuple[int, Fields]],
        *,
        length_field: str = "",
    ) -> None:
        self.length_field = length_field
        self._structure, self.identifier, self._error = structure, identifier, error
        kind: type = structure
        self._known = fields_of(kind)
        self._packers: dict[int, tuple[struct.Struct, Fields]] = {}
        self._foreign: dict[int, tuple[struct.Struct, Fields]] = {}
        fields: Fields = ()
        for version, (length, added) in versions.items():
            fields += added
            text = "4si" + "".join(_format(kind) for _, kind in fields)
            # C pads a structure at its end only: no field of these lies off its natural boundary.
            text += f"{length - struct.calcsize('<' + text)}x"
            self._packers[version] = struct.Struct("<" + text), fields
            # The version of one that has the high byte first, read low byte first, is none of ours.
            self._foreign[int.from_bytes(version.to_bytes(_LONG.size, "big"), "little")] = (
                struct.Struct(">" + text),
                fields,
            )

    @property
    def versions(self) -> Collection[int]:
        """The versions it has."""
        return self._packers.keys()

    def check(self, value: T, verb: str = "", name: str = "") -> None:
        """Raises MQIError: *value* is no such structure, has a field that cannot be, or none of the versions."""
        # Every put and get asks, and most structures are right.
        if type(value) is self._structure and not self._known.has_texts:
            try:
                if self._known.are_right(value) and value.version in self._packers:  # type: ignore[attr-defined] # every structure has one
                    return
            except (struct.error, AttributeError):
                pass
        refuse_structure(self._structure, self._error, value, verb, name)
        self._packer(value.version)  # type: ignore[attr-defined] # every structure has one, T cannot say it

    def check_all(self, values: Sequence[T], verb: str = "", name: str = "") -> None:
        """As ``check`` for each value. Calling ``check`` for each message takes a fortieth of a batch."""
        are_right, kind, versions = self._known.are_right, self._structure, self._packers
        try:
            for value in values:
                if type(value) is not kind or not are_right(value) or value.version not in versions:  # type: ignore[attr-defined] # as there
                    break
            else:
                if not self._known.has_texts:
                    return
        except (struct.error, AttributeError):
            pass
        for value in values:
            self.check(value, verb, name)

    def places(self, version: int) -> Iterator[tuple[str, str, int, int]]:
        """Name, kind, offset and length (bytes) of each field, from StrucId on."""
        at = 0
        for name, kind in (*_HEAD, *self._packer(version)[1]):
            size = struct.calcsize(f"<{_format(kind)}")
            yield name, kind, at, size
            at += size

    def length(self, version: int) -> int:
        """Length of a version, bytes."""
        return self._packer(version)[0].size

    def pack(self, value: T, *, version: int = 0) -> bytes:
        """The bytes of *value* in its own version, or in *version*.

        Raises:
            MQIError: a field does not fit its place.
        """
        number = version or int(getattr(value, "version"))  # noqa: B009 - every structure has one, T cannot say it
        packer, fields = self._packer(number)
        return packer.pack(
            self.identifier,
            number,
            *(self._written(name, kind, getattr(value, name) if name else None) for name, kind in fields),
        )

    def unpack(self, data: bytes, *, may_be_foreign: bool = False) -> T:
        """The structure at the front of *data*.

        Args:
            may_be_foreign: it may be of a machine that has the high byte of a number first.

        Raises:
            MQIError: *data* is too short, or is something else.
        """
        if len(data) < _VERSION_OFFSET + _LONG.size or data[:_VERSION_OFFSET] != self.identifier:
            raise self._failure("no such structure here")
        version = _LONG.unpack_from(data, _VERSION_OFFSET)[0]
        packer, fields = (self._foreign.get(version) if may_be_foreign else None) or self._packer(version)
        if len(data) < packer.size:
            raise self._failure(f"{len(data)} bytes, needs {packer.size}")
        value: Any = self._structure()
        _, value.version, *parts = packer.unpack_from(data)
        for (name, kind), part in zip(fields, parts, strict=True):
            if name:
                setattr(value, name, part.rstrip(b" \0") if _is_padded(kind) else part)
        if self.length_field and getattr(value, self.length_field) != packer.size:
            raise self._failure(f"{self.length_field}={getattr(value, self.length_field)}, must be {packer.size}")
        result: T = value
        return result

    def _packer(self, version: int) -> tuple[struct.Struct, Fields]:
        found = self._packers.get(version)
        if found is None:
            raise self._failure(f"version {version}")
        return found

    def _written(self, name: str, kind: str, value: Any) -> int | bytes:
        if value is None:
            return 0 if kind in "iq" else b""
        if kind in "iq":
            bits = 32 if kind == "i" else 64
            if not -(1 << bits - 1) <= value < 1 << bits:
                raise self._failure(f"{name}={value} does not fit {bits} bits")
            return signed(value, bits)
        size = int(kind[1:])
        if len(value) > size:
            raise self._failure(f"{name} has {len(value)} bytes, at most {size} fit")
        return bytes(value).ljust(size) if _is_padded(kind) else bytes(value)

    def _failure(self, detail: str) -> Exception:
        return error_for(self._error, "", self._structure.__name__, detail)


def _format(kind: str) -> str:
    return kind if kind in "iq" else f"{kind[1:]}s"


def _is_padded(kind: str) -> bool:
    """Character fields are padded with blanks; one character is a code, in which a blank has a meaning."""
    return kind[0] == "c" and kind != "c1"


_DESCRIPTOR: Final[Fields] = (
    ("report", "i"),
    ("msg_type", "i"),
    ("expiry", "i"),
    ("feedback", "i"),
    ("encoding", "i"),
    ("coded_char_set_id", "i"),
    ("format", "c8"),
    ("priority", "i"),
    ("persistence", "i"),
    ("msg_id", "b24"),
    ("correl_id", "b24"),
    ("backout_count", "i"),
    ("reply_to_q", "c48"),
    ("reply_to_q_mgr", "c48"),
    ("user_identifier", "c12"),
    ("accounting_token", "b32"),
    ("appl_identity_data", "c32"),
    ("put_appl_type", "i"),
    ("put_appl_name", "c28"),
    ("put_date", "c8"),
    ("put_time", "c8"),
    ("appl_origin_data", "c4"),
)
_GROUP: Final[Fields] = (
    ("group_id", "b24"),
    ("msg_seq_number", "i"),
    ("offset", "i"),
    ("msg_flags", "i"),
    ("original_length", "i"),
)
#: MQCHARV: pointer, offset, buffer size, length, CCSID.
_STRING: Final[Fields] = (("", "q"), ("", "i"), ("", "i"), ("", "i"), ("", "i"))

MD: Final = Layout(MQMD, b"MD  ", MQRC.MD_ERROR, {1: (324, _DESCRIPTOR), 2: (364, _GROUP)})

GMO: Final = Layout(
    MQGMO,
    b"GMO ",
    MQRC.GMO_ERROR,
    {
        1: (
            72,
            (
                ("options", "i"),
                ("wait_interval", "i"),
                ("signal1", "i"),
                ("signal2", "i"),
                ("resolved_q_name", "c48"),
            ),
        ),
        2: (
            80,
            (
                ("match_options", "i"),
                ("group_status", "c1"),
                ("segment_status", "c1"),
                ("segmentation", "c1"),
                ("", "c1"),
            ),
        ),
        3: (100, (("msg_token", "b16"), ("returned_length", "i"))),
        4: (112, (("", "i"), ("msg_handle", "q"))),
    },
)

PMO: Final = Layout(
    MQPMO,
    b"PMO ",
    MQRC.PMO_ERROR,
    {
        1: (
            128,
            (
                ("options", "i"),
                ("timeout", "i"),
                ("context", "i"),
                ("known_dest_count", "i"),
                ("unknown_dest_count", "i"),
                ("invalid_dest_count", "i"),
                ("resolved_q_name", "c48"),
                ("resolved_q_mgr_name", "c48"),
            ),
        ),
        2: (
            160,
            (("recs_present", "i"), ("put_msg_rec_fields", "i"), ("", "i"), ("", "i"), ("", "q"), ("", "q")),
        ),
        3: (
            184,
            (("original_msg_handle", "q"), ("new_msg_handle", "q"), ("action", "i"), ("pub_level", "i")),
        ),
    },
)

OD: Final = Layout(
    MQOD,
    b"OD  ",
    MQRC.OD_ERROR,
    {
        1: (
            168,
            (
                ("object_type", "i"),
                ("object_name", "c48"),
                ("object_q_mgr_name", "c48"),
                ("dynamic_q_name", "c48"),
                ("alternate_user_id", "c12"),
            ),
        ),
        2: (
            208,
            (
                ("recs_present", "i"),
                ("known_dest_count", "i"),
                ("unknown_dest_count", "i"),
                ("invalid_dest_count", "i"),
                ("", "i"),
                ("", "i"),
                ("", "q"),
                ("", "q"),
            ),
        ),
        3: (
            344,
            (("alternate_security_id", "b40"), ("resolved_q_name", "c48"), ("resolved_q_mgr_name", "c48")),
        ),
        4: (424, (*_STRING, *_STRING, *_STRING, ("resolved_type", "i"))),
    },
)

CNO: Final = Layout(
    MQCNO,
    b"CNO ",
    MQRC.CNO_ERROR,
    {
        1: (12, (("options", "i"),)),
        2: (24, (("", "i"), ("", "q"))),
        3: (152, (("conn_tag", "b128"),)),
        4: (168, (("", "q"), ("", "i"))),
        5: (200, (("connection_id", "b24"), ("", "i"), ("", "q"))),
    },
)

_OPTIONS: Final[Fields] = (("options", "i"),)

CMHO: Final = Layout(MQCMHO, b"CMHO", MQRC.CMHO_ERROR, {1: (12, _OPTIONS)})
DMHO: Final = Layout(MQDMHO, b"DMHO", MQRC.DMHO_ERROR, {1: (12, _OPTIONS)})
DMPO: Final = Layout(MQDMPO, b"DMPO", MQRC.DMPO_ERROR, {1: (12, _OPTIONS)})
BMHO: Final = Layout(MQBMHO, b"BMHO", MQRC.BMHO_ERROR, {1: (12, _OPTIONS)})
MHBO: Final = Layout(MQMHBO, b"MHBO", MQRC.MHBO_ERROR, {1: (12, _OPTIONS)})
SMPO: Final = Layout(
    MQSMPO, b"SMPO", MQRC.SMPO_ERROR, {1: (20, (*_OPTIONS, ("value_encoding", "i"), ("value_ccsid", "i")))}
)
IMPO: Final = Layout(
    MQIMPO,
    b"IMPO",
    MQRC.IMPO_ERROR,
    {
        1: (
            64,
            (
                *_OPTIONS,
                ("requested_encoding", "i"),
                ("requested_ccsid", "i"),
                ("returned_encoding", "i"),
                ("returned_ccsid", "i"),
                ("", "i"),
                *_STRING,
                ("type_string", "c8"),
            ),
        )
    },
)
PD: Final = Layout(
    MQPD,
    b"PD  ",
    MQRC.PD_ERROR,
    {1: (24, (*_OPTIONS, ("support", "i"), ("context", "i"), ("copy_options", "i")))},
)

DLH: Final = Layout(
    MQDLH,
    b"DLH ",
    MQRC.DLH_ERROR,
    {
        1: (
            172,
            (
                ("reason", "i"),
                ("dest_q_name", "c48"),
                ("dest_q_mgr_name", "c48"),
                ("encoding", "i"),
                ("coded_char_set_id", "i"),
                ("format", "c8"),
                ("put_appl_type", "i"),
                ("put_appl_name", "c28"),
                ("put_date", "c8"),
                ("put_time", "c8"),
            ),
        )
    },
)

MDE: Final = Layout(
    MQMDE,
    b"MDE ",
    MQRC.MDE_ERROR,
    {
        2: (
            72,
            (
                ("struc_length", "i"),
                ("encoding", "i"),
                ("coded_char_set_id", "i"),
                ("format", "c8"),
                ("flags", "i"),
                *_GROUP,
            ),
        )
    },
    length_field="struc_length",
)

TM: Final = Layout(
    MQTM,
    b"TM  ",
    MQRC.TM_ERROR,
    {
        1: (
            684,
            (
                ("q_name", "c48"),
                ("process_name", "c48"),
                ("trigger_data", "c64"),
                ("appl_type", "i"),
                ("appl_id", "c256"),
                ("env_data", "c128"),
                ("user_data", "c128"),
            ),
        )
    },
)

#: An MQXQH up to the descriptor in it.
XQH_FRONT: Final = Layout(
    MQXQH, b"XQH ", MQRC.XQH_ERROR, {1: (104, (("remote_q_name", "c48"), ("remote_q_mgr_name", "c48")))}
)
#: Length of an MQXQH with the descriptor in it, bytes.
XQH_LENGTH: Final = XQH_FRONT.length(1) + MD.length(1)


def pack_xqh(header: MQXQH) -> bytes:
    """The bytes of a transmission-queue header; the descriptor in it is written as version 1.

    Raises:
        MQIError: a field does not fit its place.
    """
    return XQH_FRONT.pack(header) + MD.pack(header.msg_desc, version=1)


def unpack_xqh(data: bytes) -> MQXQH:
    """The transmission-queue header at the front of *data*, whichever byte of a number comes first there.

    Raises:
        MQIError: 2260, or 2026 for the descriptor in it, which has to be of version 1.
    """
    header = XQH_FRONT.unpack(data, may_be_foreign=True)
    header.msg_desc = MD.unpack(data[XQH_FRONT.length(1) : XQH_LENGTH], may_be_foreign=True)
    if header.msg_desc.version != 1:
        raise error_for(MQRC.MD_ERROR, "", "MQMD", f"version {header.msg_desc.version} in an MQXQH, must be 1")
    return header
