"""The headers and structures that conversion knows, in one table: their fields, and what they may have at their end.

Source: IBM MQ reference, "Data types used in the MQI"; "Processing conventions" of data conversion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import accumulate
from operator import add
from typing import Any, Final

from sharedq.mqi.constants.descriptor import Format
from sharedq.mqi.conversion.fields import Fields
from sharedq.mqi.wire import DLH, MD, MDE, RFH2, TM, XQH_FRONT, StructureLayout


class Tail(Enum):
    """The part of a structure after its fields, up to StrucLength."""

    NONE = auto()
    #: Characters.
    TEXT = auto()
    #: Folders of an MQRFH2: each a length and data in the character set that NameValueCCSID names.
    FOLDERS = auto()
    #: A PCF message.
    PCF = auto()
    #: Records of a distribution list.
    RECORDS = auto()
    #: Strings, to which pairs of fields for length and offset refer.
    REFERENCES = auto()


@dataclass(frozen=True, slots=True)
class Structure:
    """One structure.

    Attributes:
        identifier: StrucId.
        versions: the fields of each version, from StrucId on.
        tail: what it has at its end.
        describes: its CodedCharSetId and Encoding are those of the data after it; else these are written as it is.
        required: fields that have one value only.
    """

    identifier: bytes
    versions: Mapping[int, Fields]
    tail: Tail = Tail.NONE
    describes: bool = True
    required: Mapping[str, int | bytes] = field(default_factory=dict)

    @property
    def version_kind(self) -> str:
        """Kind of the field Version."""
        return next(iter(self.versions.values()))[1][1]


_HEAD: Final[Fields] = (("struc_id", "c4"), ("version", "i"))
#: The first fields of every header that says its own length.
_CHAINED: Final[Fields] = (
    *_HEAD,
    ("struc_length", "i"),
    ("encoding", "i"),
    ("coded_char_set_id", "i"),
    ("format", "c8"),
    ("flags", "i"),
)


def _fields(layout: StructureLayout[Any], version: int) -> Fields:
    return tuple((name, kind) for name, kind, _, _ in layout.places(version))


def _of(layout: StructureLayout[Any]) -> Structure:
    return Structure(layout.identifier, {version: _fields(layout, version) for version in layout.versions})


def _versions(*added: Fields) -> dict[int, Fields]:
    """Versions from 1 on, each with what it adds to the one before."""
    return dict(enumerate(accumulate(added, add), 1))


_XQH: Final = Structure(
    XQH_FRONT.identifier,
    {1: (*_fields(XQH_FRONT, 1), ("md_struc_id", "c4"), ("md_version", "i"), *_fields(MD, 1)[2:])},
    required={"md_struc_id": b"MD", "md_version": 1},
)
_RFH: Final = Structure(b"RFH ", {1: _CHAINED}, Tail.TEXT)
_RFH2: Final = replace(_of(RFH2), tail=Tail.FOLDERS)
_EPH: Final = Structure(b"EPH ", {1: _CHAINED}, Tail.PCF)
_DH: Final = Structure(
    b"DH  ",
    {
        1: (
            *_CHAINED,
            ("put_msg_rec_fields", "i"),
            ("recs_present", "i"),
            ("object_rec_offset", "i"),
            ("put_msg_rec_offset", "i"),
        )
    },
    Tail.RECORDS,
)
_RMH: Final = Structure(
    b"RMH ",
    {
        1: (
            *_CHAINED,
            ("object_type", "c8"),
            ("object_instance_id", "b24"),
            ("src_env_length", "i"),
            ("src_env_offset", "i"),
            ("src_name_length", "i"),
            ("src_name_offset", "i"),
            ("dest_env_length", "i"),
            ("dest_env_offset", "i"),
            ("dest_name_length", "i"),
            ("dest_name_offset", "i"),
            ("data_logical_length", "i"),
            ("data_logical_offset", "i"),
            ("data_logical_offset2", "i"),
        )
    },
    Tail.REFERENCES,
)
_WIH: Final = Structure(
    b"WIH ",
    {
        1: (
            *_CHAINED,
            ("service_name", "c32"),
            ("service_step", "c8"),
            ("msg_token", "b16"),
            ("reserved", "c32"),
        )
    },
)
_IIH: Final = Structure(
    b"IIH ",
    {
        1: (
            *_CHAINED,
            ("l_term_override", "c8"),
            ("mfs_map_name", "c8"),
            ("reply_to_format", "c8"),
            ("authenticator", "c8"),
            ("tran_instance_id", "b16"),
            ("tran_state", "c1"),
            ("commit_mode", "c1"),
            ("security_scope", "c1"),
            ("reserved", "c1"),
        )
    },
    describes=False,
)
_CIH: Final = Structure(
    b"CIH ",
    _versions(
        (
            *_CHAINED,
            ("return_code", "i"),
            ("comp_code", "i"),
            ("reason", "i"),
            ("uow_control", "i"),
            ("get_wait_interval", "i"),
            ("link_type", "i"),
            ("output_data_length", "i"),
            ("facility_keep_time", "i"),
            ("ads_descriptor", "i"),
            ("conversational_task", "i"),
            ("task_end_status", "i"),
            ("facility", "b8"),
            ("function", "c4"),
            ("abend_code", "c4"),
            ("authenticator", "c8"),
            ("reserved1", "c8"),
            ("reply_to_format", "c8"),
            ("remote_sys_id", "c4"),
            ("remote_trans_id", "c4"),
            ("transaction_id", "c4"),
            ("facility_like", "c4"),
            ("attention_id", "c4"),
            ("start_code", "c4"),
            ("cancel_code", "c4"),
            ("next_transaction_id", "c4"),
            ("reserved2", "c8"),
            ("reserved3", "c8"),
        ),
        (("cursor_position", "i"), ("error_offset", "i"), ("input_item", "i"), ("reserved4", "i")),
    ),
    describes=False,
)
#: Characters only: programs that are started as transactions get it instead of an MQTM.
TMC2: Final = Structure(
    b"TMC ",
    _versions(
        (
            ("struc_id", "c4"),
            ("version", "c4"),
            ("q_name", "c48"),
            ("process_name", "c48"),
            ("trigger_data", "c64"),
            ("appl_type", "c4"),
            ("appl_id", "c256"),
            ("env_data", "c128"),
            ("user_data", "c128"),
        ),
        (("q_mgr_name", "c48"),),
    ),
)

#: The structures that a Format may have at the front of its data.
STRUCTURES: Final[Mapping[bytes, tuple[Structure, ...]]] = {
    Format.CICS: (_CIH,),
    Format.DEAD_LETTER_HEADER: (_of(DLH),),
    Format.DIST_HEADER: (_DH,),
    Format.EMBEDDED_PCF: (_EPH,),
    Format.IMS: (_IIH,),
    Format.MD_EXTENSION: (_of(MDE),),
    Format.REF_MSG_HEADER: (_RMH,),
    Format.RF_HEADER_1: (_RFH,),
    Format.RF_HEADER_2: (_RFH2,),
    Format.TRIGGER: (_of(TM), TMC2),
    Format.WORK_INFO_HEADER: (_WIH,),
    Format.XMIT_Q_HEADER: (_XQH,),
}
