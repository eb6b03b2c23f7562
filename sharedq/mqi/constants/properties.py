"""Message properties: their types, their descriptors, and the options of the calls on message handles.

Structures carry plain integers; these classes name them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

from sharedq.mqi.limits import tested_as_integers

#: MQHM_NONE and MQHM_UNUSABLE_HMSG: no message handle, and one that was deleted.
NO_MSG_HANDLE: Final = 0
UNUSABLE_MSG_HANDLE: Final = -1
#: MQ_MAX_PROPERTY_NAME_LENGTH and MQ_SELECTOR_LENGTH, characters.
MAX_PROPERTY_NAME_LENGTH: Final = 4095
SELECTOR_LENGTH: Final = 10240


class PropertyType(IntEnum):
    """MQTYPE_*: the data type of a property. Numbers are IBM's (cmqc.h)."""

    AS_SET = 0
    NULL = 2
    BOOLEAN = 4
    BYTE_STRING = 8
    INT8 = 16
    INT16 = 32
    INT32 = 64
    INT64 = 128
    FLOAT32 = 256
    FLOAT64 = 512
    STRING = 1024


class PropertyControl(IntEnum):
    """MQPROP_*: the attribute PROPCTL. Numbers are IBM's (cmqc.h)."""

    COMPATIBILITY = 0
    NONE = 1
    ALL = 2
    FORCE_MQRFH2 = 3
    V6COMPAT = 4


class PropertySupport(IntEnum):
    """MQPD_SUPPORT_*: what a queue manager must do that does not know a property. Numbers are IBM's (cmqc.h)."""

    OPTIONAL = 0x0000_0001
    REQUIRED_IF_LOCAL = 0x0000_0400
    REQUIRED = 0x0010_0000


class PropertyContext(IntEnum):
    """MQPD_*CONTEXT: the message context that a property belongs to. Numbers are IBM's (cmqc.h)."""

    NO_CONTEXT = 0
    USER_CONTEXT = 1


@tested_as_integers
class PropertyCopy(IntFlag):
    """MQCOPY_*: the messages that a property is copied into. Numbers are IBM's (cmqc.h)."""

    NONE = 0x00
    ALL = 0x01
    FORWARD = 0x02
    PUBLISH = 0x04
    REPLY = 0x08
    REPORT = 0x10
    DEFAULT = 0x16


class PutAction(IntEnum):
    """MQACTP_*: how a message that is put is related to another one. Numbers are IBM's (cmqc.h)."""

    NEW = 0
    FORWARD = 1
    REPLY = 2
    REPORT = 3


@tested_as_integers
class CreateHandleOption(IntFlag):
    """MQCMHO_*: bits of ``MQCMHO.options``. Numbers are IBM's (cmqc.h)."""

    DEFAULT_VALIDATION = 0x0
    NO_VALIDATION = 0x1
    VALIDATE = 0x2


@tested_as_integers
class SetPropertyOption(IntFlag):
    """MQSMPO_*: bits of ``MQSMPO.options``. Numbers are IBM's (cmqc.h)."""

    SET_FIRST = 0x0
    SET_PROP_UNDER_CURSOR = 0x1
    SET_PROP_AFTER_CURSOR = 0x2
    APPEND_PROPERTY = 0x4
    SET_PROP_BEFORE_CURSOR = 0x8


@tested_as_integers
class InquirePropertyOption(IntFlag):
    """MQIMPO_*: bits of ``MQIMPO.options``. Numbers are IBM's (cmqc.h)."""

    INQ_FIRST = 0x00
    CONVERT_TYPE = 0x02
    QUERY_LENGTH = 0x04
    INQ_NEXT = 0x08
    INQ_PROP_UNDER_CURSOR = 0x10
    CONVERT_VALUE = 0x20


@tested_as_integers
class DeletePropertyOption(IntFlag):
    """MQDMPO_*: bits of ``MQDMPO.options``. Numbers are IBM's (cmqc.h)."""

    DEL_FIRST = 0x0
    DEL_PROP_UNDER_CURSOR = 0x1


@tested_as_integers
class BufferToHandleOption(IntFlag):
    """MQBMHO_*: bits of ``MQBMHO.options``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0
    DELETE_PROPERTIES = 0x1


@tested_as_integers
class HandleToBufferOption(IntFlag):
    """MQMHBO_*: bits of ``MQMHBO.options``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0
    PROPERTIES_IN_MQRFH2 = 0x1
    DELETE_PROPERTIES = 0x2
