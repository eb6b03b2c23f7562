"""The bytes and initial values of every structure, frozen: a change of how a structure is described must not show."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest

from sharedq import pymqi
from sharedq.mqi import wire

pytestmark = pytest.mark.share


def shown(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def filled(name: str) -> Any:
    """The structure with another value in each member."""
    structure = getattr(pymqi, name)()
    for at, (member, initial) in enumerate(structure.get().items(), 1):
        if isinstance(initial, list):
            structure[member] = [at if isinstance(each, int) else b"%d" % at for each in initial]
        elif isinstance(initial, int):
            structure[member] = at if member.endswith("Ptr") else -at
        else:
            structure[member] = bytes([at]) * (1 if len(initial) == 1 else 3)
    return structure


#: Structure -> digests of its initial bytes, of all its initial values, and of the bytes with other values.
DIGESTS: dict[str, tuple[str, str, str]] = {
    "MD": ("1323db33d2a8e3d0", "0c52495a96b63ef9", "515a921ff0cd4e80"),
    "GMO": ("154378b561693f85", "ef4314545e37ab1b", "40bd10da4209634d"),
    "PMO": ("fb414b5f00195167", "a5edc657b57dff83", "adcc49128fe30165"),
    "OD": ("23a1bcb498e5ca12", "332dc1c1cc77272f", "e4b763b0635d2440"),
    "CD": ("acc82a8d290b6913", "af2d70584ddbb5fd", "13ae5b67368a71fd"),
    "SCO": ("82f32fdf288bf024", "0867bc32e2b31aff", "9443e541d6c7655d"),
    "SD": ("a6521b9b001b8c59", "3a319a7663dbe9c0", "4b64d4b16d1dfdcc"),
    "SRO": ("0ef55223c02b5245", "778efe0e4c348fea", "cb669a57de44d05a"),
    "TM": ("d8f3e49af1e335c7", "f87c40f474e243a2", "b1bd2a247c56d5f3"),
    "TMC2": ("fae777bacefc8726", "9507f045f79bc2bc", "55fa35babd1a1c7e"),
    "XQH": ("b34c287a43b2aad4", "05299ccac7084f8e", "5ac69a0d460afa0a"),
    "RFH2": ("4b0fafb6755a100e", "143a80667642ed61", "ba18889b8b53ad2e"),
    "CFH": ("53409506aa3796f1", "830c6415278a47d6", "d5f0a8d2e170aec5"),
    "CFBF": ("c442fe709642d936", "97fb74dc59759ee7", "e82ac9a6feb014e3"),
    "CFBS": ("3f12f8a7fd4f1e3b", "d5908b2db89928f8", "1a6d69e5037f7fcb"),
    "CFGR": ("d9eeb91f334aa26b", "cfe0b0dd56e7202e", "1a6d69e5037f7fcb"),
    "CFIF": ("6fa56484f7bb6b9d", "6c72dcc54a681483", "e82ac9a6feb014e3"),
    "CFIL": ("9dd68387284911e5", "98ba9e35c4c00075", "1a6d69e5037f7fcb"),
    "CFIL64": ("bf08a74c8c4d42e0", "bf899d61c8544d3c", "1a6d69e5037f7fcb"),
    "CFIN": ("baf9b7fd186a2b3d", "c6bb1a9c5bf77c93", "1a6d69e5037f7fcb"),
    "CFIN64": ("0888f0daef05055a", "3aa3f30050057af2", "c350d8de2e5dc34e"),
    "CFSF": ("cb9f5b01efdd99c7", "6c63fe908f4919db", "ad26923a61c4ba58"),
    "CFSL": ("18a473286dd6420b", "d8b1c09d9031dfba", "ad26923a61c4ba58"),
    "CFST": ("7bea440d42835686", "aab4a8c05c52cc0a", "e82ac9a6feb014e3"),
    "CMHO": ("1cff7dac9442525c", "f3f5cbc2d435b537", "d05a8e2d269cc910"),
    "DMHO": ("f2e1da98ae4dfd47", "1ad558a85d62cf15", "d05a8e2d269cc910"),
    "PD": ("03472b511f6ee8d9", "daeb3aca44546743", "4bacac1cc7362c05"),
    "SMPO": ("eda29046e6b5e55b", "5e9d0104a2da1092", "6caa3372d74e4fd2"),
    "IMPO": ("ddf330ccf04d1d98", "7a3c1296716c9019", "e091abde2ae0b2ae"),
    "DMPO": ("e4f5a0be7a8b30ff", "0e7914d89544c847", "d05a8e2d269cc910"),
    "BMHO": ("d0616a7dcde2d791", "4c399d58e438cec5", "d05a8e2d269cc910"),
    "MHBO": ("f308dc86db24c4bb", "72bba983f163e4f8", "d05a8e2d269cc910"),
}
#: An MQMD.
HEX_MD = (
    "4d442020010000000300000008000000ffffffff0000000022020000000000000000000000000000ffffffff0200000001000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000414e5357"
    "45525300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000020000000000000000000000000000000000000000000000010000000000000000000000ffffffff"
)


@pytest.mark.parametrize("name", DIGESTS)
def test_a_structure_has_the_bytes_that_it_always_had(name: str) -> None:
    new, other = getattr(pymqi, name)(), filled(name)
    assert DIGESTS[name] == (shown(new.pack()), shown(repr(new.get()).encode()), shown(other.pack()))
    copy = getattr(pymqi, name)()
    if name == "RFH2":
        # It is read by its own length.
        other = new
        other["StrucLength"] = other.get_length()
    copy.unpack(other.pack())
    assert copy.pack() == other.pack()


@pytest.mark.parametrize("name", ["MD", "GMO", "PMO", "OD", "SD", "SRO", "TM", "IMPO", "SMPO", "PD", "RFH2"])
def test_the_native_layout_has_each_field_where_c_has_it(name: str) -> None:
    layout: wire.StructureLayout[Any] = getattr(wire, name)
    before, offsets = "", []
    for member in getattr(pymqi, name)()._members[: len(layout.fields)]:
        # Without a prefix, struct aligns a number as C does; none of it is enough for that.
        offsets.append(struct.calcsize(f"{before}0{member[2]}" if member[2] in "iqP" else before))
        before += member[2]
    assert offsets == [at for *_, at, _ in layout.places(max(layout.versions))]


def test_a_descriptor_has_these_bytes() -> None:
    assert pymqi.MD(MsgId=b"\1", ReplyToQ=b"ANSWERS", Report=3, GroupId=b"\2").pack().hex() == HEX_MD
