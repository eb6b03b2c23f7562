"""The structures of the calls and of messages, made from the declarations of ``sharedq.mqi.structures``.

Members, their order and initial values are IBM's (cmqc.h); identifiers and names that are not given are empty.

They become the native ones, and these become them, by way of IBM's layouts. Fields that a structure's version does not
have are neither read nor written, as a queue manager treats a C structure.
"""

from __future__ import annotations

import ctypes
from typing import TypeVar

from sharedq.mqi import wire
from sharedq.mqi.character_sets import CharacterSet, character_set
from sharedq.mqi.conversion.structures import TMC2 as TMC2_FIELDS
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQOD
from sharedq.mqi.types import ibm_name
from sharedq.mqi.wire import StructureLayout
from sharedq.pymqi import CMQC
from sharedq.pymqi.boundary import checked_call, ensure_bytes
from sharedq.pymqi.errors import MQMIError, fail
from sharedq.pymqi.structures.options import Declared, MQOpts, declared_members, member

T = TypeVar("T")


class MD(Declared, members=declared_members(wire.MD)):
    """Message descriptor. The members from GroupId on count when Version is 2."""


class GMO(
    Declared,
    members=declared_members(
        wire.GMO,
        GroupStatus=CMQC.MQGS_NOT_IN_GROUP,
        SegmentStatus=CMQC.MQSS_NOT_A_SEGMENT,
        Segmentation=CMQC.MQSEG_INHIBITED,
        Reserved1=b" ",
    ),
):
    """Get-message options. MatchOptions counts from version 2, MsgToken from 3. WaitInterval is in milliseconds."""


class PMO(Declared, members=declared_members(wire.PMO, PubLevel=0)):
    """Put-message options."""


# The pointers make C pad the structure to a multiple of eight.
class OD(
    Declared,
    members=(*declared_members(wire.OD, DynamicQName=b"AMQ.*", ResolvedType=-3), ("pad", b"", "4s")),
):
    """Object descriptor. From version 3 it returns what a name was resolved to."""


class TM(Declared, members=declared_members(wire.TM)):
    """Trigger message, as it is read from an initiation queue."""


_TMC2_VALUES = {"struc_id": CMQC.MQTMC_STRUC_ID, "version": CMQC.MQTMC_VERSION_2}


class TMC2(
    Declared,
    members=tuple(member(ibm_name(name), kind, _TMC2_VALUES.get(name, b"")) for name, kind in TMC2_FIELDS.versions[2]),
):
    """Trigger message in characters, as a started program is given it."""


class XQH(Declared, members=declared_members(wire.XQH_FRONT)):
    """Transmission-queue header, up to the message descriptor that follows it."""


class SD(
    Declared,
    members=declared_members(
        wire.SD,
        AlternateSecurityId=CMQC.MQSID_NONE,
        SubCorrelId=CMQC.MQCI_NONE,
        PubPriority=CMQC.MQPRI_PRIORITY_AS_Q_DEF,
        PubAccountingToken=CMQC.MQACT_NONE,
        SubLevel=0,
    ),
):
    """Subscription descriptor."""


class SRO(Declared, members=declared_members(wire.SRO, Options=CMQC.MQSRO_FAIL_IF_QUIESCING)):
    """Options of a subscription request."""


class CMHO(Declared, members=declared_members(wire.CMHO)):
    """Create-message-handle options."""


class DMHO(Declared, members=declared_members(wire.DMHO)):
    """Delete-message-handle options."""


class PD(Declared, members=declared_members(wire.PD)):
    """Property descriptor."""


class SMPO(Declared, members=declared_members(wire.SMPO)):
    """Set-message-property options."""


class IMPO(Declared, members=declared_members(wire.IMPO)):
    """Inquire-message-property options."""


class DMPO(Declared, members=declared_members(wire.DMPO)):
    """Delete-message-property options."""


class BMHO(Declared, members=declared_members(wire.BMHO)):
    """Buffer-to-message-handle options."""


class MHBO(Declared, members=declared_members(wire.MHBO)):
    """Message-handle-to-buffer options."""


md, gmo, pmo, od = MD, GMO, PMO, OD


def to_native(layout: StructureLayout[T], structure: MQOpts) -> T:
    """The native structure.

    Raises:
        MQMIError: StrucId or Version is not one that IBM has.
        PYIFError: a member has the wrong type.
    """
    try:
        return layout.unpack(structure.pack())
    except MQIError as error:
        raise MQMIError(error.comp_code, error.reason) from error


def return_to(structure: MQOpts, layout: StructureLayout[T], native: T) -> None:
    """Set the members from what a call left in the native structure."""
    returned = layout.pack(native)
    structure.unpack(returned + structure.pack()[len(returned) :])


@checked_call
def make_q_desc(qDescOrString: str | bytes | OD) -> OD:  # noqa: N803 - pymqi's name
    """An object descriptor: the one given, or one for the queue of that name."""
    if isinstance(qDescOrString, str | bytes):
        return OD(ObjectName=ensure_bytes(qDescOrString))
    return qDescOrString


makeQDesc = make_q_desc  # noqa: N816


def object_descriptor(od: OD) -> MQOD:
    """The native descriptor of the object to open.

    Raises:
        MQMIError: 2154 a distribution list, which a queue manager that does not have these must refuse.
    """
    native = to_native(wire.OD, od)
    if native.version >= CMQC.MQOD_VERSION_2 and native.recs_present:
        fail(CMQC.MQRC_RECS_PRESENT_ERROR)
    if native.version >= CMQC.MQOD_VERSION_4:
        native.selection_string = _selection_string(od)
    return native


def _selection_string(od: OD) -> str:
    """The selection string that an MQCHARV of the structure points to."""
    length, pointer = od.SelectionStringVSLength, od.SelectionStringVSPtr
    if not length or (not pointer and length == CMQC.MQVS_NULL_TERMINATED):
        return ""
    if not pointer or od.SelectionStringVSOffset or not -1 <= length <= CMQC.MQ_SELECTOR_LENGTH:
        fail(CMQC.MQRC_SELECTION_STRING_ERROR)
    data = ctypes.string_at(pointer, length) if length > 0 else ctypes.string_at(pointer)
    found = character_set(od.SelectionStringVSCCSID, CMQC.MQENC_NATIVE, is_source=True)
    try:
        return found.text(data) if isinstance(found, CharacterSet) else data.decode()
    except UnicodeError:
        fail(CMQC.MQRC_SELECTION_STRING_ERROR)
