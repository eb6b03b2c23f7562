"""Event messages for people and programs: a PCF message as names and words, in text or as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from igq.events.formats import OwnReason
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQRC, CharSelector, IntSelector
from sharedq.mqi.constants.pcf import EventOrigin, PCFCommand, PCFParameter, ReasonQualifier
from sharedq.mqi.pcf import structures as pcf
from sharedq.objects.definitions.attributes import by_selector
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import QUEUE_KINDS

_WORDS: Final[Mapping[int, type[EventOrigin | ReasonQualifier]]] = {
    PCFParameter.EVENT_ORIGIN: EventOrigin,
    PCFParameter.REASON_QUALIFIER: ReasonQualifier,
}


def as_fields(message: pcf.PCFMessage, representation: Representation) -> dict[str, Any]:
    """Return an event as names and values: numbers, text, lists, and groups as dictionaries.

    Numbers that have words in MQSC are those words. Text that cannot be decoded is hexadecimal.
    """
    header = message.header
    return {
        "event": _name_of(PCFCommand, header.command),
        "reason": header.reason,
        "reasonName": _reason(header.reason),
        **dict(_parameters(message.parameters, representation)),
    }


def as_text(fields: Mapping[str, Any], indent: str = "  ") -> Iterator[str]:
    """Yield the lines of an event for people. Foreign text in them is not escaped yet."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}"
            yield from as_text(value, indent + "  ")
        else:
            yield f"{indent}{name:<22} {value}"


def _parameters(parameters: tuple[pcf.Parameter, ...], representation: Representation) -> Iterator[tuple[str, Any]]:
    used: set[str] = set()
    for parameter in parameters:
        name = _name(parameter.parameter)
        if name in used:
            name = f"{name}{parameter.parameter}"
        used.add(name)
        yield name, _value(parameter, representation)


def _value(parameter: pcf.Parameter, representation: Representation) -> Any:
    match parameter:
        case pcf.MQCFGR():
            return dict(_parameters(parameter.parameters, representation))
        case pcf.MQCFIN():
            return _word(parameter.parameter, parameter.value)
        case pcf.MQCFIN64():
            return parameter.value
        case pcf.MQCFIL() | pcf.MQCFIL64():
            return list(parameter.values)
        case pcf.MQCFST():
            return _text(parameter.string, parameter.ccsid, representation)
        case pcf.MQCFSL():
            return [_text(string, parameter.ccsid, representation) for string in parameter.strings]
        case pcf.MQCFBS():
            return parameter.string.hex()
        case pcf.MQCFSF():
            return _text(parameter.filter_value, parameter.ccsid, representation)
        case pcf.MQCFIF():
            return parameter.filter_value
        case pcf.MQCFBF():
            return parameter.filter_value.hex()


def _text(string: bytes, ccsid: int, representation: Representation) -> str:
    try:
        return pcf.text_of(string, ccsid, representation)
    except pcf.PCFError:
        return string.hex()


def _word(parameter: int, value: int) -> int | str:
    if parameter in _WORDS:
        return _name_of(_WORDS[parameter], value)
    for model in (*QUEUE_KINDS.values(), QueueManagerAttributes, CFStruct):
        attribute = by_selector(model).get(parameter)
        if attribute is not None:
            return next((word for word, number in attribute.mqsc.words.items() if number == value), value)
    return value


def _reason(reason: int) -> str:
    for names, prefix in ((MQRC, "MQRC_"), (OwnReason, "IGQRC_")):
        if reason in list(names):
            return f"{prefix}{names(reason).name}"
    return ""


def _name(parameter: int) -> str:
    """Return IBM's name of a parameter as amqsevt writes it in JSON: MQCA_Q_MGR_NAME is qMgrName."""
    for names in (PCFParameter, IntSelector, CharSelector):
        if parameter in list(names):
            first, *others = names(parameter).name.lower().split("_")
            return first + "".join(word.capitalize() for word in others)
    return f"parameter{parameter}"


def _name_of(names: Any, number: int) -> str:
    return names(number).name if number in list(names) else str(number)
