"""Reads a PCF request as a command of MQSC. Pure.

The tables of commands (`igq.mqsc.language.words`), of options and figures (`igq.mqsc.language.parameters`) and of
attributes say which parameter is which keyword, and which number is which word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

from igq.mqsc.language.parameters import AREAS, OPTIONS, has_items, shown_by
from igq.mqsc.language.parser import Command
from igq.mqsc.language.parser import Parameter as Keyword
from igq.mqsc.language.words import COMMANDS, OBJECTS, CommandWords
from igq.pcf.faults import RequestError, invalid, missing, repeated, unknown
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import CharSelector, IntSelector
from sharedq.mqi.constants.pcf import MQRCCF, FilterOperator, PCFParameter
from sharedq.mqi.pcf import structures as pcf
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Attribute
from sharedq.objects.definitions.parameters import FIRST_BYTE_STRING, read_parameter

_OPERATORS: Final[Mapping[int, str]] = {
    FilterOperator.LESS: "LT",
    FilterOperator.EQUAL: "EQ",
    FilterOperator.NOT_GREATER: "LE",
    FilterOperator.GREATER: "GT",
    FilterOperator.NOT_EQUAL: "NE",
    FilterOperator.NOT_LESS: "GE",
    FilterOperator.LIKE: "LK",
    FilterOperator.NOT_LIKE: "NL",
    FilterOperator.CONTAINS: "CT",
    FilterOperator.EXCLUDES: "EX",
    FilterOperator.CONTAINS_GEN: "CTG",
    FilterOperator.EXCLUDES_GEN: "EXG",
}
#: Filters for attributes that are lists.
_OF_LISTS: Final = ("CT", "EX", "CTG", "EXG")
#: Parameters that say nothing here: the only kind of entity is a user, and every record that fits is shown.
_IGNORED: Final = frozenset({int(PCFParameter.ENTITY_TYPE), int(PCFParameter.AUTH_OPTIONS)})
_WORDS: Final = {each.name: each for each in OBJECTS}
_QUEUE_TYPES: Final = {number: word for word, number in words.QUEUE_TYPE.items()}


@dataclass(frozen=True, slots=True)
class Request:
    """A command, and the form of its answer.

    Attributes:
        names: the parameter of a list of names, where only these are asked for; 0 otherwise.
        scope: CMDSCOPE; empty for the manager that has the request.
        given: the keywords of the request, with the parameters that they come from.
    """

    command: Command
    names: int = 0
    scope: str = ""
    given: Mapping[str, pcf.Parameter] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The words of a command number."""

    words: CommandWords
    form: Literal["plain", "like", "names"]


def _by_number() -> dict[int, _Asked]:
    found: dict[int, _Asked] = {}
    for each in COMMANDS:
        if each.number is not None:
            found[each.number] = _Asked(each, "plain")
        if each.like is not None:
            found[each.like[0]] = _Asked(each, "like")
        if each.names is not None:
            found[each.names[0]] = _Asked(each, "names")
    return found


_BY_NUMBER: Final[Mapping[int, _Asked]] = MappingProxyType(_by_number())


@lru_cache(maxsize=64)
def _by_parameter(kind: str) -> Mapping[int, Attribute]:
    """Map the parameters that DISPLAY shows of an object to what they are."""
    shown = shown_by(kind).values()
    return MappingProxyType({int(each.mqsc.selector): each for each in shown if each.mqsc.selector is not None})


@lru_cache(maxsize=64)
def _known(kind: str) -> Mapping[int, Attribute]:
    """Map the parameters that a command may have to what they are."""
    # Authority records and REFRESH QMGR have different keywords for the same parameter.
    without = "OBJECT" if kind == "AUTHREC" else "OBJTYPE"
    options = {
        int(each.mqsc.selector): each for each in OPTIONS if each.mqsc.selector is not None and each.keyword != without
    }
    return MappingProxyType({**_by_parameter(kind), **options})


def read_request(
    message: pcf.PCFMessage, representation: Representation, kind_of: Callable[[str], str | None]
) -> Request:
    """Read a request.

    Args:
        kind_of: returns MQSC's word for the queue of a name, where the request does not say which kind it is.

    Raises:
        RequestError: it is no command that exists here, or a parameter is not valid.
        PCFError: a string cannot be decoded.
    """
    number = message.header.command
    asked = _BY_NUMBER.get(number)
    if asked is None:
        raise RequestError(MQRCCF.CFH_COMMAND_ERROR, f"there is no command {number} here")
    return _Reader(message, representation, asked).request(kind_of)


class _Reader:
    def __init__(self, message: pcf.PCFMessage, representation: Representation, asked: _Asked) -> None:
        self._representation, self._asked = representation, asked
        self._left: dict[int, pcf.Parameter] = {}
        self._filter: pcf.MQCFIF | pcf.MQCFSF | pcf.MQCFBF | None = None
        for parameter in message.parameters:
            if isinstance(parameter, pcf.MQCFIF | pcf.MQCFSF | pcf.MQCFBF):
                if self._filter is not None:
                    raise repeated(parameter)
                self._filter = parameter
            elif parameter.parameter in self._left:
                raise repeated(parameter)
            else:
                self._left[parameter.parameter] = parameter

    def request(self, kind_of: Callable[[str], str | None]) -> Request:
        verb = self._asked.words.verb
        kind = self._asked.words.objects[0]
        name = self._name(_WORDS[kind].operand, self._named_by(kind))
        if len(self._asked.words.objects) > 1:
            kind = self._kind(name, kind_of)
        segment = f"{verb} {kind}"
        known = _known(kind)
        keywords: dict[tuple[str, bool], Keyword] = {}
        given: dict[str, pcf.Parameter] = {}
        shows = self._left.pop(_WORDS[kind].shows, None) if verb == "DISPLAY" else None
        for parameter in self._left.values():
            if parameter.parameter in _IGNORED:
                continue
            attribute = known.get(parameter.parameter)
            if attribute is None:
                raise unknown(parameter)
            keyword = self._keyword(attribute, parameter, segment)
            if keyword is None:
                continue
            if keyword.identity in keywords:
                raise repeated(parameter)
            keywords[keyword.identity] = keyword
            given[keyword.keyword] = parameter
        if self._filter is not None:
            keyword = self._where(kind, segment)
            keywords[keyword.identity] = keyword
            given["WHERE"] = self._filter
        if verb == "DISPLAY" and self._asked.form != "names":
            for keyword in self._shown(kind, shows, segment):
                keywords.setdefault(keyword.identity, keyword)
                if shows is not None:
                    given.setdefault(keyword.keyword, shows)
        if self._asked.form == "names" and kind != "CFSTRUCT":
            # QSGDISP says which disposition each object has.
            keywords["QSGDISP", True] = Keyword("QSGDISP", None, segment)
        names = self._asked.words.names[1] if self._asked.form == "names" and self._asked.words.names else 0
        scope = keywords.pop(("CMDSCOPE", False), None)
        command = Command(1, verb, kind, name, tuple(keywords.values()))
        return Request(command, int(names), scope.value.strip() if scope else "", given)

    def _named_by(self, kind: str) -> int:
        entry = self._asked.words
        if self._asked.form == "like" and entry.like is not None:
            return entry.like[1]
        return entry.named_by or _WORDS[kind].named_by

    def _name(self, operand: str, named_by: int) -> str:
        parameter = self._left.pop(named_by, None) if named_by else None
        is_beginning = False
        if parameter is None and named_by == PCFParameter.CONNECTION_ID:
            parameter = self._left.pop(PCFParameter.GENERIC_CONNECTION_ID, None)
            is_beginning = parameter is not None
        name = ""
        match parameter:
            case pcf.MQCFST():
                name = pcf.text_of(parameter.string, parameter.ccsid, self._representation)
            case pcf.MQCFBS():
                name = parameter.string.rstrip(b" \0").decode("utf-8", "replace")
            case None:
                pass
            case _:
                raise unknown(parameter)
        name = name.strip() + ("*" if is_beginning else "")
        # The root of the topic tree has an empty name.
        if operand == "required" and not name and (parameter is None or named_by != CharSelector.TOPIC_STRING):
            raise missing(named_by)
        return name

    def _kind(self, name: str, kind_of: Callable[[str], str | None]) -> str:
        parameter = self._left.pop(IntSelector.Q_TYPE, None)
        if parameter is None and self._asked.words.verb == "DELETE":
            # IBM: then it may be of any type.
            return kind_of(name) or self._asked.words.objects[0]
        if parameter is None:
            raise missing(IntSelector.Q_TYPE)
        if not isinstance(parameter, pcf.MQCFIN):
            raise unknown(parameter)
        kind = _QUEUE_TYPES.get(parameter.value)
        if kind is None or kind not in self._asked.words.objects:
            detail = f"there are no queues of type {parameter.value} here"
            raise RequestError(MQRCCF.Q_TYPE_ERROR, detail, int(IntSelector.Q_TYPE))
        return kind

    def _keyword(self, attribute: Attribute, parameter: pcf.Parameter, segment: str) -> Keyword | None:
        """Return a parameter as MQSC has it; None for one that says nothing, such as MQFC_NO."""
        try:
            values = read_parameter(attribute, parameter, self._representation)
        except pcf.PCFError as error:
            if error.reason == MQRCCF.PARM_VALUE_ERROR:
                raise invalid(attribute.keyword, parameter, error.detail) from None
            if error.reason == MQRCCF.STRUCTURE_TYPE_ERROR:
                raise unknown(parameter) from None
            raise
        if not attribute.mqsc.is_bare:
            return Keyword(attribute.keyword, values, segment)
        return Keyword(values[0], None, segment) if values[0] else None

    def _where(self, kind: str, segment: str) -> Keyword:
        parameter = self._filter
        assert parameter is not None
        attribute = _by_parameter(kind).get(parameter.parameter)
        operator = _OPERATORS.get(parameter.operator)
        if attribute is None or self._asked.words.verb != "DISPLAY":
            raise unknown(parameter)
        if operator is None or (operator in _OF_LISTS and not has_items(kind, attribute.keyword)):
            reason = {
                pcf.MQCFIF: MQRCCF.CFIF_OPERATOR_ERROR,
                pcf.MQCFSF: MQRCCF.CFSF_OPERATOR_ERROR,
                pcf.MQCFBF: MQRCCF.CFBF_OPERATOR_ERROR,
            }[type(parameter)]
            raise RequestError(reason, f"operator {parameter.operator}", parameter.parameter)
        value: pcf.Parameter
        match parameter:
            case pcf.MQCFIF():
                value = pcf.MQCFIN(parameter.parameter, parameter.filter_value)
            case pcf.MQCFSF():
                value = pcf.MQCFST(parameter.parameter, parameter.filter_value, parameter.ccsid)
            case pcf.MQCFBF():
                value = pcf.MQCFBS(parameter.parameter, parameter.filter_value)
        try:
            values = read_parameter(attribute, value, self._representation)
        except pcf.PCFError as error:
            if error.reason == MQRCCF.STRUCTURE_TYPE_ERROR:
                raise unknown(parameter) from None
            raise invalid(attribute.keyword, parameter, error.detail) from None
        return Keyword("WHERE", (attribute.keyword, operator, values[0]), segment)

    def _shown(self, kind: str, shows: pcf.Parameter | None, segment: str) -> list[Keyword]:
        """Return the attributes to show. Attributes of IBM MQ that do not exist here are left out."""
        if _WORDS[kind].shows == 0:
            return []
        if shows is None:
            return [Keyword("ALL", None, segment)]
        if not isinstance(shows, pcf.MQCFIL):
            raise unknown(shows)
        if len(set(shows.values)) < len(shows.values):
            raise repeated(shows)
        if PCFParameter.ALL in shows.values:
            return [Keyword("ALL", None, segment)]
        first = next(iter(_ALWAYS[kind]))
        found = [Keyword(first, None, segment)]
        for number in shows.values:
            if kind == "QMGR" and number in _AREAS:
                found.append(Keyword(_AREAS[number], None, segment))
                continue
            attribute = _by_parameter(kind).get(number)
            if attribute is None and not _may_be_attribute(number):
                raise invalid("", shows, f"there is no attribute {number}")
            if attribute is not None and attribute.keyword not in _ALWAYS[kind]:
                found.append(Keyword(attribute.keyword, None, segment))
        return found


#: Object -> what is shown of it in any case, first of all its name.
_ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "QUEUE": ("QUEUE", "TYPE"),
    "QMGR": ("QMNAME",),
    "QSTATUS": ("QUEUE", "TYPE"),
    "CFSTRUCT": ("CFSTRUCT",),
    "SMDS": ("SMDS", "CFSTRUCT"),
    "SMDSCONN": ("SMDSCONN", "CFSTRUCT"),
    "CONN": ("CONN", "TYPE"),
    "AUTHREC": ("PROFILE", "ENTITY"),
    "QMSTATUS": ("QMNAME",),
    "TOPIC": ("TOPIC",),
    "SUB": ("SUB", "SUBID"),
    "TPSTATUS": ("TPSTATUS",),
    "SBSTATUS": ("SUB", "SUBID"),
    "PUBSUB": ("QMNAME", "TYPE"),
    "PROCESS": ("PROCESS",),
    "NAMELIST": ("NAMELIST",),
    "CHANNEL": ("CHANNEL", "CHLTYPE"),
    "LISTENER": ("LISTENER",),
    "CHSTATUS": ("CHSTATUS",),
    "LSSTATUS": ("LSSTATUS",),
}
#: MQIACF_* -> the word of MQSC for the attributes of a queue manager that it asks for.
_AREAS: Final[Mapping[int, str]] = {int(area.number): word for word, area in AREAS.items()}
_LAST_SELECTOR: Final = 4000


def _may_be_attribute(number: int) -> bool:
    return 1 <= number <= _LAST_SELECTOR or FIRST_BYTE_STRING <= number < FIRST_BYTE_STRING + 1000
