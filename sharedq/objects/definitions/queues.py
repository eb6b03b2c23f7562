"""Definitions of queues: local, alias, remote and model, with every attribute stated once. Pure.

Defaults are those of z/OS, except that queues are shareable and opened shared by default. An attribute with the words
``instead`` is kept and shown, and nothing acts on it (`inert_attributes.py`).

Source: IBM MQ reference, "DEFINE QLOCAL", "Attributes for queues".
"""

# Without the annotations of __future__: pydantic evaluates such texts one by one, a third of the time of an import.

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.limits import UNLIMITED_EXPIRY
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Date, Description, ObjectDefinition, Time, parse_definition
from sharedq.objects.definitions.names import (
    SYSTEM_QSG_TRANSMIT_QUEUE,
    check_names,
    check_object_name,
    check_optional_name,
    check_optional_structure,
)

NO_DEPTH_LIMIT = 999_999_999
MAX_MSG_LENGTH_LIMIT = 104_857_600

Name = Annotated[str, AfterValidator(check_object_name)]
OptionalName = Annotated[str, AfterValidator(check_optional_name)]
OptionalStructure = Annotated[str, AfterValidator(check_optional_structure)]
Disposition = Literal["QMGR", "COPY", "SHARED", "GROUP"]
Allowed = Literal["ENABLED", "DISABLED"]
YesNo = Literal["NO", "YES"]
Event = Literal["DISABLED", "ENABLED"]
Monitoring = Literal["QMGR", "OFF", "LOW", "MEDIUM", "HIGH"]
Statistics = Literal["QMGR", "OFF", "ON"]
Percent = Annotated[int, Field(ge=0, le=100)]
Large = Annotated[int, Field(ge=0, le=999_999_999)]
Priority = Annotated[int, Field(ge=0, le=9)]
PropertyControl = Annotated[
    Literal["COMPAT", "NONE", "ALL", "FORCE", "V6COMPAT"],
    Mqsc("PROPCTL", Int.PROPERTY_CONTROL, words.PROPERTY_CONTROL),
]
ReadAhead = Annotated[
    Literal["NO", "YES", "DISABLED"],
    Mqsc(
        "DEFREADA",
        Int.DEF_READ_AHEAD,
        words.READ_AHEAD,
        instead="messages are never read ahead",
        done=("DISABLED",),
    ),
]
Custom = Annotated[str, Field(max_length=128)]
NO_CUSTOM = "nothing acts on it"
NO_STATISTICS, NO_ACCOUNTING = "no statistics messages are written", "no accounting messages are written"
NO_IMAGES = "there is no log with media images; see BACKUP CFSTRUCT"
_CLUSTERS = "there are no clusters"
_NO_CELLS = "a queue is known to its manager, or to the group"
_NO_LISTS = "messages for distribution lists are put one by one"
_ALL_KEPT = "Redis keeps every message alike"
_NO_STREAMS = "messages are not duplicated to another queue"


def check_cap(tenths: int) -> int:
    """Return a CAPEXPRY. Raises ValueError: 0, by which no message would be left."""
    if tenths == 0:
        raise ValueError("a number from 1 to 999999999, or NOLIMIT expected")
    return tenths


class Definition(ObjectDefinition):
    """The common part of all queues: name, defaults for puts, whether puts are allowed."""

    dates: ClassVar[frozenset[str]] = ObjectDefinition.dates | {"creation_date", "creation_time"}

    name: Annotated[Name, Mqsc("QUEUE", Char.Q_NAME, is_output=True, length=48)]
    description: Annotated[Description, Mqsc("DESCR", Char.Q_DESC, length=64)] = ""
    disposition: Annotated[Disposition, Mqsc("QSGDISP", Int.QSG_DISP, words.DISPOSITION, is_output=True)] = "QMGR"
    creation_date: Annotated[Date, Mqsc("CRDATE", Char.CREATION_DATE, is_output=True, length=12)] = ""
    creation_time: Annotated[Time, Mqsc("CRTIME", Char.CREATION_TIME, is_output=True, length=8)] = ""
    put: Annotated[Allowed, Mqsc("PUT", Int.INHIBIT_PUT, words.ALLOWED)] = "ENABLED"
    def_priority: Annotated[Priority, Mqsc("DEFPRTY", Int.DEF_PRIORITY)] = 0
    def_persistence: Annotated[YesNo, Mqsc("DEFPSIST", Int.DEF_PERSISTENCE, words.YES)] = "NO"
    def_put_response: Annotated[
        Literal["SYNC", "ASYNC"],
        Mqsc("DEFPRESP", Int.DEF_PUT_RESPONSE_TYPE, words.PUT_RESPONSE),
    ] = "SYNC"
    def_bind: Annotated[
        Literal["OPEN", "NOTFIXED", "GROUP"], Mqsc("DEFBIND", Int.DEF_BIND, words.BIND, instead=_CLUSTERS)
    ] = "OPEN"
    cap_expiry: Annotated[
        int,
        Field(ge=-1, le=999_999_999),
        AfterValidator(check_cap),
        Mqsc("CAPEXPRY", Int.CAP_EXPIRY, words.NO_LIMIT),
    ] = UNLIMITED_EXPIRY
    custom: Annotated[Custom, Mqsc("CUSTOM", Char.CUSTOM, length=128, instead=NO_CUSTOM)] = ""

    def created_at(self, now: datetime) -> Self:
        """Return this definition, created and altered at *now*."""
        altered = self.altered_at(now)
        return altered.model_copy(
            update={"creation_date": altered.alteration_date, "creation_time": altered.alteration_time}
        )


class _Clustered(Definition):
    """The common part of queues that a cluster could have."""

    cluster: Annotated[OptionalName, Mqsc("CLUSTER", Char.CLUSTER_NAME, length=48, instead=_CLUSTERS)] = ""
    cluster_namelist: Annotated[OptionalName, Mqsc("CLUSNL", Char.CLUSTER_NAMELIST, length=48, instead=_CLUSTERS)] = ""
    cluster_priority: Annotated[Priority, Mqsc("CLWLPRTY", Int.CLWL_Q_PRIORITY, instead=_CLUSTERS)] = 0
    cluster_rank: Annotated[Priority, Mqsc("CLWLRANK", Int.CLWL_Q_RANK, instead=_CLUSTERS)] = 0
    cell_scope: Annotated[Literal["QMGR", "CELL"], Mqsc("SCOPE", Int.SCOPE, words.SCOPE, instead=_NO_CELLS)] = "QMGR"


class _Stored(Definition):
    """The common part of local queues and their models."""

    get: Annotated[Allowed, Mqsc("GET", Int.INHIBIT_GET, words.ALLOWED)] = "ENABLED"
    structure: Annotated[OptionalStructure, Mqsc("CFSTRUCT", Char.CF_STRUC_NAME, length=12)] = ""
    max_depth: Annotated[Large, Mqsc("MAXDEPTH", Int.MAX_Q_DEPTH)] = NO_DEPTH_LIMIT
    max_msg_length: Annotated[int, Field(ge=0, le=MAX_MSG_LENGTH_LIMIT), Mqsc("MAXMSGL", Int.MAX_MSG_LENGTH)] = (
        4_194_304
    )
    msg_delivery_sequence: Annotated[
        Literal["PRIORITY", "FIFO"], Mqsc("MSGDLVSQ", Int.MSG_DELIVERY_SEQUENCE, words.DELIVERY)
    ] = "PRIORITY"
    shareability: Annotated[Literal["SHARE", "NOSHARE"], Mqsc("SHARE", Int.SHAREABILITY, words.SHARE, is_bare=True)] = (
        "SHARE"
    )
    def_input_open_option: Annotated[
        Literal["SHARED", "EXCL"], Mqsc("DEFSOPT", Int.DEF_INPUT_OPEN_OPTION, words.INPUT_OPEN)
    ] = "SHARED"
    index_type: Annotated[
        Literal["NONE", "MSGID", "CORRELID", "MSGTOKEN", "GROUPID"],
        Mqsc("INDXTYPE", Int.INDEX_TYPE, words.INDEX),
    ] = "NONE"
    usage: Annotated[Literal["NORMAL", "XMITQ"], Mqsc("USAGE", Int.USAGE, words.USAGE)] = "NORMAL"
    harden_get_backout: Annotated[
        Literal["HARDENBO", "NOHARDENBO"],
        Mqsc("HARDENBO", Int.HARDEN_GET_BACKOUT, words.HARDEN, is_bare=True),
    ] = "NOHARDENBO"
    backout_threshold: Annotated[Large, Mqsc("BOTHRESH", Int.BACKOUT_THRESHOLD)] = 0
    backout_requeue_q_name: Annotated[OptionalName, Mqsc("BOQNAME", Char.BACKOUT_REQ_Q_NAME, length=48)] = ""
    trigger_control: Annotated[
        Literal["TRIGGER", "NOTRIGGER"], Mqsc("TRIGGER", Int.TRIGGER_CONTROL, words.TRIGGER, is_bare=True)
    ] = "NOTRIGGER"
    trigger_type: Annotated[
        Literal["FIRST", "EVERY", "DEPTH", "NONE"], Mqsc("TRIGTYPE", Int.TRIGGER_TYPE, words.TRIGGER_TYPE)
    ] = "FIRST"
    trigger_depth: Annotated[int, Field(ge=1, le=999_999_999), Mqsc("TRIGDPTH", Int.TRIGGER_DEPTH)] = 1
    trigger_msg_priority: Annotated[Priority, Mqsc("TRIGMPRI", Int.TRIGGER_MSG_PRIORITY)] = 0
    trigger_data: Annotated[str, Field(max_length=64), Mqsc("TRIGDATA", Char.TRIGGER_DATA, length=64)] = ""
    initiation_q_name: Annotated[OptionalName, Mqsc("INITQ", Char.INITIATION_Q_NAME, length=48)] = ""
    process_name: Annotated[OptionalName, Mqsc("PROCESS", Char.PROCESS_NAME, length=48)] = ""
    depth_high_limit: Annotated[Percent, Mqsc("QDEPTHHI", Int.Q_DEPTH_HIGH_LIMIT)] = 80
    depth_low_limit: Annotated[Percent, Mqsc("QDEPTHLO", Int.Q_DEPTH_LOW_LIMIT)] = 40
    depth_max_event: Annotated[Event, Mqsc("QDPMAXEV", Int.Q_DEPTH_MAX_EVENT, words.EVENT)] = "ENABLED"
    depth_high_event: Annotated[Event, Mqsc("QDPHIEV", Int.Q_DEPTH_HIGH_EVENT, words.EVENT)] = "DISABLED"
    depth_low_event: Annotated[Event, Mqsc("QDPLOEV", Int.Q_DEPTH_LOW_EVENT, words.EVENT)] = "DISABLED"
    service_interval_ms: Annotated[Large, Mqsc("QSVCINT", Int.Q_SERVICE_INTERVAL)] = 999_999_999
    service_interval_event: Annotated[
        Literal["NONE", "HIGH", "OK"],
        Mqsc("QSVCIEV", Int.Q_SERVICE_INTERVAL_EVENT, words.SERVICE_INTERVAL_EVENT),
    ] = "NONE"
    retention_interval_hours: Annotated[Large, Mqsc("RETINTVL", Int.RETENTION_INTERVAL)] = 999_999_999
    def_read_ahead: ReadAhead = "NO"
    property_control: PropertyControl = "COMPAT"
    monitoring: Annotated[Monitoring, Mqsc("MONQ", Int.MONITORING_Q, words.MONITORING)] = "QMGR"
    statistics: Annotated[
        Statistics, Mqsc("STATQ", Int.STATISTICS_Q, words.STATISTICS, instead=NO_STATISTICS, done=("OFF",))
    ] = "QMGR"
    accounting: Annotated[
        Statistics, Mqsc("ACCTQ", Int.ACCOUNTING_Q, words.STATISTICS, instead=NO_ACCOUNTING, done=("OFF",))
    ] = "QMGR"
    storage_class: Annotated[
        str,
        Field(
            pattern=r"^([A-Z$#@][A-Z0-9$#@]{0,7}|[0-9]{1,8})$",
            description="1 to 8 of A-Z 0-9 $ # @, the first no digit; or digits",
        ),
        Mqsc("STGCLASS", Char.STORAGE_CLASS, length=8, instead="messages are in Redis; there are no page sets"),
    ] = "DEFAULT"
    distribution_lists: Annotated[YesNo, Mqsc("DISTL", Int.DIST_LISTS, words.YES, instead=_NO_LISTS)] = "NO"
    non_persistent_class: Annotated[
        Literal["NORMAL", "HIGH"], Mqsc("NPMCLASS", Int.NPM_CLASS, words.NON_PERSISTENT_CLASS, instead=_ALL_KEPT)
    ] = "NORMAL"
    image_recovery: Annotated[
        Literal["YES", "NO", "QMGR"],
        Mqsc("IMGRCOVQ", Int.MEDIA_IMAGE_RECOVER_Q, words.IMAGE_RECOVERY, instead=NO_IMAGES),
    ] = "QMGR"
    max_file_size_mb: Annotated[
        int,
        Field(ge=-1, le=267_386_880),
        Mqsc("MAXFSIZE", Int.MAX_Q_FILE_SIZE, words.FILE_SIZE, instead="a queue has no file"),
    ] = -1
    stream_queue: Annotated[OptionalName, Mqsc("STREAMQ", Char.STREAM_QUEUE_NAME, length=48, instead=_NO_STREAMS)] = ""
    stream_quality: Annotated[
        Literal["BESTEF", "MUSTDUP"],
        Mqsc("STRMQOS", Int.STREAM_QUEUE_QOS, words.STREAM_QUALITY, instead=_NO_STREAMS),
    ] = "BESTEF"


class QueueLocal(_Stored, _Clustered):
    """A local queue: shared (in an application structure) or private (in its manager's own)."""

    kind: ClassVar[str] = "QLOCAL"

    definition_type: Annotated[
        Literal["PREDEFINED", "PERMDYN", "TEMPDYN", "SHAREDYN"],
        Mqsc("DEFTYPE", Int.DEFINITION_TYPE, words.DEFINITION_TYPE, is_output=True),
    ] = "PREDEFINED"
    cluster_channel: Annotated[
        str, Field(max_length=20), Mqsc("CLCHNAME", Char.CLUS_CHL_NAME, length=20, instead=_CLUSTERS)
    ] = ""
    cluster_use: Annotated[
        Literal["QMGR", "ANY", "LOCAL"], Mqsc("CLWLUSEQ", Int.CLWL_USEQ, words.CLUSTER_USE, instead=_CLUSTERS)
    ] = "QMGR"

    @model_validator(mode="after")
    def _fits_its_disposition(self) -> Self:
        if self.disposition == "SHARED" and not self.structure:
            raise ValueError("QSGDISP(SHARED): CFSTRUCT must be given, it has no default")
        if self.disposition != "SHARED" and self.structure:
            raise ValueError(f"CFSTRUCT({self.structure}): only a QSGDISP(SHARED) queue has one")
        if self.name == SYSTEM_QSG_TRANSMIT_QUEUE and (self.disposition, self.usage) != ("SHARED", "XMITQ"):
            raise ValueError(f"{SYSTEM_QSG_TRANSMIT_QUEUE} must be QSGDISP(SHARED) and USAGE(XMITQ)")
        return self

    @property
    def is_triggered(self) -> bool:
        """Whether trigger messages are written for it."""
        is_on = self.trigger_control == "TRIGGER" and self.trigger_type != "NONE"
        return is_on and self.initiation_q_name != ""

    def monitoring_level(self, of_manager: str) -> str:
        """Return the level at which the queue is monitored: OFF, LOW, MEDIUM or HIGH.

        Args:
            of_manager: MONQ of the manager that it is asked at.
        """
        if of_manager == "NONE":
            return "OFF"
        return of_manager if self.monitoring == "QMGR" else self.monitoring


class QueueModel(_Stored):
    """A model, from which dynamic queues are made."""

    kind: ClassVar[str] = "QMODEL"

    definition_type: Annotated[
        Literal["PERMDYN", "TEMPDYN", "SHAREDYN"], Mqsc("DEFTYPE", Int.DEFINITION_TYPE, words.DEFINITION_TYPE)
    ] = "TEMPDYN"

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.disposition == "SHARED":
            raise ValueError("QSGDISP(SHARED): only local queues can be shared; see DEFTYPE(SHAREDYN)")
        if (self.definition_type == "SHAREDYN") != bool(self.structure):
            raise ValueError("DEFTYPE(SHAREDYN) and CFSTRUCT go together")
        return self

    def local_queue(self, name: str) -> QueueLocal:
        """Make the dynamic queue *name* from this model (MQOPEN of a model queue).

        Raises:
            ValueError: *name* is not a queue name.
        """
        is_shared = self.definition_type == "SHAREDYN"
        values = self.model_dump() | {"name": name, "disposition": "SHARED" if is_shared else "QMGR"}
        return parse_definition(QueueLocal, values)


class QueueAlias(_Clustered):
    """Another name for a queue or a topic; with ``spread``, for several local queues that share the messages."""

    kind: ClassVar[str] = "QALIAS"

    get: Annotated[Allowed, Mqsc("GET", Int.INHIBIT_GET, words.ALLOWED)] = "ENABLED"
    target: Annotated[OptionalName, Mqsc("TARGET", Char.BASE_OBJECT_NAME, length=48)] = ""
    #: IBM MQ has no such attribute. There, several instances of a cluster queue share the messages.
    spread: Annotated[str, AfterValidator(check_names), Mqsc("SPREAD", Char.USER_LIST, length=48, is_list=True)] = ""
    def_bind: Annotated[Literal["OPEN", "NOTFIXED", "GROUP"], Mqsc("DEFBIND", Int.DEF_BIND, words.BIND)] = "OPEN"
    target_type: Annotated[
        Literal["QUEUE", "TOPIC"],
        Mqsc("TARGTYPE", Int.BASE_TYPE, words.TARGET_TYPE),
    ] = "QUEUE"
    def_read_ahead: ReadAhead = "NO"
    property_control: PropertyControl = "COMPAT"

    @model_validator(mode="after")
    def _is_not_shared(self) -> "QueueAlias":
        return _not_shared(self)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of its queues, in their order."""
        return (self.target, *(self.spread.split(",") if self.spread else ()))

    @model_validator(mode="after")
    def _is_spread_over_queues(self) -> Self:
        if self.spread and (not self.target or len(set(self.targets)) < len(self.targets)):
            raise ValueError("SPREAD names further queues than TARGET, each once")
        if self.spread and self.target_type != "QUEUE":
            raise ValueError("SPREAD needs TARGTYPE(QUEUE)")
        return self


class QueueRemote(_Clustered):
    """The local name of a queue at another manager or, with a blank ``remote_queue``, of a manager."""

    kind: ClassVar[str] = "QREMOTE"

    remote_queue: Annotated[OptionalName, Mqsc("RNAME", Char.REMOTE_Q_NAME, length=48)] = ""
    remote_qmgr: Annotated[OptionalName, Mqsc("RQMNAME", Char.REMOTE_Q_MGR_NAME, length=48)] = ""
    transmission_queue: Annotated[OptionalName, Mqsc("XMITQ", Char.XMIT_Q_NAME, length=48)] = ""

    @model_validator(mode="after")
    def _is_not_shared(self) -> "QueueRemote":
        return _not_shared(self)


_Q = TypeVar("_Q", QueueAlias, QueueRemote)

AnyQueue = QueueLocal | QueueModel | QueueAlias | QueueRemote

#: MQSC's word -> the kind of queue.
QUEUE_KINDS: dict[str, type[AnyQueue]] = {kind.kind: kind for kind in (QueueLocal, QueueModel, QueueAlias, QueueRemote)}


def _not_shared(definition: _Q) -> _Q:
    if definition.disposition == "SHARED":
        raise ValueError("QSGDISP(SHARED): only a local queue can be shared; use QSGDISP(GROUP)")
    return definition
