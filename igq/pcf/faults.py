"""The reason codes of commands that were not done: from errors of MQSC and of the MQI to those of PCF. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from igq.mqsc.executor import Answer
from igq.mqsc.language.parser import MqscSyntaxError
from sharedq.mqi.constants import MQRC, IntSelector
from sharedq.mqi.constants.pcf import MQRCCF, PCFType
from sharedq.mqi.errors import MQIError
from sharedq.mqi.pcf import structures as pcf

#: Kind of a parameter -> the reason for an identifier that the command does not know, and for one that is there twice.
_OF_KIND: Final[Mapping[type[pcf.Parameter], tuple[MQRCCF, MQRCCF]]] = {
    pcf.MQCFIN: (MQRCCF.CFIN_PARM_ID_ERROR, MQRCCF.CFIN_DUPLICATE_PARM),
    pcf.MQCFIN64: (MQRCCF.CFIN_PARM_ID_ERROR, MQRCCF.CFIN_DUPLICATE_PARM),
    pcf.MQCFST: (MQRCCF.CFST_PARM_ID_ERROR, MQRCCF.CFST_DUPLICATE_PARM),
    pcf.MQCFIL: (MQRCCF.CFIL_PARM_ID_ERROR, MQRCCF.CFIL_DUPLICATE_VALUE),
    pcf.MQCFIL64: (MQRCCF.CFIL_PARM_ID_ERROR, MQRCCF.CFIL_DUPLICATE_VALUE),
    pcf.MQCFSL: (MQRCCF.CFSL_PARM_ID_ERROR, MQRCCF.CFSL_DUPLICATE_PARM),
    pcf.MQCFBS: (MQRCCF.CFBS_PARM_ID_ERROR, MQRCCF.CFBS_DUPLICATE_PARM),
    pcf.MQCFIF: (MQRCCF.CFIF_PARM_ID_ERROR, MQRCCF.TOO_MANY_FILTERS),
    pcf.MQCFSF: (MQRCCF.CFSF_PARM_ID_ERROR, MQRCCF.TOO_MANY_FILTERS),
    pcf.MQCFBF: (MQRCCF.CFBF_PARM_ID_ERROR, MQRCCF.TOO_MANY_FILTERS),
    pcf.MQCFGR: (MQRCCF.CFGR_PARM_ID_ERROR, MQRCCF.CFGR_PARM_ID_ERROR),
}
#: Keyword -> the reason for a value that it does not have; for other keywords 3229.
_OF_VALUE: Final = {
    "REPLACE": MQRCCF.REPLACE_VALUE_ERROR,
    "PURGE": MQRCCF.PURGE_VALUE_ERROR,
    "FORCE": MQRCCF.FORCE_VALUE_ERROR,
    "MODE": MQRCCF.MODE_VALUE_ERROR,
    "ACTION": MQRCCF.ACTION_VALUE_ERROR,
    "CMDSCOPE": MQRCCF.COMMAND_SCOPE_ERROR,
    "AUTHADD": MQRCCF.AUTH_VALUE_ERROR,
    "AUTHRMV": MQRCCF.AUTH_VALUE_ERROR,
    "PROFILE": MQRCCF.PROFILE_NAME_ERROR,
    "QUEUE": MQRCCF.OBJECT_NAME_ERROR,
    "CFSTRUCT": MQRCCF.OBJECT_NAME_ERROR,
}
#: Reasons of the MQI for which commands have their own.
_OF_MQI: Final[Mapping[MQRC, MQRCCF]] = {
    MQRC.OBJECT_ALREADY_EXISTS: MQRCCF.OBJECT_ALREADY_EXISTS,
    MQRC.OBJECT_NOT_UNIQUE: MQRCCF.DISPOSITION_CONFLICT,
    MQRC.OBJECT_IN_USE: MQRCCF.OBJECT_OPEN,
    MQRC.Q_TYPE_ERROR: MQRCCF.OBJECT_WRONG_TYPE,
    MQRC.CF_STRUC_ERROR: MQRCCF.CF_STRUC_ERROR,
}
#: The same for one command: verb and object.
_OF_COMMAND: Final[Mapping[tuple[str, str, MQRC], MQRCCF]] = {
    ("STOP", "CONN", MQRC.UNKNOWN_OBJECT_NAME): MQRCCF.CONNECTION_ID_ERROR,
    ("STOP", "CONN", MQRC.OBJECT_IN_USE): MQRCCF.CONN_NOT_STOPPED,
    ("RESET", "QSTATS", MQRC.FUNCTION_NOT_SUPPORTED): MQRCCF.EVENTS_DISABLED,
    ("REFRESH", "QMGR", MQRC.FUNCTION_NOT_SUPPORTED): MQRCCF.EVENTS_DISABLED,
}


class RequestError(Exception):
    """A request that is no command.

    Attributes:
        parameter: the identifier of the parameter that is wrong or missing; 0 for none.
    """

    def __init__(self, reason: MQRCCF | MQRC, detail: str, parameter: int = 0) -> None:
        super().__init__(reason, detail, parameter)
        self.reason, self.detail, self.parameter = reason, detail, parameter


def unknown(parameter: pcf.Parameter) -> RequestError:
    """Make the error for a parameter that the command does not have."""
    reason = _OF_KIND[type(parameter)][0]
    return RequestError(reason, f"the command has no parameter {parameter.parameter}", parameter.parameter)


def repeated(parameter: pcf.Parameter) -> RequestError:
    """Make the error for a parameter that is there twice."""
    reason = _OF_KIND[type(parameter)][1]
    return RequestError(reason, f"parameter {parameter.parameter} is there twice", parameter.parameter)


def missing(parameter: int, detail: str = "") -> RequestError:
    """Make the error for a parameter that the command needs."""
    return RequestError(MQRCCF.PARM_MISSING, detail or f"parameter {parameter} is missing", parameter)


def invalid(keyword: str, parameter: pcf.Parameter, detail: str) -> RequestError:
    """Make the error for a value that the parameter does not have."""
    is_queue_type = parameter.parameter == IntSelector.Q_TYPE
    reason = MQRCCF.Q_TYPE_ERROR if is_queue_type else _OF_VALUE.get(keyword, MQRCCF.PARM_VALUE_ERROR)
    return RequestError(reason, detail, parameter.parameter)


def fault_of(answer: Answer, verb: str, kind: str, given: Mapping[str, pcf.Parameter]) -> RequestError:
    """Return why a command was not done.

    Args:
        given: the keywords of the request, with the parameters that they come from.
    """
    error, detail = answer.error, answer.lines[0] if answer.lines else ""
    if isinstance(error, MqscSyntaxError):
        return _fault_of_syntax(error, detail, given)
    if isinstance(error, MQIError):
        reason = MQRC(error.reason)
        own = _OF_COMMAND.get((verb, kind, reason)) or _OF_MQI.get(reason)
        return RequestError(own or reason, detail)
    if isinstance(error, ValueError):
        # An invalid attribute's text begins with its keyword.
        keyword = str(error).partition("(")[0]
        if keyword in given:
            return invalid(keyword, given[keyword], detail)
        return RequestError(_OF_VALUE.get(keyword, MQRCCF.PARM_VALUE_ERROR), detail)
    return RequestError(MQRCCF.COMMAND_FAILED if not answer.reason else MQRC(answer.reason), detail)


def _fault_of_syntax(error: MqscSyntaxError, detail: str, given: Mapping[str, pcf.Parameter]) -> RequestError:
    if error.parameter is None:
        return RequestError(MQRCCF.PARM_MISSING, detail)
    keyword = error.parameter.keyword
    parameter = given.get(keyword)
    if parameter is None:
        return RequestError(MQRCCF.PARM_VALUE_ERROR, detail)
    if error.unknown == keyword and not isinstance(parameter, pcf.MQCFIF | pcf.MQCFSF | pcf.MQCFBF):
        is_listed = isinstance(parameter, pcf.MQCFIL) and error.parameter.values is None
        return invalid(keyword, parameter, detail) if is_listed else unknown(parameter)
    return unknown(parameter) if error.unknown else invalid(keyword, parameter, detail)


#: Types of messages that a command server takes.
COMMAND_TYPES: Final = (PCFType.COMMAND, PCFType.COMMAND_XR)
