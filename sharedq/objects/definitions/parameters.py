"""Attributes as parameters of PCF: the numbers and strings of commands, their answers and events. Pure.

A value of MQSC is text, a number or a word; an attribute states what it is in PCF. Both directions read that statement.
"""

from __future__ import annotations

from typing import Final

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants.pcf import MQRCCF
from sharedq.mqi.pcf import structures as pcf
from sharedq.objects.definitions.attributes import Attribute

#: MQBACF_FIRST; from it on parameters are byte strings.
FIRST_BYTE_STRING: Final = 7001
#: MQMON_NOT_AVAILABLE: the number of what is blank in MQSC.
_NOT_AVAILABLE: Final = -1


def as_parameter(attribute: Attribute, value: str | int, *, is_padded: bool = False) -> pcf.Parameter:
    """Return a value of an attribute that has a selector as a parameter of PCF, in UTF-8.

    Args:
        is_padded: fill text with blanks to the attribute's length, as answers to commands do.
    """
    assert attribute.mqsc.selector is not None
    number = int(attribute.mqsc.selector)
    if attribute.is_integer:
        numbers = _numbers(attribute, value)
        # Several words that are no list are bits of one number.
        return pcf.MQCFIL(number, numbers) if attribute.mqsc.is_list else pcf.MQCFIN(number, sum(numbers))
    if number >= FIRST_BYTE_STRING:
        return pcf.MQCFBS(number, bytes.fromhex(str(value)) if attribute.mqsc.is_hex else str(value).encode())
    length = attribute.mqsc.length
    texts = (str(value).split(",") if value else []) if attribute.mqsc.is_list else [str(value)]
    strings = tuple(_string(text, length, is_padded=is_padded) for text in texts)
    return pcf.MQCFSL(number, strings) if attribute.mqsc.is_list else pcf.MQCFST(number, strings[0])


def read_parameter(attribute: Attribute, parameter: pcf.Parameter, representation: Representation) -> tuple[str, ...]:
    """Return the values of a parameter of PCF as MQSC's texts; of an attribute of bare words, the word.

    Raises:
        PCFError: 3229, no word has this number; 3049, the text cannot be decoded; 3013, a number stands where text
            belongs, or the reverse.
    """
    if isinstance(parameter, pcf.MQCFIN) and attribute.is_integer:
        return (_word(attribute, parameter.value),)
    if isinstance(parameter, pcf.MQCFIL) and attribute.is_integer and attribute.mqsc.is_list:
        return tuple(_word(attribute, each) for each in parameter.values)
    if isinstance(parameter, pcf.MQCFST) and not attribute.is_integer:
        return (pcf.text_of(parameter.string, parameter.ccsid, representation),)
    if isinstance(parameter, pcf.MQCFSL) and not attribute.is_integer and attribute.mqsc.is_list:
        return tuple(pcf.text_of(each, parameter.ccsid, representation) for each in parameter.strings)
    if isinstance(parameter, pcf.MQCFBS) and parameter.parameter >= FIRST_BYTE_STRING:
        string = parameter.string.rstrip(b"\0")
        return (string.hex().upper() if attribute.mqsc.is_hex else string.decode("utf-8", "replace"),)
    raise pcf.PCFError(MQRCCF.STRUCTURE_TYPE_ERROR, f"parameter {parameter.parameter} as {type(parameter).__name__}")


def _numbers(attribute: Attribute, value: str | int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,)
    return tuple(_number(attribute, text.strip()) for text in value.split(","))


def _number(attribute: Attribute, text: str) -> int:
    known = attribute.mqsc.words.get(text)
    if known is not None:
        return known
    return int(text) if text else _NOT_AVAILABLE


def _word(attribute: Attribute, number: int) -> str:
    try:
        value = attribute.from_number(number) if attribute.mqsc.words else number
    except ValueError as error:
        raise pcf.PCFError(MQRCCF.PARM_VALUE_ERROR, str(error)) from None
    return str(value)


def _string(text: str, length: int, *, is_padded: bool) -> bytes:
    data = text.encode("utf-8", "backslashreplace")
    if length:
        # Cut after a whole character.
        data = data[:length].decode("utf-8", "ignore").encode()
    return data.ljust(length) if is_padded else data
