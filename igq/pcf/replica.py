"""The elements of a PCF request as a command event tells them: in the character set of the event. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.reading import HEADER_LENGTH
from sharedq.mqi.pcf.writing import write
from sharedq.settings.redis_mask import mask_urls

#: A request is told up to this length, in bytes: further elements are left out.
LENGTH_MAX: Final = 32_768


def replica(request: pcf.PCFMessage, representation: Representation) -> pcf.PCFMessage:
    """Return *request*, which came in *representation*, as it is told. Passwords in URLs are masked."""
    told: list[pcf.Parameter] = []
    length = HEADER_LENGTH
    for parameter in request.parameters:
        copied = _copied(parameter, representation)
        length += len(write(pcf.PCFMessage(request.header, (copied,)))) - HEADER_LENGTH
        if length > LENGTH_MAX:
            break
        told.append(copied)
    return replace(request, parameters=tuple(told))


def _copied(parameter: pcf.Parameter, representation: Representation) -> pcf.Parameter:
    match parameter:
        case pcf.MQCFGR():
            return replace(parameter, parameters=tuple(_copied(each, representation) for each in parameter.parameters))
        case pcf.MQCFST():
            return replace(parameter, string=_text(parameter.string, parameter.ccsid, representation), ccsid=0)
        case pcf.MQCFSL():
            strings = tuple(_text(each, parameter.ccsid, representation) for each in parameter.strings)
            return replace(parameter, strings=strings, ccsid=0)
        case pcf.MQCFSF():
            value = _text(parameter.filter_value, parameter.ccsid, representation)
            return replace(parameter, filter_value=value, ccsid=0)
        case _:
            return parameter


def _text(string: bytes, ccsid: int, representation: Representation) -> bytes:
    try:
        return mask_urls(pcf.text_of(string, ccsid, representation)).encode()
    except pcf.PCFError:
        return string
