"""Options of the MQI's calls: what a program asks of MQGET, MQPUT, MQOPEN, MQCLOSE and MQCONNX.

Structures carry plain integers; these classes name the bits.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from sharedq.mqi.limits import tested_as_integers


@tested_as_integers
class GetOption(IntFlag):
    """MQGMO_*: bits of ``MQGMO.options``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0000_0000
    NO_WAIT = 0x0000_0000
    WAIT = 0x0000_0001
    SYNCPOINT = 0x0000_0002
    NO_SYNCPOINT = 0x0000_0004
    #: z/OS: signal the program instead of making it wait.
    SET_SIGNAL = 0x0000_0008
    BROWSE_FIRST = 0x0000_0010
    BROWSE_NEXT = 0x0000_0020
    ACCEPT_TRUNCATED_MSG = 0x0000_0040
    #: z/OS: the get survives the first back-out of its unit of work, in a new one.
    MARK_SKIP_BACKOUT = 0x0000_0080
    MSG_UNDER_CURSOR = 0x0000_0100
    LOCK = 0x0000_0200
    UNLOCK = 0x0000_0400
    BROWSE_MSG_UNDER_CURSOR = 0x0000_0800
    SYNCPOINT_IF_PERSISTENT = 0x0000_1000
    FAIL_IF_QUIESCING = 0x0000_2000
    CONVERT = 0x0000_4000
    LOGICAL_ORDER = 0x0000_8000
    COMPLETE_MSG = 0x0001_0000
    ALL_MSGS_AVAILABLE = 0x0002_0000
    ALL_SEGMENTS_AVAILABLE = 0x0004_0000
    MARK_BROWSE_HANDLE = 0x0010_0000
    MARK_BROWSE_CO_OP = 0x0020_0000
    UNMARK_BROWSE_CO_OP = 0x0040_0000
    UNMARK_BROWSE_HANDLE = 0x0080_0000
    UNMARKED_BROWSE_MSG = 0x0100_0000
    PROPERTIES_AS_Q_DEF = 0x0000_0000
    PROPERTIES_FORCE_MQRFH2 = 0x0200_0000
    NO_PROPERTIES = 0x0400_0000
    PROPERTIES_IN_HANDLE = 0x0800_0000
    PROPERTIES_COMPATIBILITY = 0x1000_0000
    #: BROWSE_FIRST + UNMARKED_BROWSE_MSG + MARK_BROWSE_HANDLE
    BROWSE_HANDLE = 0x0110_0010
    #: BROWSE_FIRST + UNMARKED_BROWSE_MSG + MARK_BROWSE_CO_OP
    BROWSE_CO_OP = 0x0120_0010


@tested_as_integers
class MatchOption(IntFlag):
    """MQMO_*: which fields of the MQMD a get must match. Numbers are IBM's (cmqc.h)."""

    NONE = 0x00
    MATCH_MSG_ID = 0x01
    MATCH_CORREL_ID = 0x02
    MATCH_GROUP_ID = 0x04
    MATCH_MSG_SEQ_NUMBER = 0x08
    MATCH_OFFSET = 0x10
    MATCH_MSG_TOKEN = 0x20


@tested_as_integers
class PutOption(IntFlag):
    """MQPMO_*: bits of ``MQPMO.options``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0000_0000
    SYNCPOINT = 0x0000_0002
    NO_SYNCPOINT = 0x0000_0004
    DEFAULT_CONTEXT = 0x0000_0020
    NEW_MSG_ID = 0x0000_0040
    NEW_CORREL_ID = 0x0000_0080
    PASS_IDENTITY_CONTEXT = 0x0000_0100
    PASS_ALL_CONTEXT = 0x0000_0200
    SET_IDENTITY_CONTEXT = 0x0000_0400
    SET_ALL_CONTEXT = 0x0000_0800
    ALTERNATE_USER_AUTHORITY = 0x0000_1000
    FAIL_IF_QUIESCING = 0x0000_2000
    NO_CONTEXT = 0x0000_4000
    LOGICAL_ORDER = 0x0000_8000
    #: The put need not be complete when the call returns; MQSTAT tells of failures.
    ASYNC_RESPONSE = 0x0001_0000
    SYNC_RESPONSE = 0x0002_0000
    RESOLVE_LOCAL_Q = 0x0004_0000
    WARN_IF_NO_SUBS_MATCHED = 0x0008_0000
    RETAIN = 0x0020_0000
    MD_FOR_OUTPUT_ONLY = 0x0080_0000
    SCOPE_QMGR = 0x0400_0000
    SUPPRESS_REPLYTO = 0x0800_0000
    NOT_OWN_SUBS = 0x1000_0000
    RESPONSE_AS_Q_DEF = 0x0000_0000
    RESPONSE_AS_TOPIC_DEF = 0x0000_0000


@tested_as_integers
class OpenOption(IntFlag):
    """MQOO_*: what an object is opened for. Numbers are IBM's (cmqc.h)."""

    BIND_AS_Q_DEF = 0x0000_0000
    READ_AHEAD_AS_Q_DEF = 0x0000_0000
    INPUT_AS_Q_DEF = 0x0000_0001
    INPUT_SHARED = 0x0000_0002
    INPUT_EXCLUSIVE = 0x0000_0004
    BROWSE = 0x0000_0008
    OUTPUT = 0x0000_0010
    INQUIRE = 0x0000_0020
    SET = 0x0000_0040
    SAVE_ALL_CONTEXT = 0x0000_0080
    PASS_IDENTITY_CONTEXT = 0x0000_0100
    PASS_ALL_CONTEXT = 0x0000_0200
    SET_IDENTITY_CONTEXT = 0x0000_0400
    SET_ALL_CONTEXT = 0x0000_0800
    ALTERNATE_USER_AUTHORITY = 0x0000_1000
    FAIL_IF_QUIESCING = 0x0000_2000
    BIND_ON_OPEN = 0x0000_4000
    BIND_NOT_FIXED = 0x0000_8000
    #: The handle belongs to the set that shares browse marks.
    CO_OP = 0x0002_0000
    RESOLVE_LOCAL_Q = 0x0004_0000
    RESOLVE_LOCAL_TOPIC = 0x0004_0000
    NO_READ_AHEAD = 0x0008_0000
    READ_AHEAD = 0x0010_0000
    NO_MULTICAST = 0x0020_0000
    BIND_ON_GROUP = 0x0040_0000


@tested_as_integers
class PutRecordField(IntFlag):
    """MQPMRF_*: the fields that put message records have. Numbers are IBM's (cmqc.h)."""

    NONE = 0
    MSG_ID = 1
    CORREL_ID = 2
    GROUP_ID = 4
    FEEDBACK = 8
    ACCOUNTING_TOKEN = 16


@tested_as_integers
class CloseOption(IntFlag):
    """MQCO_*: what becomes of the object. Numbers are IBM's (cmqc.h)."""

    NONE = 0x00
    IMMEDIATE = 0x00
    #: Delete a permanent dynamic queue if nothing is on it.
    DELETE = 0x01
    #: Delete a permanent dynamic queue with what is on it.
    DELETE_PURGE = 0x02
    KEEP_SUB = 0x04
    REMOVE_SUB = 0x08
    QUIESCE = 0x20


@tested_as_integers
class ConnectOption(IntFlag):
    """MQCNO_*: bits of ``MQCNO.options``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0000_0000
    STANDARD_BINDING = 0x0000_0000
    RECONNECT_AS_DEF = 0x0000_0000
    FASTPATH_BINDING = 0x0000_0001
    #: The tag is exclusive among connections to this queue manager.
    SERIALIZE_CONN_TAG_Q_MGR = 0x0000_0002
    #: The tag is exclusive in the whole queue-sharing group.
    SERIALIZE_CONN_TAG_QSG = 0x0000_0004
    RESTRICT_CONN_TAG_Q_MGR = 0x0000_0008
    RESTRICT_CONN_TAG_QSG = 0x0000_0010
    HANDLE_SHARE_NONE = 0x0000_0020
    HANDLE_SHARE_BLOCK = 0x0000_0040
    HANDLE_SHARE_NO_BLOCK = 0x0000_0080
    SHARED_BINDING = 0x0000_0100
    ISOLATED_BINDING = 0x0000_0200
    LOCAL_BINDING = 0x0000_0400
    CLIENT_BINDING = 0x0000_0800
    ACCOUNTING_MQI_ENABLED = 0x0000_1000
    ACCOUNTING_MQI_DISABLED = 0x0000_2000
    ACCOUNTING_Q_ENABLED = 0x0000_4000
    ACCOUNTING_Q_DISABLED = 0x0000_8000
    NO_CONV_SHARING = 0x0001_0000
    ALL_CONVS_SHARE = 0x0004_0000
    CD_FOR_OUTPUT_ONLY = 0x0008_0000
    USE_CD_SELECTION = 0x0010_0000
    GENERATE_CONN_TAG = 0x0020_0000
    RECONNECT = 0x0100_0000
    RECONNECT_DISABLED = 0x0200_0000
    RECONNECT_Q_MGR = 0x0400_0000
    ACTIVITY_TRACE_ENABLED = 0x0800_0000
    ACTIVITY_TRACE_DISABLED = 0x1000_0000


@tested_as_integers
class SubOption(IntFlag):
    """MQSO_*: bits of ``MQSD.options``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0000_0000
    NON_DURABLE = 0x0000_0000
    READ_AHEAD_AS_Q_DEF = 0x0000_0000
    ALTER = 0x0000_0001
    CREATE = 0x0000_0002
    RESUME = 0x0000_0004
    DURABLE = 0x0000_0008
    GROUP_SUB = 0x0000_0010
    MANAGED = 0x0000_0020
    SET_IDENTITY_CONTEXT = 0x0000_0040
    NO_MULTICAST = 0x0000_0080
    FIXED_USERID = 0x0000_0100
    ANY_USERID = 0x0000_0200
    PUBLICATIONS_ON_REQUEST = 0x0000_0800
    NEW_PUBLICATIONS_ONLY = 0x0000_1000
    FAIL_IF_QUIESCING = 0x0000_2000
    ALTERNATE_USER_AUTHORITY = 0x0004_0000
    WILDCARD_CHAR = 0x0010_0000
    WILDCARD_TOPIC = 0x0020_0000
    SET_CORREL_ID = 0x0040_0000
    SCOPE_QMGR = 0x0400_0000
    NO_READ_AHEAD = 0x0800_0000
    READ_AHEAD = 0x1000_0000


@tested_as_integers
class RequestOption(IntFlag):
    """MQSRO_*: bits of ``MQSRO.options``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0000_0000
    FAIL_IF_QUIESCING = 0x0000_2000


class StatusType(IntEnum):
    """MQSTAT_TYPE_*: what MQSTAT is asked about. Numbers are IBM's (cmqc.h)."""

    ASYNC_ERROR = 0
    RECONNECTION = 1
    RECONNECTION_ERROR = 2


@tested_as_integers
class ConversionOption(IntFlag):
    """MQDCC_*: options of MQXCNVC. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0000
    DEFAULT_CONVERSION = 0x0001
    FILL_TARGET_BUFFER = 0x0002
    #: The order of the bytes of UTF-16.
    SOURCE_ENC_NORMAL = 0x0010
    SOURCE_ENC_NATIVE = 0x0020
    SOURCE_ENC_REVERSED = 0x0020
    TARGET_ENC_NORMAL = 0x0100
    TARGET_ENC_NATIVE = 0x0200
    TARGET_ENC_REVERSED = 0x0200
