"""Definitions of the queue manager and of application structures. Pure.

Attributes that nothing acts on are kept and shown; `inert.py` lists them.

Source: IBM MQ reference, "ALTER QMGR", "DEFINE CFSTRUCT".
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Description, ObjectDefinition
from sharedq.objects.definitions.names import check_structure_name
from sharedq.objects.definitions.queues import MAX_MSG_LENGTH_LIMIT, Event, Large, Name, OptionalName, YesNo

#: CFLEVEL of a structure that holds persistent messages, groups and large messages.
CF_LEVEL_MAX = 5


#: The lowest level of a structure that takes persistent messages.
_CF_LEVEL_RECOVERABLE = 3


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
    offload: Annotated[Literal["NONE", "SMDS", "DB2", "BOTH"], Mqsc("OFFLOAD", Int.CF_OFFLOAD, words.OFFLOAD)] = "NONE"
    connection_loss: Annotated[
        Literal["ASQMGR", "TOLERATE", "TERMINATE"],
        Mqsc("CFCONLOS", Int.CF_CFCONLOS, words.STRUCTURE_CONNECTION_LOSS),
    ] = "ASQMGR"
    recover_automatically: Annotated[YesNo, Mqsc("RECAUTO", Int.CF_RECAUTO, words.YES)] = "YES"

    @property
    def is_recoverable(self) -> bool:
        """Whether it can be backed up and recovered."""
        return self.recover == "YES" and self.cf_level >= _CF_LEVEL_RECOVERABLE


class QueueManagerAttributes(ObjectDefinition):
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
    group_ur: Annotated[Event, Mqsc("GROUPUR", Int.GROUP_UR, words.EVENT)] = "DISABLED"
    connection_loss: Annotated[
        Literal["TERMINATE", "TOLERATE"], Mqsc("CFCONLOS", Int.QMGR_CFCONLOS, words.CONNECTION_LOSS)
    ] = "TERMINATE"
    max_uncommitted_msgs: Annotated[int, Field(ge=1, le=999_999_999), Mqsc("MAXUMSGS", Int.MAX_UNCOMMITTED_MSGS)] = (
        10_000
    )
    max_msg_length: Annotated[int, Field(ge=32_768, le=MAX_MSG_LENGTH_LIMIT), Mqsc("MAXMSGL", Int.MAX_MSG_LENGTH)] = (
        MAX_MSG_LENGTH_LIMIT
    )
    max_handles: Annotated[int, Field(ge=1, le=999_999_999), Mqsc("MAXHANDS", Int.MAX_HANDLES)] = 256
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
    command_event: Annotated[Event, Mqsc("CMDEV", Int.COMMAND_EVENT, words.EVENT)] = "DISABLED"
    monitoring: Annotated[
        Literal["NONE", "OFF", "LOW", "MEDIUM", "HIGH"], Mqsc("MONQ", Int.MONITORING_Q, words.MONITORING)
    ] = "OFF"
    statistics: Annotated[Literal["NONE", "OFF", "ON"], Mqsc("STATQ", Int.STATISTICS_Q, words.STATISTICS)] = "OFF"
    accounting: Annotated[Literal["NONE", "OFF", "ON"], Mqsc("ACCTQ", Int.ACCOUNTING_Q, words.STATISTICS)] = "OFF"
    ccsid: Annotated[int, Field(ge=1, le=65_535), Mqsc("CCSID", Int.CODED_CHAR_SET_ID)] = DEFAULT_CCSID
    command_level: Annotated[int, Mqsc("CMDLEVEL", Int.COMMAND_LEVEL, is_output=True)] = 930
    platform: Annotated[Literal["MVS"], Mqsc("PLATFORM", Int.PLATFORM, words.PLATFORM, is_output=True)] = "MVS"
    syncpoint: Annotated[
        Literal["SYNCPT"], Mqsc("SYNCPT", Int.SYNCPOINT, words.SYNCPOINT, is_bare=True, is_output=True)
    ] = "SYNCPT"

    @property
    def igq_state(self) -> str:
        """The value in each structure's ``ver`` for this manager while these attributes are in force."""
        return f"{self.igq_version}:{self.igq[0]}" if self.igq_version else ""
