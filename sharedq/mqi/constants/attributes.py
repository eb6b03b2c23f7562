"""Values of attributes and types of objects, where a call takes or returns them as numbers."""

from __future__ import annotations

from enum import IntEnum


class ObjectType(IntEnum):
    """MQOT_*: ``MQOD.object_type``. Numbers are IBM's (cmqc.h)."""

    NONE = 0
    Q = 1
    NAMELIST = 2
    PROCESS = 3
    STORAGE_CLASS = 4
    Q_MGR = 5
    CHANNEL = 6
    AUTH_INFO = 7
    TOPIC = 8
    COMM_INFO = 9
    CF_STRUC = 10
    LISTENER = 11
    SERVICE = 12
    ALL = 1001
    ALIAS_Q = 1002
    MODEL_Q = 1003
    LOCAL_Q = 1004
    REMOTE_Q = 1005


class ReadAhead(IntEnum):
    """MQREADA_*: the attribute DEFREADA. Numbers are IBM's (cmqc.h)."""

    NO = 0
    YES = 1
    DISABLED = 2
    INHIBITED = 3
    BACKLOG = 4


class Monitoring(IntEnum):
    """MQMON_*: MONQ, STATQ, ACCTQ and their like. Numbers are IBM's (cmqc.h)."""

    Q_MGR = -3
    NONE = -1
    NOT_AVAILABLE = -1
    OFF = 0
    DISABLED = 0
    ON = 1
    ENABLED = 1
    LOW = 17
    MEDIUM = 33
    HIGH = 65
