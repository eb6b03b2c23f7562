"""Errors: one class for each reason that a program treats in its own way, ``MQIError`` for the others."""

from __future__ import annotations

from typing import ClassVar

from sharedq.mqi.constants.descriptor import MQCC
from sharedq.mqi.constants.reasons import MQRC

#: Reasons that come with MQCC_WARNING: the call did what was asked. Those that IBM gives both ways
#: (2241, 2242, 2245, 2136) count as failures unless the caller says otherwise.
WARNINGS = frozenset(
    {
        MQRC.ALREADY_CONNECTED,
        MQRC.CHAR_ATTRS_TOO_SHORT,
        MQRC.INT_ATTR_COUNT_TOO_SMALL,
        MQRC.PRIORITY_EXCEEDS_MAXIMUM,
        MQRC.SELECTOR_NOT_FOR_TYPE,
        MQRC.SIGNAL_REQUEST_ACCEPTED,
        MQRC.TRUNCATED_MSG_ACCEPTED,
        MQRC.TRUNCATED_MSG_FAILED,
        MQRC.UNKNOWN_REPORT_OPTION,
        MQRC.FORMAT_ERROR,
        MQRC.SOURCE_CCSID_ERROR,
        MQRC.SOURCE_INTEGER_ENC_ERROR,
        MQRC.SOURCE_DECIMAL_ENC_ERROR,
        MQRC.SOURCE_FLOAT_ENC_ERROR,
        MQRC.TARGET_CCSID_ERROR,
        MQRC.TARGET_INTEGER_ENC_ERROR,
        MQRC.TARGET_DECIMAL_ENC_ERROR,
        MQRC.TARGET_FLOAT_ENC_ERROR,
        MQRC.NOT_CONVERTED,
        MQRC.CONVERTED_MSG_TOO_BIG,
        MQRC.NO_EXTERNAL_PARTICIPANTS,
        MQRC.PARTICIPANT_NOT_AVAILABLE,
        MQRC.OUTCOME_PENDING,
        MQRC.CONVERTED_STRING_TOO_BIG,
        MQRC.NO_MSG_LOCKED,
        MQRC.INCONSISTENT_CCSIDS,
        MQRC.INCONSISTENT_ENCODINGS,
        MQRC.PARTIALLY_CONVERTED,
        MQRC.CONN_TAG_NOT_RELEASED,
        MQRC.READ_AHEAD_MSGS,
    }
)


class MQIError(Exception):
    """An MQI call ended with a completion code other than MQCC_OK.

    Attributes:
        reason: IBM's reason code.
        comp_code: MQCC_FAILED, or MQCC_WARNING when the call nevertheless did what was asked.
        verb: the call, such as ``MQGET``; may be empty.
        object_name: of the queue, queue manager or structure.
        detail: the one fact that explains it, such as ``waited 5000 ms``; may be empty.
    """

    reason: MQRC = MQRC.UNEXPECTED_ERROR
    comp_code: MQCC = MQCC.FAILED

    #: Reason code -> class, filled by the classes below.
    _classes: ClassVar[dict[MQRC, type[MQIError]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        MQIError._classes[cls.reason] = cls
        cls.comp_code = MQCC.WARNING if cls.reason in WARNINGS else MQCC.FAILED

    def __init__(self, verb: str, object_name: str, detail: str = "") -> None:
        super().__init__(verb, object_name, detail)
        self.verb, self.object_name, self.detail = verb, object_name, detail

    def __str__(self) -> str:
        what = " ".join(part for part in (self.verb, self.object_name) if part)
        text = f"MQRC_{self.reason.name} ({self.reason:d})"
        text = f"{what}: {text}" if what else text
        return f"{text}, {self.detail}" if self.detail else text


def error_for(
    reason: MQRC, verb: str, object_name: str, detail: str = "", *, comp_code: MQCC | None = None
) -> MQIError:
    """The exception for *reason*: of its own class where there is one.

    Args:
        comp_code: for the reasons that are a warning from one call and a failure from another.
    """
    error = MQIError._classes.get(reason, MQIError)(verb, object_name, detail)
    if error.reason != reason:
        error.reason = reason
        error.comp_code = MQCC.WARNING if reason in WARNINGS else MQCC.FAILED
    if comp_code is not None:
        error.comp_code = comp_code
    return error


# -- connecting ----------------------------------------------------------------------------------------------


class ConnectionBroken(MQIError):
    """The connection is gone; whether the last call worked is unknown. Connect again; peers do the rest."""

    reason = MQRC.CONNECTION_BROKEN


class NotAuthorized(MQIError):
    """Redis refused the credentials."""

    reason = MQRC.NOT_AUTHORIZED


class QMgrNameError(MQIError):
    """The group has no queue manager of that name."""

    reason = MQRC.Q_MGR_NAME_ERROR


class QMgrNotAvailable(MQIError):
    """The queue manager is not running. Try later, or another one."""

    reason = MQRC.Q_MGR_NOT_AVAILABLE


class QMgrQuiescing(MQIError):
    """The queue manager is ending: finish and disconnect."""

    reason = MQRC.Q_MGR_QUIESCING


class QMgrStopping(MQIError):
    """The queue manager is ending now."""

    reason = MQRC.Q_MGR_STOPPING


class ConnTagInUse(MQIError):
    """Another connection holds the tag, or its last holder is still being recovered. Try again."""

    reason = MQRC.CONN_TAG_IN_USE


# -- objects -------------------------------------------------------------------------------------------------


class UnknownObjectName(MQIError):
    """No such object."""

    reason = MQRC.UNKNOWN_OBJECT_NAME


class UnknownRemoteQMgr(MQIError):
    """Nothing leads to that queue manager."""

    reason = MQRC.UNKNOWN_REMOTE_Q_MGR


class ObjectAlreadyExists(MQIError):
    """DEFINE met an object of that name."""

    reason = MQRC.OBJECT_ALREADY_EXISTS


class ObjectChanged(MQIError):
    """The definition changed since the open. Close the handle and open again."""

    reason = MQRC.OBJECT_CHANGED


class ObjectInUse(MQIError):
    """Somebody else has the object open in a way that excludes this call."""

    reason = MQRC.OBJECT_IN_USE


class QDeleted(MQIError):
    """The queue was deleted while it was open."""

    reason = MQRC.Q_DELETED


class QNotEmpty(MQIError):
    """The queue still holds messages."""

    reason = MQRC.Q_NOT_EMPTY


class OptionsError(MQIError):
    """An unknown option, or options that exclude each other."""

    reason = MQRC.OPTIONS_ERROR


# -- putting -------------------------------------------------------------------------------------------------


class PutInhibited(MQIError):
    """The queue is PUT(DISABLED) for now."""

    reason = MQRC.PUT_INHIBITED


class QFull(MQIError):
    """The queue has reached its MAXDEPTH. Try again when it was read."""

    reason = MQRC.Q_FULL


class StorageMediumFull(MQIError):
    """The structure has no room: Redis is at its memory limit."""

    reason = MQRC.STORAGE_MEDIUM_FULL


class MsgTooBigForQ(MQIError):
    """Longer than the queue's MAXMSGL."""

    reason = MQRC.MSG_TOO_BIG_FOR_Q


class MsgTooBigForQMgr(MQIError):
    """Longer than the queue manager's MAXMSGL."""

    reason = MQRC.MSG_TOO_BIG_FOR_Q_MGR


# -- getting -------------------------------------------------------------------------------------------------


class NoMsgAvailable(MQIError):
    """Nothing eligible was on the queue. Normal at the end of a drain."""

    reason = MQRC.NO_MSG_AVAILABLE


class NoMsgUnderCursor(MQIError):
    """No message was browsed yet, or another program took the browsed one."""

    reason = MQRC.NO_MSG_UNDER_CURSOR


class GetInhibited(MQIError):
    """The queue is GET(DISABLED) for now."""

    reason = MQRC.GET_INHIBITED


class TruncatedMsgFailed(MQIError):
    """The data is longer than the buffer; the message stays. Get again with more room."""

    reason = MQRC.TRUNCATED_MSG_FAILED


# -- units of work -------------------------------------------------------------------------------------------


class BackedOut(MQIError):
    """The unit of work was backed out: do it again."""

    reason = MQRC.BACKED_OUT


class SyncpointLimitReached(MQIError):
    """The unit of work holds MAXUMSGS messages: commit or back out."""

    reason = MQRC.SYNCPOINT_LIMIT_REACHED


class CFStrucInUse(MQIError):
    """The structure is being recovered. Try again."""

    reason = MQRC.CF_STRUC_IN_USE


class CFStrucListHdrInUse(MQIError):
    """The queue is being recovered. Try again."""

    reason = MQRC.CF_STRUC_LIST_HDR_IN_USE


class CFStrucFailed(MQIError):
    """The structure has lost its queues, or had since the queue was opened. Open the queue again after the recovery."""

    reason = MQRC.CF_STRUC_FAILED
