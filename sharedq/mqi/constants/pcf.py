"""Numbers of programmable command formats (PCF): structures, commands, and what is wrong with one of them.

Source: IBM MQ reference, "Definitions of the programmable command formats"; cmqcfc.h.
"""

from __future__ import annotations

from enum import IntEnum


class PCFType(IntEnum):
    """MQCFT_*: what a PCF message or a structure in one is."""

    COMMAND = 1
    RESPONSE = 2
    INTEGER = 3
    STRING = 4
    INTEGER_LIST = 5
    STRING_LIST = 6
    EVENT = 7
    USER = 8
    BYTE_STRING = 9
    TRACE_ROUTE = 10
    REPORT = 12
    INTEGER_FILTER = 13
    STRING_FILTER = 14
    BYTE_STRING_FILTER = 15
    COMMAND_XR = 16
    XR_MSG = 17
    XR_ITEM = 18
    XR_SUMMARY = 19
    GROUP = 20
    STATISTICS = 21
    ACCOUNTING = 22
    INTEGER64 = 23
    INTEGER64_LIST = 25
    APP_ACTIVITY = 26
    STATUS = 27


class PCFControl(IntEnum):
    """MQCFC_*: whether more messages of the set follow."""

    NOT_LAST = 0
    LAST = 1


class FilterOperator(IntEnum):
    """MQCFOP_*: how a filter compares."""

    LESS = 1
    EQUAL = 2
    NOT_GREATER = 3
    GREATER = 4
    NOT_EQUAL = 5
    NOT_LESS = 6
    CONTAINS = 10
    EXCLUDES = 13
    LIKE = 18
    NOT_LIKE = 21
    CONTAINS_GEN = 26
    EXCLUDES_GEN = 29


class MQRCCF(IntEnum):
    """MQRCCF_*: what is wrong with a PCF message."""

    CFH_TYPE_ERROR = 3001
    CFH_LENGTH_ERROR = 3002
    CFH_VERSION_ERROR = 3003
    CFH_MSG_SEQ_NUMBER_ERR = 3004
    CFH_CONTROL_ERROR = 3005
    CFH_PARM_COUNT_ERROR = 3006
    CFIN_LENGTH_ERROR = 3009
    CFST_LENGTH_ERROR = 3010
    CFST_STRING_LENGTH_ERR = 3011
    STRUCTURE_TYPE_ERROR = 3013
    MSG_LENGTH_ERROR = 3016
    PARM_COUNT_TOO_BIG = 3020
    CFSL_LENGTH_ERROR = 3024
    CFIL_COUNT_ERROR = 3027
    CFIL_LENGTH_ERROR = 3028
    CCSID_ERROR = 3049
    ENCODING_ERROR = 3050
    CFSL_COUNT_ERROR = 3068
    CFSL_STRING_LENGTH_ERR = 3069
    CFIF_LENGTH_ERROR = 3241
    CFIF_OPERATOR_ERROR = 3242
    CFSF_FILTER_VAL_LEN_ERR = 3244
    CFSF_LENGTH_ERROR = 3245
    CFSF_OPERATOR_ERROR = 3246
    CFBS_LENGTH_ERROR = 3255
    CFBS_STRING_LENGTH_ERR = 3257
    CFGR_LENGTH_ERROR = 3258
    CFGR_PARM_COUNT_ERROR = 3259
    CFBF_LENGTH_ERROR = 3264
    CFBF_OPERATOR_ERROR = 3266
    CFBF_FILTER_VAL_LEN_ERR = 3267


class PCFCommand(IntEnum):
    """MQCMD_*: what an event message is about."""

    CONFIG_EVENT = 43
    Q_MGR_EVENT = 44
    PERFM_EVENT = 45
    COMMAND_EVENT = 99


class PCFParameter(IntEnum):
    """MQIACF_*, MQCACF_*, MQBACF_* and MQGACF_*: parameters of events that are no attributes of an object."""

    EVENT_APPL_TYPE = 1010
    EVENT_ORIGIN = 1011
    OBJECT_TYPE = 1016
    REASON_QUALIFIER = 1020
    COMMAND = 1021
    OPEN_OPTIONS = 1022
    OBJECT_Q_MGR_NAME = 3023
    APPL_NAME = 3024
    USER_IDENTIFIER = 3025
    EVENT_USER_ID = 3045
    OBJECT_NAME = 3046
    EVENT_Q_MGR = 3047
    EVENT_APPL_IDENTITY = 3049
    EVENT_APPL_NAME = 3050
    EVENT_APPL_ORIGIN = 3051
    COMMAND_MQSC = 3075
    ACTIVITY_DESC = 3134
    EVENT_ACCOUNTING_TOKEN = 7001
    COMMAND_CONTEXT = 8001
    COMMAND_DATA = 8002


class ReasonQualifier(IntEnum):
    """MQRQ_*: more about the reason of an event."""

    CONN_NOT_AUTHORIZED = 1
    OPEN_NOT_AUTHORIZED = 2
    Q_MGR_STOPPING = 5
    Q_MGR_QUIESCING = 6


class EventOrigin(IntEnum):
    """MQEVO_*: where a command came from."""

    OTHER = 0
    CONSOLE = 1
    MQSET = 4
