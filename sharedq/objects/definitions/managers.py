"""Definitions of the queue manager and of application structures. Pure.

Attributes about channels, clusters and what else igq does not have are in `channels.py`.

Source: IBM MQ reference, "ALTER QMGR", "DEFINE CFSTRUCT".
"""

# Without the annotations of __future__: pydantic evaluates such texts one by one, a third of the time of an import.

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Description, ObjectDefinition
from sharedq.objects.definitions.channels import ChannelAttributes
from sharedq.objects.definitions.names import check_structure_name
from sharedq.objects.definitions.queues import (
    MAX_MSG_LENGTH_LIMIT,
    NO_ACCOUNTING,
    NO_STATISTICS,
    Event,
    Large,
    Name,
    OptionalName,
    Percent,
    YesNo,
)

#: CFLEVEL of a structure that holds persistent messages, groups and large messages.
CF_LEVEL_MAX = 5


#: The lowest level of a structure that takes persistent messages.
_CF_LEVEL_RECOVERABLE = 3
_Size = Annotated[str, Field(pattern=r"^([0-9]|[1-5][0-9]|6[0-4])K$", description="0K to 64K")]
_NO_OFFLOAD = "bodies of messages are in Redis, whatever their length"
_TOLERATES = "a manager that loses Redis goes on when Redis answers again"


class CFStruct(ObjectDefinition):
    """An application structure, which holds shared queues."""

    kind: ClassVar[str] = "CFSTRUCT"

    name: Annotated[
        str,
        AfterValidator(check_structure_name),
        Mqsc("CFSTRUCT", Char.CF_STRUC_NAME, is_output=True, length=12),
    ]
    description: Annotated[Description, Mqsc("DESCR", Char.CF_STRUC_DESC, length=64)] = ""
    cf_level: Annotated[int, Field(ge=1, le=CF_LEVEL_MAX), Mqsc("CFLEVEL", Int.CF_LEVEL)] = CF_LEVEL_MAX
    recover: Annotated[YesNo, Mqsc("RECOVER", Int.CF_RECOVER, words.YES)] = "NO"
    offload: Annotated[
        Literal["NONE", "SMDS", "DB2", "BOTH"],
        Mqsc("OFFLOAD", Int.CF_OFFLOAD, words.OFFLOAD, instead=_NO_OFFLOAD),
    ] = "NONE"
    threshold_1: Annotated[Percent, Mqsc("OFFLD1TH", Int.CF_OFFLOAD_THRESHOLD1, instead=_NO_OFFLOAD)] = 70
    threshold_2: Annotated[Percent, Mqsc("OFFLD2TH", Int.CF_OFFLOAD_THRESHOLD2, instead=_NO_OFFLOAD)] = 80
    threshold_3: Annotated[Percent, Mqsc("OFFLD3TH", Int.CF_OFFLOAD_THRESHOLD3, instead=_NO_OFFLOAD)] = 90
    size_1: Annotated[_Size, Mqsc("OFFLD1SZ", Param.CF_OFFLOAD_SIZE1, length=3, instead=_NO_OFFLOAD)] = "32K"
    size_2: Annotated[_Size, Mqsc("OFFLD2SZ", Param.CF_OFFLOAD_SIZE2, length=3, instead=_NO_OFFLOAD)] = "4K"
    size_3: Annotated[_Size, Mqsc("OFFLD3SZ", Param.CF_OFFLOAD_SIZE3, length=3, instead=_NO_OFFLOAD)] = "0K"
    data_set_name: Annotated[
        str, Field(max_length=44), Mqsc("DSGROUP", Param.CF_SMDS_GENERIC_NAME, length=44, instead=_NO_OFFLOAD)
    ] = ""
    data_set_block: Annotated[
        Literal["8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M"],
        Mqsc("DSBLOCK", Param.CF_SMDS_BLOCK_SIZE, words.BLOCK, instead=_NO_OFFLOAD),
    ] = "256K"
    data_set_buffers: Annotated[
        int, Field(ge=1, le=9_999), Mqsc("DSBUFS", Int.CF_SMDS_BUFFERS, instead=_NO_OFFLOAD)
    ] = 100
    data_set_expands: Annotated[YesNo, Mqsc("DSEXPAND", Param.CF_SMDS_EXPAND, words.EXPANDS, instead=_NO_OFFLOAD)] = (
        "YES"
    )
    connection_loss: Annotated[
        Literal["ASQMGR", "TOLERATE", "TERMINATE"],
        Mqsc(
            "CFCONLOS",
            Int.CF_CFCONLOS,
            words.STRUCTURE_CONNECTION_LOSS,
            instead=_TOLERATES,
            done=("TOLERATE",),
        ),
    ] = "ASQMGR"
    recover_automatically: Annotated[
        YesNo,
        Mqsc(
            "RECAUTO",
            Int.CF_RECAUTO,
            words.YES,
            instead="a failed structure is recovered by RECOVER CFSTRUCT",
            done=("NO",),
        ),
    ] = "YES"

    @property
    def is_recoverable(self) -> bool:
        """Whether it can be backed up and recovered."""
        return self.recover == "YES" and self.cf_level >= _CF_LEVEL_RECOVERABLE


class QueueManagerAttributes(ChannelAttributes):
    """The attributes of one queue manager."""

    kind: ClassVar[str] = "QMGR"

    name: Annotated[Name, Mqsc("QMNAME", Char.Q_MGR_NAME, is_output=True, length=48)]
    qsg_name: Annotated[str, Mqsc("QSGNAME", Char.QSG_NAME, is_output=True, length=4)] = ""
    #: Counts the changes of IGQ. It is stored with the attributes, but is not one of them.
    igq_version: int = 0
    description: Annotated[Description, Mqsc("DESCR", Char.Q_MGR_DESC, length=64)] = ""
    dead_letter_queue: Annotated[OptionalName, Mqsc("DEADQ", Char.DEAD_LETTER_Q_NAME, length=48)] = ""
    default_transmission_queue: Annotated[OptionalName, Mqsc("DEFXMITQ", Char.DEF_XMIT_Q_NAME, length=48)] = ""
    igq: Annotated[Event, Mqsc("IGQ", Int.INTRA_GROUP_QUEUING, words.EVENT)] = "ENABLED"
    igq_put_authority: Annotated[
        Literal["DEF", "CTX", "ONLYIGQ", "ALTIGQ"], Mqsc("IGQAUT", Int.IGQ_PUT_AUTHORITY, words.IGQ_AUTHORITY)
    ] = "DEF"
    igq_user_id: Annotated[str, Field(max_length=12), Mqsc("IGQUSER", Char.IGQ_USER_ID, length=12)] = ""
    shared_q_mgr_name: Annotated[
        Literal["USE", "IGNORE"], Mqsc("SQQMNAME", Int.SHARED_Q_Q_MGR_NAME, words.SHARED_Q_MGR_NAME)
    ] = "USE"
    group_ur: Annotated[
        Event,
        Mqsc(
            "GROUPUR",
            Int.GROUP_UR,
            words.EVENT,
            instead="units of work with GROUP disposition are always possible",
            done=("ENABLED",),
        ),
    ] = "DISABLED"
    connection_loss: Annotated[
        Literal["TERMINATE", "TOLERATE"],
        Mqsc("CFCONLOS", Int.QMGR_CFCONLOS, words.CONNECTION_LOSS, instead=_TOLERATES, done=("TOLERATE",)),
    ] = "TERMINATE"
    max_uncommitted_msgs: Annotated[int, Field(ge=1, le=999_999_999), Mqsc("MAXUMSGS", Int.MAX_UNCOMMITTED_MSGS)] = (
        10_000
    )
    max_msg_length: Annotated[int, Field(ge=32_768, le=MAX_MSG_LENGTH_LIMIT), Mqsc("MAXMSGL", Int.MAX_MSG_LENGTH)] = (
        MAX_MSG_LENGTH_LIMIT
    )
    max_handles: Annotated[int, Field(ge=1, le=999_999_999), Mqsc("MAXHANDS", Int.MAX_HANDLES)] = 256
    max_properties_length: Annotated[
        int, Field(ge=-1, le=MAX_MSG_LENGTH_LIMIT), Mqsc("MAXPROPL", Int.MAX_PROPERTIES_LENGTH, words.NO_LIMIT)
    ] = -1
    max_priority: Annotated[Literal[9], Mqsc("MAXPRTY", Int.MAX_PRIORITY, is_output=True)] = 9
    trigger_interval_ms: Annotated[Large, Mqsc("TRIGINT", Int.TRIGGER_INTERVAL)] = 999_999_999
    mark_interval_ms: Annotated[
        int, Field(ge=-1, le=999_999_999), Mqsc("MARKINT", Int.MSG_MARK_BROWSE_INTERVAL, words.NO_LIMIT)
    ] = 5_000
    expiry_interval_s: Annotated[int, Field(ge=0, le=99_999_999), Mqsc("EXPRYINT", Int.EXPIRY_INTERVAL, words.OFF)] = 0
    inhibit_event: Annotated[Event, Mqsc("INHIBTEV", Int.INHIBIT_EVENT, words.EVENT)] = "DISABLED"
    local_event: Annotated[Event, Mqsc("LOCALEV", Int.LOCAL_EVENT, words.EVENT)] = "DISABLED"
    remote_event: Annotated[Event, Mqsc("REMOTEEV", Int.REMOTE_EVENT, words.EVENT)] = "DISABLED"
    start_stop_event: Annotated[Event, Mqsc("STRSTPEV", Int.START_STOP_EVENT, words.EVENT)] = "ENABLED"
    authority_event: Annotated[Event, Mqsc("AUTHOREV", Int.AUTHORITY_EVENT, words.EVENT)] = "DISABLED"
    performance_event: Annotated[Event, Mqsc("PERFMEV", Int.PERFORMANCE_EVENT, words.EVENT)] = "DISABLED"
    configuration_event: Annotated[Event, Mqsc("CONFIGEV", Int.CONFIGURATION_EVENT, words.EVENT)] = "DISABLED"
    command_event: Annotated[
        Literal["DISABLED", "ENABLED", "NODISPLAY"], Mqsc("CMDEV", Int.COMMAND_EVENT, words.COMMAND_EVENT)
    ] = "DISABLED"
    monitoring: Annotated[
        Literal["NONE", "OFF", "LOW", "MEDIUM", "HIGH"], Mqsc("MONQ", Int.MONITORING_Q, words.MONITORING)
    ] = "OFF"
    statistics: Annotated[
        Literal["NONE", "OFF", "ON"],
        Mqsc("STATQ", Int.STATISTICS_Q, words.STATISTICS, instead=NO_STATISTICS, done=("NONE",)),
    ] = "OFF"
    accounting: Annotated[
        Literal["NONE", "OFF", "ON"],
        Mqsc("ACCTQ", Int.ACCOUNTING_Q, words.STATISTICS, instead=NO_ACCOUNTING, done=("NONE",)),
    ] = "OFF"
    ccsid: Annotated[int, Field(ge=1, le=65_535), Mqsc("CCSID", Int.CODED_CHAR_SET_ID)] = DEFAULT_CCSID
    command_queue: Annotated[str, Mqsc("COMMANDQ", Char.COMMAND_INPUT_Q_NAME, is_output=True, length=48)] = (
        "SYSTEM.ADMIN.COMMAND.QUEUE"
    )
    policy_capability: Annotated[
        Literal["DISABLED"], Mqsc("SPLCAP", Int.PROT_POLICY_CAPABILITY, words.EVENT, is_output=True)
    ] = "DISABLED"
    telemetry_capability: Annotated[Literal["NO"], Mqsc("XRCAP", Int.XR_CAPABILITY, words.YES, is_output=True)] = "NO"
    command_level: Annotated[int, Mqsc("CMDLEVEL", Int.COMMAND_LEVEL, is_output=True)] = 930
    platform: Annotated[Literal["MVS"], Mqsc("PLATFORM", Int.PLATFORM, words.PLATFORM, is_output=True)] = "MVS"
    syncpoint: Annotated[
        Literal["SYNCPT"], Mqsc("SYNCPT", Int.SYNCPOINT, words.SYNCPOINT, is_bare=True, is_output=True)
    ] = "SYNCPT"

    def identifier(self, group: str) -> str:
        """Return QMID."""
        return f"{self.name}.{group}"

    @property
    def version(self) -> str:
        """VVRRMMFF; a level is VRM."""
        return "".join(f"{int(digit):02}" for digit in str(self.command_level)) + "00"

    @property
    def igq_state(self) -> str:
        """The value in each structure's ``ver`` for this manager while these attributes are in force."""
        return f"{self.igq_version}:{self.igq[0]}" if self.igq_version else ""
