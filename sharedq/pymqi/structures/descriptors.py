"""The structures of the calls and of messages, made from the declarations of ``sharedq.mqi.structures``.

Members, their order and initial values are IBM's (cmqc.h); identifiers and names that are not given are empty.
"""

from __future__ import annotations

from sharedq.mqi import wire
from sharedq.mqi.conversion.structures import TMC2 as TMC2_FIELDS
from sharedq.mqi.types import ibm_name
from sharedq.pymqi import CMQC
from sharedq.pymqi.structures.options import Declared, declared_members, member


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
