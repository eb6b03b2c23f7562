"""The structures of publish/subscribe calls: MQSD and MQSRO. Members, their order and initial values are IBM's."""

from __future__ import annotations

from typing import Any

from sharedq.pymqi import CMQC
from sharedq.pymqi.structures.options import MQLONG_TYPE as LONG
from sharedq.pymqi.structures.options import MQOpts
from sharedq.pymqi.structures.queueing import string_members

_SD = (
    ("StrucId", CMQC.MQSD_STRUC_ID, "4s"),
    ("Version", CMQC.MQSD_VERSION_1, LONG),
    ("Options", CMQC.MQSO_NON_DURABLE, LONG),
    ("ObjectName", b"", "48s"),
    ("AlternateUserId", b"", "12s"),
    ("AlternateSecurityId", CMQC.MQSID_NONE, "40s"),
    ("SubExpiry", CMQC.MQEI_UNLIMITED, LONG),
    *string_members("ObjectString"),
    *string_members("SubName"),
    *string_members("SubUserData"),
    ("SubCorrelId", CMQC.MQCI_NONE, "24s"),
    ("PubPriority", CMQC.MQPRI_PRIORITY_AS_Q_DEF, LONG),
    ("PubAccountingToken", CMQC.MQACT_NONE, "32s"),
    ("PubApplIdentityData", b"", "32s"),
    *string_members("SelectionString"),
    ("SubLevel", 0, LONG),
    *string_members("ResObjectString"),
)

_SRO = (
    ("StrucId", CMQC.MQSRO_STRUC_ID, "4s"),
    ("Version", CMQC.MQSRO_VERSION_1, LONG),
    ("Options", CMQC.MQSRO_FAIL_IF_QUIESCING, LONG),
    ("NumPubs", 0, LONG),
)


class SD(MQOpts):
    """Subscription descriptor."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_SD, **kw)


class SRO(MQOpts):
    """Options of a subscription request."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_SRO, **kw)
