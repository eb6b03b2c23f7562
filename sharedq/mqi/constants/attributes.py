"""Values of attributes: of queues, queue managers, the group's members and coupling facility structures."""

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


class QueueType(IntEnum):
    """MQQT_*: the attribute QTYPE. Numbers are IBM's (cmqc.h)."""

    LOCAL = 1
    MODEL = 2
    ALIAS = 3
    REMOTE = 6
    CLUSTER = 7
    ALL = 1001


class QSGDisposition(IntEnum):
    """MQQSGD_*: where a definition lives and who sees it (QSGDISP). Numbers are IBM's (cmqc.h)."""

    ALL = -1
    Q_MGR = 0
    #: A queue manager's own copy of a GROUP definition.
    COPY = 1
    SHARED = 2
    #: A template in the shared repository.
    GROUP = 3
    #: Filter of DISPLAY: Q_MGR and COPY.
    PRIVATE = 4
    #: Filter of DISPLAY: all but GROUP.
    LIVE = 6


class Usage(IntEnum):
    """MQUS_*: the attribute USAGE. Numbers are IBM's (cmqc.h)."""

    NORMAL = 0
    TRANSMISSION = 1


class DeliverySequence(IntEnum):
    """MQMDS_*: the attribute MSGDLVSQ. Numbers are IBM's (cmqc.h)."""

    #: First in, first out within a priority.
    PRIORITY = 0
    #: First in, first out; arrivals are placed as if they had the queue's DEFPRTY.
    FIFO = 1


class IndexType(IntEnum):
    """MQIT_*: the attribute INDXTYPE. Numbers are IBM's (cmqc.h)."""

    NONE = 0
    MSG_ID = 1
    CORREL_ID = 2
    MSG_TOKEN = 4
    GROUP_ID = 5


class DefinitionType(IntEnum):
    """MQQDT_*: the attribute DEFTYPE. Numbers are IBM's (cmqc.h)."""

    PREDEFINED = 1
    PERMANENT_DYNAMIC = 2
    TEMPORARY_DYNAMIC = 3
    SHARED_DYNAMIC = 4


class DefaultBind(IntEnum):
    """MQBND_*: the attribute DEFBIND. Numbers are IBM's (cmqc.h)."""

    BIND_ON_OPEN = 0
    BIND_NOT_FIXED = 1
    BIND_ON_GROUP = 2


class PutResponse(IntEnum):
    """MQPRT_*: the attribute DEFPRESP. Numbers are IBM's (cmqc.h)."""

    RESPONSE_AS_PARENT = 0
    SYNC_RESPONSE = 1
    ASYNC_RESPONSE = 2


class ReadAhead(IntEnum):
    """MQREADA_*: the attribute DEFREADA. Numbers are IBM's (cmqc.h)."""

    NO = 0
    YES = 1
    DISABLED = 2
    INHIBITED = 3
    BACKLOG = 4


class QueueAttribute(IntEnum):
    """MQQA_*: values of GET, PUT, SHARE and HARDENBO. Numbers are IBM's (cmqc.h)."""

    GET_ALLOWED = 0
    GET_INHIBITED = 1
    PUT_ALLOWED = 0
    PUT_INHIBITED = 1
    NOT_SHAREABLE = 0
    SHAREABLE = 1
    BACKOUT_NOT_HARDENED = 0
    BACKOUT_HARDENED = 1


class TriggerControl(IntEnum):
    """MQTC_*: TRIGGER or NOTRIGGER. Numbers are IBM's (cmqc.h)."""

    OFF = 0
    ON = 1


class TriggerType(IntEnum):
    """MQTT_*: the attribute TRIGTYPE. Numbers are IBM's (cmqc.h)."""

    NONE = 0
    FIRST = 1
    EVERY = 2
    DEPTH = 3


class EventRule(IntEnum):
    """MQEVR_*: whether an event is generated. Numbers are IBM's (cmqc.h)."""

    DISABLED = 0
    ENABLED = 1
    EXCEPTION = 2
    NO_DISPLAY = 3
    API_ONLY = 4
    ADMIN_ONLY = 5
    USER_ONLY = 6


class ServiceIntervalEvent(IntEnum):
    """MQQSIE_*: the attribute QSVCIEV. Numbers are IBM's (cmqcfc.h)."""

    NONE = 0
    HIGH = 1
    OK = 2


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


class SyncpointSupport(IntEnum):
    """MQSP_*: the attribute SYNCPT. Numbers are IBM's (cmqc.h)."""

    NOT_AVAILABLE = 0
    AVAILABLE = 1


class Platform(IntEnum):
    """MQPL_*: the attribute PLATFORM; of IBM's values those that a queue-sharing group can meet (cmqc.h)."""

    ZOS = 1
    UNIX = 3
    WINDOWS_NT = 11
    APPLIANCE = 28


class IntraGroupQueuing(IntEnum):
    """MQIGQ_*: whether messages *leave* the queue manager by this way. Numbers are IBM's (cmqc.h)."""

    DISABLED = 0
    ENABLED = 1


class IGQPutAuthority(IntEnum):
    """MQIGQPA_*: the attribute IGQAUT. Numbers are IBM's (cmqc.h)."""

    DEFAULT = 1
    CONTEXT = 2
    ONLY_IGQ = 3
    ALTERNATE_OR_IGQ = 4


class SharedQQMgrName(IntEnum):
    """MQSQQM_*: the attribute SQQMNAME. Numbers are IBM's (cmqc.h)."""

    USE = 0
    #: A shared queue named through another member is opened here at once.
    IGNORE = 1


class GroupUnitOfRecovery(IntEnum):
    """MQGUR_*: the attribute GROUPUR. Numbers are IBM's (cmqcfc.h)."""

    DISABLED = 0
    ENABLED = 1


class QueueManagerStatus(IntEnum):
    """MQQMSTA_*: a queue manager's state. Numbers are IBM's (cmqcfc.h)."""

    STARTING = 1
    RUNNING = 2
    QUIESCING = 3
    STANDBY = 4


class MemberStatus(IntEnum):
    """MQQSGS_*: a queue manager's state in its group. Numbers are IBM's (cmqcfc.h)."""

    UNKNOWN = 0
    CREATED = 1
    ACTIVE = 2
    INACTIVE = 3
    FAILED = 4
    PENDING = 5


class UnitOfWorkState(IntEnum):
    """MQUOWST_*: state of a unit of work. Numbers are IBM's (cmqcfc.h)."""

    NONE = 0
    ACTIVE = 1
    PREPARED = 2
    UNRESOLVED = 3


class UnitOfWorkType(IntEnum):
    """MQUOWT_*: who coordinates a unit of work. Numbers are IBM's (cmqcfc.h)."""

    Q_MGR = 0
    CICS = 1
    RRS = 2
    IMS = 3
    XA = 4


class StructureType(IntEnum):
    """MQCFTYPE_*: what a structure is for. Numbers are IBM's (cmqcfc.h)."""

    APPL = 0
    ADMIN = 1


class CfStatus(IntEnum):
    """MQCFSTATUS_*: state of a structure. Numbers are IBM's (cmqcfc.h)."""

    NOT_FOUND = 0
    ACTIVE = 1
    IN_RECOVER = 2
    IN_BACKUP = 3
    FAILED = 4
    NONE = 5
    UNKNOWN = 6
    RECOVERED = 7
    EMPTY = 8
    NEW = 9
    ADMIN_INCOMPLETE = 20
    NEVER_USED = 21
    NO_BACKUP = 22
    NOT_FAILED = 23
    NOT_RECOVERABLE = 24
    XES_ERROR = 25


class StructureRecover(IntEnum):
    """MQCFR_*: the attribute RECOVER. Numbers are IBM's (cmqc.h)."""

    NO = 0
    YES = 1


class StructureRecoverAuto(IntEnum):
    """MQRECAUTO_*: the attribute RECAUTO. Numbers are IBM's (cmqc.h)."""

    NO = 0
    YES = 1


class StructureConnectionLoss(IntEnum):
    """MQCFCONLOS_*: the attribute CFCONLOS. Numbers are IBM's (cmqc.h)."""

    TERMINATE = 0
    TOLERATE = 1
    ASQMGR = 2


class StructureOffload(IntEnum):
    """MQCFOFFLD_*: the attribute OFFLOAD. Numbers are IBM's (cmqc.h)."""

    NONE = 0
    SMDS = 1
    DB2 = 2
    BOTH = 3
