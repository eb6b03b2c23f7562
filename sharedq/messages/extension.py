"""The MQMDE: the version-2 fields of a descriptor in front of the data, where only a version-1 MQMD can say the rest.

Source: IBM MQ reference, "MQMDE - Message descriptor extension".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sharedq.mqi.constants import Format
from sharedq.mqi.headers import MQMDE
from sharedq.mqi.structures import MQMD
from sharedq.mqi.types import reader
from sharedq.mqi.wire import CCSID, ENCODING, MDE

#: Bytes of an MQMDE.
EXTENSION_LENGTH: Final = MDE.length(2)
#: The fields that the version-1 MQMD does not have.
GROUP_FIELDS: Final = ("group_id", "msg_seq_number", "offset", "msg_flags", "original_length")
#: The fields that describe the data.
DATA_FIELDS: Final = ("encoding", "coded_char_set_id", "format")
_group_fields_of = reader(GROUP_FIELDS)
_NO_GROUP: Final = _group_fields_of(MQMD())


def is_extended(md: MQMD) -> bool:
    """Whether the descriptor says that an MQMDE is in front of the data."""
    return md.format.startswith(Format.MD_EXTENSION)


def has_group_fields(md: MQMD) -> bool:
    """Whether one of the fields that only version 2 has is not the default."""
    return bool(_group_fields_of(md) != _NO_GROUP)


def clear_group_fields(md: MQMD) -> None:
    """Give the fields that only version 2 has their defaults."""
    for name, value in zip(GROUP_FIELDS, _NO_GROUP, strict=True):
        setattr(md, name, value)


def with_extension(md: MQMD, body: bytes) -> bytes:
    """The data after an MQMDE with the fields of *md*, which describes the MQMDE then."""
    extension = MQMDE(**{name: getattr(md, name) for name in (*DATA_FIELDS, *GROUP_FIELDS)})
    md.format, md.encoding, md.coded_char_set_id = Format.MD_EXTENSION, ENCODING, CCSID
    return MDE.pack(extension) + body


def without_extension(md: MQMD, body: bytes) -> tuple[MQMD, bytes]:
    """The reverse of ``with_extension``: a version-2 descriptor of the message itself, and its data.

    Raises:
        MQIError: 2248, it is no MQMDE, or its length is wrong.
    """
    extension = MDE.unpack(body, may_be_foreign=True)
    taken = {name: getattr(extension, name) for name in (*DATA_FIELDS, *GROUP_FIELDS)}
    return replace(md, version=2, **taken), body[EXTENSION_LENGTH:]
