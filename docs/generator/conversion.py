"""The tables of data conversion: character sets, and the structures with their fields."""

from __future__ import annotations

from collections import defaultdict

from docs.generator.markdown import code, table
from sharedq.mqi.character_sets import CODECS, UTF_16
from sharedq.mqi.conversion.fields import length_of
from sharedq.mqi.conversion.structures import STRUCTURES, Tail

_ENDS = {
    Tail.NONE: "",
    Tail.TEXT: "characters",
    Tail.FOLDERS: "folders in the character set of NameValueCCSID",
    Tail.PCF: "a PCF message",
    Tail.RECORDS: "object records and put message records",
    Tail.REFERENCES: "the strings that its fields refer to",
}


def character_set_table() -> str:
    """Each codec, with the CCSIDs that it is for."""
    ccsids: defaultdict[str, list[int]] = defaultdict(list)
    for ccsid, codec in CODECS.items():
        ccsids[codec].append(ccsid)
    found = {"utf-16": sorted(UTF_16)} | {codec: sorted(numbers) for codec, numbers in ccsids.items()}
    rows = [(", ".join(map(str, numbers)), code(codec)) for codec, numbers in sorted(found.items(), key=lambda x: x[1])]
    return table(("CCSID", "Codec"), rows)


def structure_table() -> str:
    """Each structure, with the lengths of its versions and what it may have at its end."""
    rows = [
        (
            code(format_.decode()),
            code(structure.identifier.decode().strip()),
            ", ".join(
                f"{version} ({sum(length_of(kind) for _, kind in fields)} bytes)"
                for version, fields in structure.versions.items()
            ),
            _ENDS[structure.tail],
        )
        for format_, structures in sorted(STRUCTURES.items())
        for structure in structures
    ]
    return table(("Format", "StrucId", "Versions", "At its end"), rows)
