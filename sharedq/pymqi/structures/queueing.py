"""The structures of the queueing calls and of messages: MQMD, MQGMO, MQPMO, MQOD, MQTM, MQTMC2, MQXQH.

Members, their order and initial values are IBM's (cmqc.h); identifiers and names that are not given are empty.
"""

from __future__ import annotations

from typing import Any

from sharedq.pymqi import CMQC
from sharedq.pymqi.structures.options import INTEGER64_TYPE as INT64
from sharedq.pymqi.structures.options import MQLONG_TYPE as LONG
from sharedq.pymqi.structures.options import MQOpts

_Member = tuple[str, int | bytes, str]


def string_members(name: str) -> tuple[_Member, ...]:
    """An MQCHARV: a string somewhere else."""
    longs = ("VSOffset", "VSBufSize", "VSLength", "VSCCSID")
    return ((name + "VSPtr", 0, "P"), *((name + part, 0, LONG) for part in longs))


_MD = (
    ("StrucId", CMQC.MQMD_STRUC_ID, "4s"),
    ("Version", CMQC.MQMD_VERSION_1, LONG),
    ("Report", CMQC.MQRO_NONE, LONG),
    ("MsgType", CMQC.MQMT_DATAGRAM, LONG),
    ("Expiry", CMQC.MQEI_UNLIMITED, LONG),
    ("Feedback", CMQC.MQFB_NONE, LONG),
    ("Encoding", CMQC.MQENC_NATIVE, LONG),
    ("CodedCharSetId", CMQC.MQCCSI_Q_MGR, LONG),
    ("Format", b"", "8s"),
    ("Priority", CMQC.MQPRI_PRIORITY_AS_Q_DEF, LONG),
    ("Persistence", CMQC.MQPER_PERSISTENCE_AS_Q_DEF, LONG),
    ("MsgId", b"", "24s"),
    ("CorrelId", b"", "24s"),
    ("BackoutCount", 0, LONG),
    ("ReplyToQ", b"", "48s"),
    ("ReplyToQMgr", b"", "48s"),
    ("UserIdentifier", b"", "12s"),
    ("AccountingToken", b"", "32s"),
    ("ApplIdentityData", b"", "32s"),
    ("PutApplType", CMQC.MQAT_NO_CONTEXT, LONG),
    ("PutApplName", b"", "28s"),
    ("PutDate", b"", "8s"),
    ("PutTime", b"", "8s"),
    ("ApplOriginData", b"", "4s"),
    ("GroupId", b"", "24s"),
    ("MsgSeqNumber", 1, LONG),
    ("Offset", 0, LONG),
    ("MsgFlags", CMQC.MQMF_NONE, LONG),
    ("OriginalLength", CMQC.MQOL_UNDEFINED, LONG),
)

_GMO = (
    ("StrucId", CMQC.MQGMO_STRUC_ID, "4s"),
    ("Version", CMQC.MQGMO_VERSION_1, LONG),
    ("Options", CMQC.MQGMO_NO_WAIT, LONG),
    ("WaitInterval", 0, LONG),
    ("Signal1", 0, LONG),
    ("Signal2", 0, LONG),
    ("ResolvedQName", b"", "48s"),
    ("MatchOptions", CMQC.MQMO_MATCH_MSG_ID | CMQC.MQMO_MATCH_CORREL_ID, LONG),
    ("GroupStatus", CMQC.MQGS_NOT_IN_GROUP, "b"),
    ("SegmentStatus", CMQC.MQSS_NOT_A_SEGMENT, "b"),
    ("Segmentation", CMQC.MQSEG_INHIBITED, "b"),
    ("Reserved1", b" ", "c"),
    ("MsgToken", b"", "16s"),
    ("ReturnedLength", CMQC.MQRL_UNDEFINED, LONG),
    ("Reserved2", 0, LONG),
    ("MsgHandle", 0, INT64),
)

_PMO = (
    ("StrucId", CMQC.MQPMO_STRUC_ID, "4s"),
    ("Version", CMQC.MQPMO_VERSION_1, LONG),
    ("Options", CMQC.MQPMO_NONE, LONG),
    ("Timeout", -1, LONG),
    ("Context", 0, LONG),
    ("KnownDestCount", 0, LONG),
    ("UnknownDestCount", 0, LONG),
    ("InvalidDestCount", 0, LONG),
    ("ResolvedQName", b"", "48s"),
    ("ResolvedQMgrName", b"", "48s"),
    ("RecsPresent", 0, LONG),
    ("PutMsgRecFields", 0, LONG),
    ("PutMsgRecOffset", 0, LONG),
    ("ResponseRecOffset", 0, LONG),
    ("PutMsgRecPtr", 0, "P"),
    ("ResponseRecPtr", 0, "P"),
    ("OriginalMsgHandle", 0, INT64),
    ("NewMsgHandle", 0, INT64),
    ("Action", 0, LONG),
    ("PubLevel", 0, LONG),
)

_OD = (
    ("StrucId", CMQC.MQOD_STRUC_ID, "4s"),
    ("Version", CMQC.MQOD_VERSION_1, LONG),
    ("ObjectType", CMQC.MQOT_Q, LONG),
    ("ObjectName", b"", "48s"),
    ("ObjectQMgrName", b"", "48s"),
    ("DynamicQName", b"AMQ.*", "48s"),
    ("AlternateUserId", b"", "12s"),
    ("RecsPresent", 0, LONG),
    ("KnownDestCount", 0, LONG),
    ("UnknownDestCount", 0, LONG),
    ("InvalidDestCount", 0, LONG),
    ("ObjectRecOffset", 0, LONG),
    ("ResponseRecOffset", 0, LONG),
    ("ObjectRecPtr", 0, "P"),
    ("ResponseRecPtr", 0, "P"),
    ("AlternateSecurityId", b"", "40s"),
    ("ResolvedQName", b"", "48s"),
    ("ResolvedQMgrName", b"", "48s"),
    *string_members("ObjectString"),
    *string_members("SelectionString"),
    *string_members("ResObjectString"),
    ("ResolvedType", -3, LONG),
    # The pointers make C pad the structure to a multiple of eight.
    ("pad", b"", "4s"),
)

_TRIGGER = (
    ("ApplId", b"", "256s"),
    ("EnvData", b"", "128s"),
    ("UserData", b"", "128s"),
)
_TM = (
    ("StrucId", CMQC.MQTM_STRUC_ID, "4s"),
    ("Version", CMQC.MQTM_VERSION_1, LONG),
    ("QName", b"", "48s"),
    ("ProcessName", b"", "48s"),
    ("TriggerData", b"", "64s"),
    ("ApplType", 0, LONG),
    *_TRIGGER,
)
_TMC2 = (
    ("StrucId", CMQC.MQTMC_STRUC_ID, "4s"),
    ("Version", CMQC.MQTMC_VERSION_2, "4s"),
    ("QName", b"", "48s"),
    ("ProcessName", b"", "48s"),
    ("TriggerData", b"", "64s"),
    ("ApplType", b"", "4s"),
    *_TRIGGER,
    ("QMgrName", b"", "48s"),
)

_XQH = (
    ("StrucId", CMQC.MQXQH_STRUC_ID, "4s"),
    ("Version", CMQC.MQXQH_VERSION_1, LONG),
    ("RemoteQName", b"", "48s"),
    ("RemoteQMgrName", b"", "48s"),
)


class MD(MQOpts):
    """Message descriptor. The members from GroupId on count when Version is 2."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_MD, **kw)


class GMO(MQOpts):
    """Get-message options. MatchOptions counts from version 2, MsgToken from 3. WaitInterval is in milliseconds."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_GMO, **kw)


class PMO(MQOpts):
    """Put-message options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_PMO, **kw)


class OD(MQOpts):
    """Object descriptor. From version 3 it returns what a name was resolved to."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_OD, **kw)


class TM(MQOpts):
    """Trigger message, as it is read from an initiation queue."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_TM, **kw)


class TMC2(MQOpts):
    """Trigger message in characters, as a started program is given it."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_TMC2, **kw)


class XQH(MQOpts):
    """Transmission-queue header, up to the message descriptor that follows it."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_XQH, **kw)


md, gmo, pmo, od = MD, GMO, PMO, OD
