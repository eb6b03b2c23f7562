"""Values of a message descriptor's fields.

An MQMD carries plain integers and bytes; these classes name them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from functools import reduce
from operator import or_
from typing import Final

from sharedq.mqi.limits import tested_as_integers


class MQCC(IntEnum):
    """MQCC_*: whether a call did what was asked. Numbers are IBM's (cmqc.h)."""

    OK = 0
    #: The call is complete, but the reason should be looked at.
    WARNING = 1
    FAILED = 2
    UNKNOWN = -1


class MsgType(IntEnum):
    """MQMT_*: ``MQMD.msg_type``. Numbers are IBM's (cmqc.h); 65536..999999999 belong to applications."""

    REQUEST = 1
    REPLY = 2
    REPORT = 4
    DATAGRAM = 8
    MQE_FIELDS_FROM_MQE = 112
    MQE_FIELDS = 113
    SYSTEM_FIRST = 1
    SYSTEM_LAST = 65_535
    APPL_FIRST = 65_536
    APPL_LAST = 999_999_999


class Persistence(IntEnum):
    """MQPER_*: ``MQMD.persistence``. Numbers are IBM's (cmqc.h)."""

    PERSISTENCE_AS_PARENT = -1
    #: Need not survive a restart of the queue manager.
    NOT_PERSISTENT = 0
    PERSISTENT = 1
    #: DEFPSIST of the queue, or of the first definition in the resolution path, decides.
    PERSISTENCE_AS_Q_DEF = 2
    PERSISTENCE_AS_TOPIC_DEF = 2
    #: Shorter names for the same.
    AS_PARENT = -1
    AS_Q_DEF = 2
    AS_TOPIC_DEF = 2


@tested_as_integers
class MsgFlag(IntFlag):
    """MQMF_*: bits of ``MQMD.msg_flags``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x00
    SEGMENTATION_INHIBITED = 0x00
    SEGMENTATION_ALLOWED = 0x01
    SEGMENT = 0x02
    LAST_SEGMENT = 0x04
    MSG_IN_GROUP = 0x08
    LAST_MSG_IN_GROUP = 0x10


#: Unknown message flags within this mask are refused (2249).
MSG_FLAGS_REJECT_UNSUP_MASK: Final = 0x0000_0FFF
#: Unknown message flags within this mask are accepted on a transmission queue only.
MSG_FLAGS_ACCEPT_UNSUP_IF_XMIT_MASK: Final = 0x000F_F000
#: Unknown message flags within this mask are accepted.
MSG_FLAGS_ACCEPT_UNSUP_MASK: Final = 0xFFF0_0000


@tested_as_integers
class Report(IntFlag):
    """MQRO_*: bits of ``MQMD.report``. Numbers are IBM's (cmqc.h)."""

    NONE = 0x0000_0000
    NEW_MSG_ID = 0x0000_0000
    COPY_MSG_ID_TO_CORREL_ID = 0x0000_0000
    DEAD_LETTER_Q = 0x0000_0000
    PAN = 0x0000_0001
    NAN = 0x0000_0002
    ACTIVITY = 0x0000_0004
    PASS_CORREL_ID = 0x0000_0040
    PASS_MSG_ID = 0x0000_0080
    #: Confirmation of arrival. WITH_DATA carries the first 100 bytes of the message.
    COA = 0x0000_0100
    COA_WITH_DATA = 0x0000_0300
    COA_WITH_FULL_DATA = 0x0000_0700
    #: Confirmation of delivery.
    COD = 0x0000_0800
    COD_WITH_DATA = 0x0000_1800
    COD_WITH_FULL_DATA = 0x0000_3800
    PASS_DISCARD_AND_EXPIRY = 0x0000_4000
    EXPIRATION = 0x0020_0000
    EXPIRATION_WITH_DATA = 0x0060_0000
    EXPIRATION_WITH_FULL_DATA = 0x00E0_0000
    EXCEPTION = 0x0100_0000
    EXCEPTION_WITH_DATA = 0x0300_0000
    EXCEPTION_WITH_FULL_DATA = 0x0700_0000
    #: An undeliverable message is thrown away instead of going to the dead-letter queue.
    DISCARD_MSG = 0x0800_0000


#: Unknown report options within this mask are refused (2061).
REPORT_REJECT_UNSUP_MASK: Final = 0x101C_0000
#: Unknown report options within this mask are accepted on a transmission queue only.
REPORT_ACCEPT_UNSUP_IF_XMIT_MASK: Final = 0x0003_FF00
#: Unknown report options within this mask are accepted with a warning (2104).
REPORT_ACCEPT_UNSUP_MASK: Final = 0xEFE0_00FF


class Feedback(IntEnum):
    """MQFB_*: ``MQMD.feedback`` of a report. Numbers are IBM's (cmqc.h).

    An exception report carries the reason (MQRC) itself; 65536..999999999 belong to applications.
    """

    NONE = 0
    SYSTEM_FIRST = 1
    QUIT = 256
    EXPIRATION = 258
    COA = 259
    COD = 260
    CHANNEL_COMPLETED = 262
    CHANNEL_FAIL_RETRY = 263
    CHANNEL_FAIL = 264
    APPL_CANNOT_BE_STARTED = 265
    TM_ERROR = 266
    APPL_TYPE_ERROR = 267
    STOPPED_BY_MSG_EXIT = 268
    ACTIVITY = 269
    XMIT_Q_MSG_ERROR = 271
    PAN = 275
    NAN = 276
    STOPPED_BY_CHAD_EXIT = 277
    STOPPED_BY_PUBSUB_EXIT = 279
    NOT_A_REPOSITORY_MSG = 280
    BIND_OPEN_CLUSRCVR_DEL = 281
    MAX_ACTIVITIES = 282
    NOT_FORWARDED = 283
    NOT_DELIVERED = 284
    UNSUPPORTED_FORWARDING = 285
    UNSUPPORTED_DELIVERY = 286
    DATA_LENGTH_ZERO = 291
    DATA_LENGTH_NEGATIVE = 292
    DATA_LENGTH_TOO_BIG = 293
    BUFFER_OVERFLOW = 294
    LENGTH_OFF_BY_ONE = 295
    NOT_A_GROUPUR_MSG = 505
    SYSTEM_LAST = 65_535
    APPL_FIRST = 65_536
    APPL_LAST = 999_999_999


@tested_as_integers
class Encoding(IntFlag):
    """MQENC_*: ``MQMD.encoding``, how numbers in the data are written. Numbers are IBM's (cmqc.h)."""

    INTEGER_UNDEFINED = 0x000
    INTEGER_NORMAL = 0x001
    INTEGER_REVERSED = 0x002
    DECIMAL_NORMAL = 0x010
    DECIMAL_REVERSED = 0x020
    FLOAT_IEEE_NORMAL = 0x100
    FLOAT_IEEE_REVERSED = 0x200
    FLOAT_S390 = 0x300
    FLOAT_TNS = 0x400
    NORMAL = 0x111
    #: IBM's MQENC_NATIVE on little-endian machines.
    REVERSED = 0x222
    NATIVE = 0x222
    S390 = 0x311
    TNS = 0x411


class CharSet(IntEnum):
    """MQCCSI_*: special values of ``MQMD.coded_char_set_id``. Numbers are IBM's (cmqc.h)."""

    Q_MGR = 0
    DEFAULT = 0
    UNDEFINED = 0
    EMBEDDED = -1
    INHERIT = -2
    APPL = -3
    AS_PUBLISHED = -4


class ApplType(IntEnum):
    """MQAT_*: ``MQMD.put_appl_type``. Numbers are IBM's (cmqc.h); 65536..999999999 belong to applications."""

    UNKNOWN = -1
    NO_CONTEXT = 0
    CICS = 1
    ZOS = 2
    MVS = 2
    OS390 = 2
    IMS = 3
    OS2 = 4
    DOS = 5
    UNIX = 6
    AIX = 6
    QMGR = 7
    OS400 = 8
    WINDOWS = 9
    CICS_VSE = 10
    WINDOWS_NT = 11
    VMS = 12
    NSK = 13
    GUARDIAN = 13
    VOS = 14
    OPEN_TP1 = 15
    VM = 18
    IMS_BRIDGE = 19
    XCF = 20
    CICS_BRIDGE = 21
    NOTES_AGENT = 22
    TPF = 23
    USER = 25
    BROKER = 26
    QMGR_PUBLISH = 26
    JAVA = 28
    DQM = 29
    CHANNEL_INITIATOR = 30
    WLM = 31
    BATCH = 32
    RRS_BATCH = 33
    SIB = 34
    SYSTEM_EXTENSION = 35
    MCAST_PUBLISH = 36
    AMQP = 37
    USER_FIRST = 65_536
    USER_LAST = 999_999_999


class GroupStatus:
    """MQGS_*: ``MQGMO.group_status``, one character (cmqc.h)."""

    NOT_IN_GROUP: Final = b" "
    MSG_IN_GROUP: Final = b"G"
    LAST_MSG_IN_GROUP: Final = b"L"


class SegmentStatus:
    """MQSS_*: ``MQGMO.segment_status``, one character (cmqc.h)."""

    NOT_A_SEGMENT: Final = b" "
    SEGMENT: Final = b"S"
    LAST_SEGMENT: Final = b"L"


class Segmentation:
    """MQSEG_*: ``MQGMO.segmentation``, one character (cmqc.h)."""

    INHIBITED: Final = b" "
    ALLOWED: Final = b"A"


class Format:
    """MQFMT_*: ``MQMD.format``, without the trailing blanks (cmqc.h)."""

    NONE: Final = b""
    ADMIN: Final = b"MQADMIN"
    AMQP: Final = b"MQAMQP"
    CHANNEL_COMPLETED: Final = b"MQCHCOM"
    CICS: Final = b"MQCICS"
    COMMAND_1: Final = b"MQCMD1"
    COMMAND_2: Final = b"MQCMD2"
    DEAD_LETTER_HEADER: Final = b"MQDEAD"
    DIST_HEADER: Final = b"MQHDIST"
    EMBEDDED_PCF: Final = b"MQHEPCF"
    EVENT: Final = b"MQEVENT"
    IMS: Final = b"MQIMS"
    IMS_VAR_STRING: Final = b"MQIMSVS"
    MD_EXTENSION: Final = b"MQHMDE"
    PCF: Final = b"MQPCF"
    REF_MSG_HEADER: Final = b"MQHREF"
    RF_HEADER: Final = b"MQHRF"
    RF_HEADER_1: Final = b"MQHRF"
    RF_HEADER_2: Final = b"MQHRF2"
    STRING: Final = b"MQSTR"
    TRIGGER: Final = b"MQTRIG"
    WORK_INFO_HEADER: Final = b"MQHWIH"
    XMIT_Q_HEADER: Final = b"MQXMIT"


#: Reports that need a ReplyToQ.
REPORTS_WANTED = int(
    Report.EXCEPTION | Report.EXPIRATION | Report.COA | Report.COD | Report.PAN | Report.NAN | Report.ACTIVITY
)


#: Report options that have no name. (A Flag counts only those of one bit among its members when it is iterated.)
UNKNOWN_REPORTS = ~reduce(or_, map(int, Report.__members__.values()))
