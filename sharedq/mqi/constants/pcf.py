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
