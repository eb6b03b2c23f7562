"""Names of properties: which of them may be set, and which element of which folder each stands for.

A name is kept as a program inquires it: without ``usr.``, and with the folder and the element in place of JMS' name.

Source: IBM MQ, "Property names", "Property name restrictions", "Mapping from property names to MQRFH2 folder and
element names".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sharedq.mqi.arguments import text
from sharedq.mqi.constants import MQRC, PropertyType
from sharedq.mqi.constants.properties import MAX_PROPERTY_NAME_LENGTH
from sharedq.mqi.errors import error_for

#: The folder of a name that names none.
USER_FOLDER: Final = "usr"
#: Before the name of a field of the message descriptor.
DESCRIPTOR: Final = "Root.MQMD."
#: At the end of a name that is inquired: whatever follows.
WILDCARD: Final = "%"

#: The words of a selection string, in capitals.
RESERVED_WORDS: Final = frozenset(
    {"NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"}
)
#: Folders that have properties in them without saying so.
PROPERTY_FOLDERS: Final = frozenset(
    {
        "usr",
        "mq_usr",
        "mcd",
        "jms",
        "mqext",
        "mq",
        "mqps",
        "mqtt",
        "mqema",
        "mq_svc",
        "ibm",
        "sib",
        "sib_usr",
        "sib_context",
    }
)
#: With a property in one of these, MQPROP_COMPATIBILITY returns all of them.
COMPATIBLE_FOLDERS: Final = frozenset({"mcd", "jms", "usr", "mqext"})
#: JMS' names that a program may set, with the property that each is.
_JMS_SET: Final = {
    "JMSCorrelationID": "jms.Cid",
    "JMSReplyTo": "jms.Rto",
    "JMSType": "mcd.Type",
    "JMSXGroupID": "jms.Gid",
    "JMSXGroupSeq": "jms.Seq",
}
#: Names of JMS and of publish/subscribe, each with its property: where a message has no such property, the field
#: of the descriptor.
SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "JMSCorrelationID": ("jms.Cid", "Root.MQMD.CorrelId"),
        "JMSDeliveryMode": ("jms.Dlv", "Root.MQMD.Persistence"),
        "JMSDestination": ("jms.Dst",),
        "JMSExpiration": ("jms.Exp", "Root.MQMD.Expiry"),
        "JMSMessageID": ("Root.MQMD.MsgId",),
        "JMSPriority": ("jms.Pri", "Root.MQMD.Priority"),
        "JMSRedelivered": ("Root.MQMD.BackoutCount",),
        "JMSReplyTo": ("jms.Rto", "Root.MQMD.ReplyToQ"),
        "JMSTimestamp": ("jms.Tms",),
        "JMSType": ("mcd.Type",),
        "JMSXAppID": ("Root.MQMD.PutApplName",),
        "JMSXDeliveryCount": ("Root.MQMD.BackoutCount",),
        "JMSXGroupID": ("jms.Gid", "Root.MQMD.GroupId"),
        "JMSXGroupSeq": ("jms.Seq", "Root.MQMD.MsgSeqNumber"),
        "JMSXUserID": ("Root.MQMD.UserIdentifier",),
        "MQIsRetained": ("mqps.Ret",),
        "MQSubUserData": ("mqps.Sud",),
        "MQTopicString": ("mqps.Top",),
    }
)
_LONG, _TEXT, _BYTES = PropertyType.INT32, PropertyType.STRING, PropertyType.BYTE_STRING
#: IBM's name of each field of the message descriptor, with ours and the type that it has as a property.
DESCRIPTOR_FIELDS: Final[Mapping[str, tuple[str, PropertyType]]] = MappingProxyType(
    {
        "Report": ("report", _LONG),
        "MsgType": ("msg_type", _LONG),
        "Expiry": ("expiry", _LONG),
        "Feedback": ("feedback", _LONG),
        "Encoding": ("encoding", _LONG),
        "CodedCharSetId": ("coded_char_set_id", _LONG),
        "Format": ("format", _TEXT),
        "Priority": ("priority", _LONG),
        "Persistence": ("persistence", _LONG),
        "MsgId": ("msg_id", _BYTES),
        "CorrelId": ("correl_id", _BYTES),
        "BackoutCount": ("backout_count", _LONG),
        "ReplyToQ": ("reply_to_q", _TEXT),
        "ReplyToQMgr": ("reply_to_q_mgr", _TEXT),
        "UserIdentifier": ("user_identifier", _TEXT),
        "AccountingToken": ("accounting_token", _BYTES),
        "ApplIdentityData": ("appl_identity_data", _TEXT),
        "PutApplType": ("put_appl_type", _LONG),
        "PutApplName": ("put_appl_name", _TEXT),
        "PutDate": ("put_date", _TEXT),
        "PutTime": ("put_time", _TEXT),
        "ApplOriginData": ("appl_origin_data", _TEXT),
        "GroupId": ("group_id", _BYTES),
        "MsgSeqNumber": ("msg_seq_number", _LONG),
        "Offset": ("offset", _LONG),
        "MsgFlags": ("msg_flags", _LONG),
        "OriginalLength": ("original_length", _LONG),
    }
)
#: The last character that a name may have: those above take four bytes of UTF-8.
_LAST_CHARACTER: Final = "\uffff"


def kept_name(name: str) -> str:
    """The form in which a name that a program gives is kept and compared."""
    folder, _, rest = name.partition(".")
    is_plain = folder == USER_FOLDER and rest and "." not in rest and not rest.endswith(WILDCARD)
    return rest if is_plain else name


def full_name(name: str) -> str:
    """A kept name with its folder."""
    return name if "." in name else f"{USER_FOLDER}.{name}"


def settable_name(name: str, *, is_validated: bool = True) -> str:
    """The name under which MQSETMP keeps a property.

    Args:
        is_validated: as the handle was made. Without it only such a name is refused as no folder can have.

    Raises:
        MQIError: 2513 too long or empty, 2442 no property may have this name.
    """
    check_length(name, "MQSETMP")
    if name.startswith(DESCRIPTOR):
        if name.removeprefix(DESCRIPTOR) not in DESCRIPTOR_FIELDS:
            raise error_for(MQRC.PROPERTY_NAME_ERROR, "MQSETMP", "", f"{name}: the descriptor has no such field")
        return name
    problem = _problem(name, is_validated=is_validated)
    if problem:
        raise error_for(MQRC.PROPERTY_NAME_ERROR, "MQSETMP", "", f"{name[:80]!r}: {problem}")
    return _JMS_SET.get(name) or kept_name(name)


def check_length(name: str, verb: str) -> None:
    """Raises MQIError: 2513, it is empty or too long; 2442, it is no text."""
    text(name, MQRC.PROPERTY_NAME_ERROR, verb, "the name")
    if not 0 < len(name) <= MAX_PROPERTY_NAME_LENGTH:
        detail = f"a name has 1 to {MAX_PROPERTY_NAME_LENGTH} characters, not {len(name)}"
        raise error_for(MQRC.PROPERTY_NAME_LENGTH_ERR, verb, "", detail)


def _problem(name: str, *, is_validated: bool) -> str:
    """Why no property may have this name; empty where one may."""
    if not is_written(name):
        return "letters, digits, _ and $ in parts with dots between them, and no part begins with a digit"
    return _reserved(name) if is_validated else ""


def is_written(name: str) -> bool:
    """Whether all parts of a name can be names of elements."""
    return all(part.replace("$", "_").isidentifier() for part in name.split(".")) and max(name) <= _LAST_CHARACTER


def _reserved(name: str) -> str:
    bare = kept_name(name)
    if bare.upper() in RESERVED_WORDS:
        return "a word of selection strings"
    if bare.startswith("JMS") and name not in _JMS_SET:
        return "names with JMS in front are JMS' own"
    if name.partition(".")[0] in ("Root", "Body") and "." in name:
        return "Root and Body are parts of the message"
    if name[:2].lower() == "mq" and not name.startswith("mq_usr") and name.count(".") > 1:
        return "a name with mq in front has one dot at most"
    return ""


def is_accessible(folder: str, path: tuple[str, ...]) -> bool:
    """Whether a program can inquire the property that an element at this place is."""
    if any("." in part or ":" in part for part in path):
        return False
    is_plain_user = folder == USER_FOLDER and len(path) == 1
    return not (is_plain_user and (path[0].startswith("JMS") or path[0].upper() in RESERVED_WORDS))


def place_of(name: str) -> tuple[str, tuple[str, ...]]:
    """The folder, and the way in it to the element, of a property under its kept *name*."""
    folder, *path = name.split(".")
    return (folder, tuple(path)) if path else (USER_FOLDER, (folder,))


def name_at(folder: str, path: tuple[str, ...]) -> str:
    """The kept name of the property at this place."""
    if folder == USER_FOLDER and len(path) == 1:
        return path[0]
    return ".".join((folder, *path))
