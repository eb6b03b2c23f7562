"""IBM's byte layouts of the structures: C structures of a little-endian 64-bit machine, as pymqi has them.

``MD.pack(md)`` gives the bytes of the version that ``md.version`` names, ``MD.unpack(data)`` reads them.
Headers come from other machines, too: those are read as they were written, high byte first or low byte first.
Pointers mean nothing outside their process: they are written as null and skipped when read.

Source: IBM MQ reference, "Data types used in the MQI"; lengths as in cmqc.h.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from sharedq.mqi.arguments import fields_of, refuse_structure, signed
from sharedq.mqi.constants.descriptor import Encoding
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.headers import MQDLH, MQMDE, MQRFH2, MQTM, MQXQH
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.mqi.structures import (
    MQBMHO,
    MQBO,
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
    MQSD,
    MQSMPO,
    MQSRO,
    MQSTS,
)
from sharedq.mqi.types import Field, declared, maker, packer

T = TypeVar("T")

_HEAD: Final = (Field("struc_id", "StrucId", "c4"), Field("version", "Version", "i"))
_VERSION_OFFSET: Final = 4
_LONG: Final = struct.Struct("<i")
#: Encoding and CodedCharSetId of a structure that ``pack`` has written.
ENCODING: Final = int(Encoding.NATIVE)
CCSID: Final = DEFAULT_CCSID


class _Form(Generic[T]):
    """One version of a structure, in one order of bytes. Its functions are compiled with their first use."""

    def __init__(self, structure: type[T], fields: Sequence[Field], length: int, order: str) -> None:
        self._structure, self.fields = structure, fields
        text, at = order, 0
        for field, begin, end in _placed((*_HEAD, *fields)):
            text, at = f"{text}{begin - at}x{_format(field.kind)}", end
        self.struct = struct.Struct(f"{text}{length - at}x")

    @cached_property
    def write(self) -> Callable[[T, bytes, int], bytes | bool]:
        """The bytes of a structure, after StrucId and Version. False or an error: a field does not fit its place."""
        fields = [(each.name, _size(each.kind), _is_padded(each.kind)) for each in self.fields]
        return packer(self.struct.pack, fields)

    @cached_property
    def read(self) -> Callable[..., T]:
        """Make a structure of the values from StrucId on."""
        return maker(self._structure, [(each.name, _is_padded(each.kind)) for each in (*_HEAD, *self.fields)][1:])


class StructureLayout(Generic[T]):
    """One structure's layout in all its versions, as its class declares it.

    Args:
        structure: its class; made without arguments it has IBM's initial values.
        identifier: StrucId, four characters.
        error: the reason for bytes that are not this structure, or values that do not fit.
        lengths: version -> length in bytes. A version has the fields that end there.
        length_field: the field that says the structure's length; bytes that say another one are not this structure.
    """

    def __init__(
        self,
        structure: type[T],
        identifier: bytes,
        error: MQRC,
        lengths: Mapping[int, int],
        *,
        length_field: str = "",
    ) -> None:
        self.length_field = length_field
        self.structure, self.identifier, self._error = structure, identifier, error
        kind: type = structure
        self._known = fields_of(kind)
        #: All fields, StrucId and Version included.
        self.fields: Final = (*_HEAD, *declared(structure))
        self._forms: dict[int, _Form[T]] = {}
        self._foreign: dict[int, _Form[T]] = {}
        for version, length in lengths.items():
            ends = [end for *_, end in _placed(self.fields)]
            fields = self.fields[len(_HEAD) : sum(end <= length for end in ends)]
            self._forms[version] = _Form(structure, fields, length, "<")
            # The version of one that has the high byte first, read low byte first, is none of ours.
            self._foreign[_swapped(version)] = _Form(structure, fields, length, ">")

    @property
    def versions(self) -> Collection[int]:
        """The versions it has."""
        return self._forms.keys()

    def check(self, value: T, verb: str = "", name: str = "") -> None:
        """Raises MQIError: *value* is no such structure, has a field that cannot be, or none of the versions."""
        # Every put and get asks, and most structures are right.
        if type(value) is self.structure and not self._known.has_texts:
            try:
                if self._known.are_right(value) and value.version in self._forms:  # type: ignore[attr-defined] # every structure has one
                    return
            except AttributeError:
                pass
        refuse_structure(self.structure, self._error, value, verb, name)
        self._form(value.version)  # type: ignore[attr-defined] # every structure has one, T cannot say it

    def check_all(self, values: Sequence[T], verb: str = "", name: str = "") -> None:
        """As ``check`` for each value. Calling ``check`` for each message takes a fortieth of a batch."""
        are_right, kind, versions = self._known.are_right, self.structure, self._forms
        right: object = values  # no structure is that, and None is a value that is refused
        try:
            for value in values:
                # Many messages may share one.
                if value is right:
                    continue
                if type(value) is not kind or not are_right(value) or value.version not in versions:  # type: ignore[attr-defined] # as there
                    break
                right = value
            else:
                if not self._known.has_texts:
                    return
        except AttributeError:
            pass
        for value in values:
            self.check(value, verb, name)

    def places(self, version: int) -> Iterator[tuple[str, str, int, int]]:
        """Name ("" for what only IBM's structure has), kind, offset and length (bytes) of each field."""
        for field, begin, end in _placed((*_HEAD, *self._form(version).fields)):
            yield field.name, field.kind, begin, end - begin

    def length(self, version: int) -> int:
        """Length of a version, bytes."""
        return self._form(version).struct.size

    def pack(self, value: T, *, version: int = 0, order: str = "<") -> bytes:
        """The bytes of *value* in its own version, or in *version*.

        Args:
            order: of the bytes of its numbers, ``<`` low or ``>`` high byte first.

        Raises:
            MQIError: a field does not fit its place.
        """
        number = version or int(getattr(value, "version"))  # noqa: B009 - every structure has one, T cannot say it
        form = self._form(number)
        if order == ">":
            form = self._foreign[_swapped(number)]
        try:
            written = form.write(value, self.identifier, number)
            if isinstance(written, bytes):
                return written
        except (struct.error, AttributeError, TypeError, OverflowError):
            # The reason is below. Masks with the top bit set come as positive numbers, and are none.
            pass
        values = (getattr(value, each.name) if each.name else None for each in form.fields)
        parts = (self._written(each.name, each.kind, given) for each, given in zip(form.fields, values, strict=True))
        return form.struct.pack(self.identifier, number, *parts)

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
        form = (self._foreign.get(version) if may_be_foreign else None) or self._form(version)
        if len(data) < form.struct.size:
            raise self._failure(f"{len(data)} bytes, needs {form.struct.size}")
        value = form.read(*form.struct.unpack_from(data))
        if self.length_field and getattr(value, self.length_field) != form.struct.size:
            detail = f"{self.length_field}={getattr(value, self.length_field)}, must be {form.struct.size}"
            raise self._failure(detail)
        return value

    def _form(self, version: int) -> _Form[T]:
        found = self._forms.get(version)
        if found is None:
            raise self._failure(f"version {version}")
        return found

    def _written(self, name: str, kind: str, value: Any) -> int | bytes:
        if value is None:
            return b"" if _size(kind) else 0
        if not _size(kind):
            bits = 32 if kind == "i" else 64
            if not -(1 << bits - 1) <= value < 1 << bits:
                raise self._failure(f"{name}={value} does not fit {bits} bits")
            return signed(value, bits)
        if len(value) > _size(kind):
            raise self._failure(f"{name} has {len(value)} bytes, at most {_size(kind)} fit")
        return bytes(value).ljust(_size(kind)) if _is_padded(kind) else bytes(value)

    def _failure(self, detail: str) -> Exception:
        return error_for(self._error, "", self.structure.__name__, detail)


def _placed(fields: Sequence[Field]) -> Iterator[tuple[Field, int, int]]:
    """Each field, where it begins and where it ends. C has a number at a multiple of its length."""
    at = 0
    for field in fields:
        length = _size(field.kind) or (4 if field.kind == "i" else 8)
        begin = at if _size(field.kind) else at + -at % length
        at = begin + length
        yield field, begin, at


def _swapped(number: int) -> int:
    return int.from_bytes(number.to_bytes(_LONG.size, "big"), "little")


def _size(kind: str) -> int:
    """Length of characters or bytes; 0 for a number."""
    return int(kind[1:] or 0)


def _format(kind: str) -> str:
    return f"{kind[1:]}s" if _size(kind) else "i" if kind == "i" else "q"


def _is_padded(kind: str) -> bool:
    """Character fields are padded with blanks; one character is a code, in which a blank has a meaning."""
    return kind[0] == "c" and kind != "c1"


MD: Final = StructureLayout(MQMD, b"MD  ", MQRC.MD_ERROR, {1: 324, 2: 364})
GMO: Final = StructureLayout(MQGMO, b"GMO ", MQRC.GMO_ERROR, {1: 72, 2: 80, 3: 100, 4: 112})
PMO: Final = StructureLayout(MQPMO, b"PMO ", MQRC.PMO_ERROR, {1: 128, 2: 160, 3: 184})
OD: Final = StructureLayout(MQOD, b"OD  ", MQRC.OD_ERROR, {1: 168, 2: 208, 3: 344, 4: 424})
CNO: Final = StructureLayout(
    MQCNO, b"CNO ", MQRC.CNO_ERROR, {1: 12, 2: 24, 3: 152, 4: 168, 5: 200, 6: 224, 7: 256, 8: 272}
)
BO: Final = StructureLayout(MQBO, b"BO  ", MQRC.BO_ERROR, {1: 12})
STS: Final = StructureLayout(MQSTS, b"STAT", MQRC.STS_ERROR, {1: 224, 2: 280})
CMHO: Final = StructureLayout(MQCMHO, b"CMHO", MQRC.CMHO_ERROR, {1: 12})
DMHO: Final = StructureLayout(MQDMHO, b"DMHO", MQRC.DMHO_ERROR, {1: 12})
DMPO: Final = StructureLayout(MQDMPO, b"DMPO", MQRC.DMPO_ERROR, {1: 12})
BMHO: Final = StructureLayout(MQBMHO, b"BMHO", MQRC.BMHO_ERROR, {1: 12})
MHBO: Final = StructureLayout(MQMHBO, b"MHBO", MQRC.MHBO_ERROR, {1: 12})
SMPO: Final = StructureLayout(MQSMPO, b"SMPO", MQRC.SMPO_ERROR, {1: 20})
IMPO: Final = StructureLayout(MQIMPO, b"IMPO", MQRC.IMPO_ERROR, {1: 64})
PD: Final = StructureLayout(MQPD, b"PD  ", MQRC.PD_ERROR, {1: 24})
SD: Final = StructureLayout(MQSD, b"SD  ", MQRC.SD_ERROR, {1: 344})
SRO: Final = StructureLayout(MQSRO, b"SRO ", MQRC.SRO_ERROR, {1: 16})
DLH: Final = StructureLayout(MQDLH, b"DLH ", MQRC.DLH_ERROR, {1: 172})
MDE: Final = StructureLayout(MQMDE, b"MDE ", MQRC.MDE_ERROR, {2: 72}, length_field="struc_length")
RFH2: Final = StructureLayout(MQRFH2, b"RFH ", MQRC.RFH_ERROR, {2: 36})
TM: Final = StructureLayout(MQTM, b"TM  ", MQRC.TM_ERROR, {1: 684})
#: An MQXQH up to the descriptor in it.
XQH_FRONT: Final = StructureLayout(MQXQH, b"XQH ", MQRC.XQH_ERROR, {1: 104})
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


def rfh2_folders(data: bytes, at: int, end: int, order: str) -> Iterator[bytes]:
    """The folders of an MQRFH2 that stand between two places; *order* is that of its numbers.

    Raises:
        MQIError: 2334 one is cut off; those before it have come.
    """
    length = struct.Struct(f"{order}i")
    while at < end:
        if end - at < length.size:
            raise error_for(MQRC.RFH_ERROR, "", "MQRFH2", "a folder's length is cut off")
        (size,) = length.unpack_from(data, at)
        at += length.size
        if not 0 <= size <= end - at:
            raise error_for(MQRC.RFH_ERROR, "", "MQRFH2", f"a folder of {size} bytes where {end - at} are left")
        yield data[at : at + size]
        at += size
