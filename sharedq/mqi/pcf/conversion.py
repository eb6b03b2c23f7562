"""Conversion of a PCF message: numbers to another order of bytes, each string to another coded character set."""

from __future__ import annotations

from dataclasses import replace

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFGR, MQCFSF, MQCFSL, MQCFST, Parameter, known_set
from sharedq.mqi.pcf.writing import write


def converted(data: bytes, source: Representation, target: Representation) -> bytes:
    """The message *data*, written as *target*. A string that named its character set names the new one.

    Raises:
        PCFError: it is no PCF message, or a string names a character set that is not known.
        UnicodeError: a string is no text of its character set, or the other does not have its characters.
    """
    message = read(data, source)
    parameters = tuple(_parameter(each, source, target) for each in message.parameters)
    return write(replace(message, parameters=parameters), target)


def _parameter(one: Parameter, source: Representation, target: Representation) -> Parameter:
    match one:
        case MQCFGR():
            return replace(one, parameters=tuple(_parameter(each, source, target) for each in one.parameters))
        case MQCFST():
            return replace(one, string=_string(one.string, one.ccsid, source, target), ccsid=_told(one.ccsid, target))
        case MQCFSL():
            strings = tuple(_string(each, one.ccsid, source, target) for each in one.strings)
            return replace(one, strings=strings, ccsid=_told(one.ccsid, target))
        case MQCFSF():
            value = _string(one.filter_value, one.ccsid, source, target)
            return replace(one, filter_value=value, ccsid=_told(one.ccsid, target))
    return one


def _string(string: bytes, ccsid: int, source: Representation, target: Representation) -> bytes:
    return known_set(0, target).data(known_set(ccsid, source).text(string))


def _told(ccsid: int, target: Representation) -> int:
    return target.ccsid if ccsid > 0 else ccsid
