"""The value of a selector for a message, in three-valued logic: ``None`` is unknown.

Numbers are 64-bit floating-point numbers, as in a script; whole numbers of 64 bits that these cannot hold exactly are
``int``, and a sum, a difference or a product of whole numbers is exact. A value of another kind is neither equal nor
different: every comparison with it is false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.properties.names import DESCRIPTOR_FIELDS, name_at
from sharedq.selectors.parser import MOST_EXACT, Node, number_of

#: ``bytes`` are a byte string.
Operand = int | float | str | bytes | bool | None

_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A message: its descriptor, and its properties by their kept names."""

    md: MQMD
    properties: Mapping[str, Any]


def evaluate(node: Node, subject: Subject) -> bool | None:
    """The truth of a condition for a message."""
    kind = node[0]
    if kind == "and":
        found = [evaluate(each, subject) for each in node[1]]
        return False if False in found else None if None in found else True
    if kind == "or":
        found = [evaluate(each, subject) for each in node[1]]
        return True if True in found else None if None in found else False
    if kind == "not":
        truth = evaluate(node[1], subject)
        return None if truth is None else not truth
    if kind == "compare":
        return _compare(node[1], value_of(node[2], subject), value_of(node[3], subject))
    value = value_of(node[1], subject)
    if kind == "missing":
        return value is None
    if value is None:
        return None
    if kind == "true":
        return value is True
    if kind == "in":
        return isinstance(value, str) and value in node[2]
    return isinstance(value, str) and _is_like(value, node[2])


def _compare(sign: str, left: Operand, right: Operand) -> bool | None:
    if left is None or right is None:
        return None
    if _kind(left) is not _kind(right) or (sign not in ("=", "<>") and _kind(left) is not float):
        return False
    if any(isinstance(each, float) and not abs(each) <= MOST_EXACT for each in (left, right)):
        left, right = float(left), float(right)
    return _COMPARISONS[sign](left, right)


def _kind(value: Operand) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _is_like(text: str, parts: list[list[str]]) -> bool:
    first, *others = ("".join(re.escape(each) if each else "." for each in part) for part in parts)
    # The first place of a part leaves most to those after it, so no other needs to be tried.
    middle = "".join(f"(?>.*?{part})" for part in others[:-1])
    return re.fullmatch(first + middle + ".*".join(["", *others[-1:]]), text, re.DOTALL) is not None


def value_of(node: Node, subject: Subject) -> Operand:
    """The value of a node for a message."""
    kind = node[0]
    if kind == "whole":
        return int(node[1])
    if kind in ("number", "text", "boolean"):
        found: Operand = node[1]
        return found
    if kind == "bytes":
        return bytes.fromhex(node[1])
    if kind == "property":
        return _as_operand(subject.properties.get(name_at(node[1], node[2:])))
    if kind == "first":
        return next((found for each in node[1] if (found := value_of(each, subject)) is not None), None)
    if kind == "calculate":
        result = value_of(node[1], subject)
        for sign, other in node[2]:
            result = _calculate(sign, result, value_of(other, subject))
        return result
    if kind == "mode":
        return "PERSISTENT" if subject.md.persistence else "NON_PERSISTENT"
    field = getattr(subject.md, DESCRIPTOR_FIELDS[node[1]][0])
    if kind == "identifier":
        return None if field == NULL_ID else "ID:" + field.hex()
    if isinstance(field, bytes) and isinstance(DESCRIPTOR_FIELDS[node[1]], tuple) and not _is_bytes(node[1]):
        return field.decode("utf-8", "surrogateescape").rstrip(" \0")
    return _as_operand(field)


def _is_bytes(field: str) -> bool:
    return field in ("MsgId", "CorrelId", "GroupId", "AccountingToken")


def _as_operand(value: Any) -> Operand:
    if isinstance(value, int) and not isinstance(value, bool):
        return number_of(value)
    operand: Operand = value
    return operand


def _is_whole(value: float) -> bool:
    return isinstance(value, int) or (abs(value) <= MOST_EXACT and value.is_integer())


def _calculate(sign: str, left: Operand, right: Operand) -> Operand:
    if _kind(left) is not float or _kind(right) is not float:
        return None
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    if sign == "/":
        return None if right == 0 else float(left) / float(right)
    is_exact = _is_whole(left) and _is_whole(right)
    one, other = (int(left), int(right)) if is_exact else (float(left), float(right))
    found = one + other if sign == "+" else one - other if sign == "-" else one * other
    return number_of(found) if isinstance(found, int) else found
