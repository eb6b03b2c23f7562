"""The output of DISPLAY: records of attributes, the WHERE filter, two columns. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, meant_by
from igq.mqsc.language.parameters import has_items, shown_by
from igq.mqsc.language.parser import Command, Parameter
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import MAX_COUNT
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Attribute
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.names import is_generic, matches

_COLUMN = 40
_INDENT = "   "

_ORDER: dict[str, Callable[[str | int, str | int], bool]] = {
    "LT": lambda value, limit: operator.lt(*_comparable(value, limit)),
    "GT": lambda value, limit: operator.gt(*_comparable(value, limit)),
    "LE": lambda value, limit: operator.le(*_comparable(value, limit)),
    "GE": lambda value, limit: operator.ge(*_comparable(value, limit)),
    "EQ": operator.eq,
    "NE": operator.ne,
    "LK": lambda value, pattern: matches(str(pattern), str(value)),
    "NL": lambda value, pattern: not matches(str(pattern), str(value)),
}
_OF_NUMBERS = ("LT", "GT", "LE", "GE", "EQ", "NE")
#: The same about the items of a list.
_ITEMS: dict[str, Callable[[list[str], str], bool]] = {
    "CT": lambda items, item: item in items,
    "EX": lambda items, item: item not in items,
    "CTG": lambda items, pattern: any(matches(pattern, item) for item in items),
    "EXG": lambda items, pattern: not any(matches(pattern, item) for item in items),
}


def found_or_nothing(lines: list[str], command: Command) -> list[str]:
    """Return the answer of a DISPLAY. A pattern or a filter may match nothing.

    Raises:
        MQIError: 2085, nothing has this name.
    """
    if not lines and not is_generic(command.name) and find_parameter(command, "WHERE") is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name)
    return lines or [messages.NOTHING_FOUND.format(command.object_type)]


@dataclass(frozen=True, slots=True)
class Shown:
    """One attribute of a displayed object: the keywords that ask for it, its value, and its text."""

    keywords: tuple[str, ...]
    value: str | int
    text: str


def shown(keyword: str, value: str | int) -> Shown:
    """Make an attribute that no definition has, such as a count."""
    if isinstance(value, int):
        value = min(value, MAX_COUNT)
    return Shown((keyword,), value, f"{keyword}({value if value != '' else ' '})")


def shown_attributes(definition: ObjectDefinition) -> list[Shown]:
    """Return the attributes of a definition."""
    found = []
    for attribute in definition.attributes():
        value = getattr(definition, attribute.field)
        keywords = (attribute.keyword, *attribute.keywords)
        found.append(Shown(keywords, value, attribute.show(value)))
    return found


@dataclass(frozen=True, slots=True)
class DisplayRequest:
    """The attributes that a DISPLAY asks for, and the objects that it selects.

    Attributes:
        keywords: None for all attributes.
    """

    keywords: tuple[str, ...] | None
    where: Callable[[Sequence[Shown]], bool]

    def select(self, record: Sequence[Shown], always: int) -> list[Shown]:
        """Return the attributes to write: the first *always* ones, and those that the keywords ask for."""
        rest = sorted(record[always:], key=lambda each: each.keywords[0])
        if self.keywords is not None:
            rest = [each for each in rest if set(each.keywords) & set(self.keywords)]
        return [*record[:always], *rest]


def read_request(
    command: Command, options: Iterable[str], known: Iterable[str], *, all_by_default: bool
) -> DisplayRequest:
    """Read what a DISPLAY command asks for.

    Args:
        command: its parameters are *options*, ``ALL``, ``WHERE`` and attributes.
        options: keywords that the caller reads itself.
        known: keywords of the attributes that can be displayed.
        all_by_default: whether a command that names no attribute shows all.

    Raises:
        MqscSyntaxError: a parameter is not valid here.
    """
    wanted: list[str] = []
    is_all = False
    where: Callable[[Sequence[Shown]], bool] = _everything
    options, known = set(options), set(known)
    for parameter in command.parameters:
        named = meant_by(parameter.keyword)
        if parameter.keyword in options and (parameter.values is not None or parameter.keyword not in known):
            continue
        if parameter.keyword == "ALL" and parameter.values is None:
            is_all = True
        elif parameter.keyword == "WHERE":
            keyword, where = _read_where(command, parameter, known)
            wanted.append(keyword)
        elif named in known and parameter.values is None:
            wanted.append(named)
        elif named in (*known, "ALL"):
            raise command.error(parameter, f"{parameter.keyword} without a value")
        else:
            expected = f"an attribute of {command.object_type}, ALL or WHERE"
            raise command.unknown(parameter, expected, [*known, *options, "ALL", "WHERE"])
    if is_all or (not wanted and all_by_default):
        return DisplayRequest(None, where)
    return DisplayRequest(tuple(wanted), where)


class RecordLine(str):
    """A line of a displayed object, with the attributes on it for a program that wants no text."""

    __slots__ = ("attributes",)
    attributes: tuple[Shown, ...]

    @classmethod
    def of(cls, text: str, *attributes: Shown) -> RecordLine:
        """Make the line."""
        line = cls(_INDENT + text)
        line.attributes = attributes
        return line


def two_columns(record: Sequence[Shown]) -> list[str]:
    """Return the lines that ``runmqsc`` writes for an object: two attributes a line if they fit."""
    lines: list[str] = []
    left: Shown | None = None
    for each in record:
        if left and len(left.text) < _COLUMN and len(each.text) < _COLUMN:
            lines.append(RecordLine.of(f"{left.text:<{_COLUMN}}{each.text}", left, each))
            left = None
            continue
        if left:
            lines.append(RecordLine.of(left.text, left))
        left = each
    if left:
        lines.append(RecordLine.of(left.text, left))
    return lines


def items_of(attribute: Shown) -> list[str]:
    """Return the items of an attribute that is a list (`has_items`)."""
    return [item.strip() for item in str(attribute.value).split(",") if item.strip()]


def records_in(lines: Iterable[str]) -> Iterator[list[Shown]]:
    """Yield the objects that *lines* show, each as its attributes.

    A line that is no part of an object, or an attribute once more, begins the next one.
    """
    record: dict[str, Shown] = {}
    for line in lines:
        attributes = line.attributes if isinstance(line, RecordLine) else ()
        if not attributes and record:
            yield list(record.values())
            record = {}
        for each in attributes:
            if each.keywords[0] in record:
                yield list(record.values())
                record = {}
            record[each.keywords[0]] = each
    if record:
        yield list(record.values())


def _everything(_: Sequence[Shown]) -> bool:
    return True


def _read_where(
    command: Command, parameter: Parameter, known: set[str]
) -> tuple[str, Callable[[Sequence[Shown]], bool]]:
    values = parameter.values or ()
    if values and meant_by(values[0]) not in known:
        raise command.unknown(parameter, f"an attribute of {command.object_type}", known, values[0])
    if len(values) != 3 or values[1] not in (*_ORDER, *_ITEMS):
        raise command.error(parameter, f"WHERE(attribute operator value), with one of {' '.join((*_ORDER, *_ITEMS))}")
    keyword, name, text = meant_by(values[0]), values[1], values[2].rstrip(" ")
    if name in _ITEMS and not has_items(command.object_type, keyword):
        raise command.error(parameter, f"an attribute that is a list before {name}")
    attribute = shown_by(command.object_type).get(keyword)
    limit: str | int = text
    if attribute is not None and name in _OF_NUMBERS:
        limit = _limit(command, parameter, attribute, text)

    def fits(record: Sequence[Shown]) -> bool:
        for each in record:
            if keyword in each.keywords:
                return _ITEMS[name](items_of(each), text) if name in _ITEMS else _ORDER[name](each.value, limit)
        return False

    return keyword, fits


def _limit(command: Command, parameter: Parameter, attribute: Attribute, text: str) -> str | int:
    """Return the value that an attribute is compared with. YES and NO mean the words without parentheses, too."""
    if attribute.mqsc.is_bare and text in words.YES:
        text = next(word for word, number in attribute.mqsc.words.items() if number == words.YES[text])
    if not text and not attribute.is_number:
        return text
    try:
        return attribute.parse(text)
    except ValueError:
        numbers = ["a number"] if attribute.is_number else []
        raise command.error(parameter, " or ".join([*numbers, *attribute.words])) from None


def _comparable(value: str | int, limit: str | int) -> tuple[str, str] | tuple[int, int]:
    if isinstance(value, int) and isinstance(limit, int):
        return value, limit
    return str(value), str(limit)
