"""The bytes of every structure in every version, frozen: a change of how a structure is described must not show."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest

from sharedq.mqi import wire

pytestmark = pytest.mark.share


def filled(layout: wire.StructureLayout[Any], version: int) -> Any:
    """The structure with a random value, always the same one, in each field."""
    value, drawn = layout.structure(version=version), random.Random(version)
    for name, kind, _, size in list(layout.places(version))[2:]:
        if hasattr(value, name) and name != layout.length_field and name.islower():
            if kind in "iq":
                setattr(value, name, drawn.randrange(-(1 << size * 8 - 1), 1 << size * 8 - 1))
            elif kind[0] in "cb" and type(getattr(value, name)) is bytes:
                data = drawn.randbytes(size)
                setattr(value, name, b"x" if size == 1 else data[: size // 2] if kind[0] == "c" else data)
    return value


def shown(layout: wire.StructureLayout[Any], version: int) -> str:
    both = layout.pack(layout.structure(version=version)) + layout.pack(filled(layout, version))
    return hashlib.sha256(both).hexdigest()[:16]


#: Structure -> version -> digest of its initial bytes and of those with other values.
DIGESTS: dict[str, dict[int, str]] = {
    "MD": {1: "4104fb8fd519f754", 2: "c485c921c0059ea3"},
    "GMO": {1: "e23d071f4d47a5df", 2: "e359abb440c3f597", 3: "9d84bcd12db276f1", 4: "af15fccd33b6688c"},
    "PMO": {1: "3e28573b793059ea", 2: "52dc0146e655d031", 3: "d78318df7a54dd0e"},
    "OD": {1: "31765d759cb25371", 2: "8af5b74a7736c163", 3: "8cdd94e33037bcb0", 4: "d52a800b48b25a0c"},
    "CNO": {
        1: "bfa80d067f9c9ede",
        2: "7df9cd9f656b5c22",
        3: "dadc8ac28c4582a5",
        4: "1a4a765474c4bce9",
        5: "16f8e95c67f8ae7e",
        6: "8d8d0db9f779391a",
        7: "7d82d76c21f8f3c3",
        8: "cf33ebe629698eae",
    },
    "CMHO": {1: "cf2b8672481f46fa"},
    "DMHO": {1: "0fa9220428f10af9"},
    "DMPO": {1: "fe6691b70951cf51"},
    "BMHO": {1: "4e001b3486ab0b52"},
    "MHBO": {1: "01ea1641b8047c2c"},
    "SMPO": {1: "4b430001ef36c4eb"},
    "IMPO": {1: "a8c89a1e0a524a68"},
    "PD": {1: "99423a974b4d40a9"},
    "DLH": {1: "2a28c30a6047f65a"},
    "MDE": {2: "87f1d924644e71ff"},
    "TM": {1: "45f22c03cb79adab"},
    "XQH_FRONT": {1: "9459c5e0dd902a12"},
}
#: An MQPMO.
HEX_PMO = (
    "504d4f20030000004a9b520bfd809a1aa95f6456331dfdbbb048f2f945cc8ea67f3a86a244b9d026843738deb48d03ed3034ef85"
    "90e4d26320202020202020202020202020202020202020202020202092601bc222871ef56a4d5297d238f40a9fe01f4dd917b3c7"
    "20202020202020202020202020202020202020202020202038e0f9605e1fcd6b0000000000000000000000000000000000000000"
    "0000000043b2925d1cc4f298fbdace22f4adb0fee2e40a2c5b10f05a"
)


@pytest.mark.parametrize("name", DIGESTS)
def test_a_structure_has_the_bytes_that_it_always_had(name: str) -> None:
    layout = getattr(wire, name)
    assert DIGESTS[name] == {version: shown(layout, version) for version in layout.versions}


def test_a_put_message_options_structure_has_these_bytes() -> None:
    value = filled(wire.PMO, 3)
    assert wire.PMO.pack(value).hex() == HEX_PMO
    assert wire.PMO.unpack(wire.PMO.pack(value)) == value
