"""Refuses an argument that a call cannot use, in plain words and before the call sends anything.

Python itself would notice it late: in the middle of the call, when something may be done already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, TypeVar

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.types import declared, type_checker

T = TypeVar("T")
_DATA: Final = (bytes, bytearray, memoryview)


@dataclass(frozen=True, slots=True)
class KnownFields:
    """The fields of a structure.

    Attributes:
        are_right: looks at all fields but texts, quickly. False and AttributeError mean that a value does not fit its
            field, or is of a class derived from bytes.
        has_texts: there are texts, too.
        wide: the numbers that have 64 bits.
    """

    types: dict[str, type]
    are_right: Callable[[Any], object]
    has_texts: bool
    wide: frozenset[str]


@cache
def fields_of(structure: type) -> KnownFields:
    """The fields of a structure, which a call looks at."""
    # The call that reads a record of a distribution list checks it.
    initial = {each.name: each.default for each in fields(structure) if isinstance(each.default, int | bytes | str)}
    quick = {name: value for name, value in initial.items() if not isinstance(value, str)}
    wide = frozenset(field.name for field in declared(structure) if field.kind == "q")
    types = {name: type(value) for name, value in initial.items()}
    return KnownFields(types, type_checker(quick, wide), len(quick) < len(types), wide)


def refuse_structure(structure: type, reason: MQRC, given: object, verb: str = "", name: str = "") -> None:
    """Refuse what is no *structure*, or has a field of a wrong type, or a number that does not fit its place.

    Raises:
        MQIError: *reason*; 2046 for its options.
    """
    known = fields_of(structure)
    if isinstance(given, structure):
        try:
            if known.are_right(given) and not known.has_texts:
                return
        except AttributeError:
            # The reason is below. Masks with the top bit set come as positive numbers, and are none.
            pass
        for field, wanted in known.types.items():
            wrong = _wrong(getattr(given, field, None), wanted, bits=64 if field in known.wide else 32)
            if wrong:
                raise error_for(MQRC.OPTIONS_ERROR if field == "options" else reason, verb, name, f"{field} {wrong}")
        return
    what = "the descriptor" if structure.__name__ == "MQMD" else "an argument"
    raise error_for(reason, verb, name, f"{what} is {type(given).__name__}, must be {structure.__name__}")


def _wrong(value: object, wanted: type, *, bits: int) -> str:
    """The fault of a value in plain words; "" if it has none."""
    if not isinstance(value, wanted):
        return f"is {type(value).__name__}, must be {wanted.__name__}"
    if isinstance(value, int):
        return "" if -(1 << bits - 1) <= value < 1 << bits else f"does not fit {bits} bits"
    return "" if not isinstance(value, str) or _is_text(value) else "is no text: it has half of a pair of surrogates"


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(value: object, reason: MQRC, verb: str, name: str, what: str = "options") -> int:
    """A number of a call. Raises MQIError: *reason*, it is none, or does not fit 32 bits."""
    # Every call asks this several times.
    if not isinstance(value, int) or not -0x8000_0000 <= value <= 0xFFFF_FFFF:
        raise error_for(reason, verb, name, f"{what} {_wrong(value, int, bits=32)}")
    return value if type(value) is int else int(value)


def signed(number: int, bits: int = 32) -> int:
    """A number of so many bits as C has it: a mask with the top bit set is a positive number in Python."""
    return int(number) - (1 << bits) if number >= 1 << bits - 1 else int(number)


def text(value: object, reason: MQRC, verb: str, what: str) -> str:
    """A text of a call. Raises MQIError: *reason*, it is none."""
    if type(value) is str and value.isascii():
        # Nearly every name and topic string. This takes a fifth of the time.
        return value
    wrong = _wrong(value, str, bits=0)
    if wrong or not isinstance(value, str):
        raise error_for(reason, verb, "", f"{what} {wrong}")
    return value


def refuse_data(verb: str, name: str, data: object) -> None:
    """Refuse data that are not bytes. Raises MQIError: 2004."""
    if not isinstance(data, _DATA):
        raise error_for(MQRC.BUFFER_ERROR, verb, name, f"the data is {type(data).__name__}, must be bytes")


def refuse_records(structure: type, reason: MQRC, given: object, count: int, verb: str) -> None:
    """Refuse records that are fewer than *count*, or of which one is no *structure* with right fields.

    Raises:
        MQIError: *reason*.
    """
    if not isinstance(given, Sequence) or len(given) < count:
        raise error_for(reason, verb, "", f"it needs {count} {structure.__name__}")
    for each in given:
        refuse_structure(structure, reason, each, verb)


def refuse_other(kind: type, reason: MQRC, given: object, verb: str, name: str = "") -> None:
    """Refuse an object that is neither None nor of this *kind*. Raises MQIError: *reason*."""
    if given is not None and not isinstance(given, kind):
        raise error_for(reason, verb, name, f"it is {type(given).__name__}, must be {kind.__name__}")


def refuse_pair(given: object) -> None:
    """Refuse what is no descriptor with its data. Raises MQIError: 2004."""
    if not isinstance(given, tuple) or len(given) != 2:
        detail = f"a message to put is {type(given).__name__}, must be (MQMD, bytes)"
        raise error_for(MQRC.BUFFER_ERROR, "MQPUT", "", detail)


def listed(given: Iterable[T]) -> list[T]:
    """The messages to put. Raises MQIError: 2004, they cannot be gone through."""
    try:
        each = iter(given)
    except TypeError:
        detail = f"the messages to put are {type(given).__name__}, must be pairs of (MQMD, bytes)"
        raise error_for(MQRC.BUFFER_ERROR, "MQPUT", "", detail) from None
    return list(each)
