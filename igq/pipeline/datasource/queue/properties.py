"""Message properties as columns: a map of texts, and a JSON object with the values' types."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from igq.pipeline.errors import PipelineError
from sharedq.mqi.constants import PropertyType
from sharedq.properties.values import Value, converted

if TYPE_CHECKING:
    from sharedq.mqi.structures import MQMD
    from sharedq.properties.folders import Property

#: The columns.
TEXTS, TYPED = "properties", "properties_json"


def as_texts(properties: Iterable[Property]) -> list[tuple[str, str | None]]:
    """Names and values as MQINQMP converts them to text: a truth value is TRUE or FALSE, bytes are hexadecimal."""
    return [(each.name, _as_text(each)) for each in properties]


def _as_text(each: Property) -> str | None:
    if each.type_ == PropertyType.NULL:
        return None
    found = (
        each.value.hex().upper()
        if isinstance(each.value, bytes)
        else converted(each.type_, each.value, PropertyType.STRING)
    )
    return str(found)


def as_json(properties: Iterable[Property]) -> str:
    """The same as a JSON object. Bytes are hexadecimal, and a number that JSON lacks is a text."""
    return json.dumps({each.name: _as_json_value(each.value) for each in properties}, ensure_ascii=False)


def _as_json_value(value: Value) -> bool | float | str | None:
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, float) and not math.isfinite(value):
        # As Spark's from_json reads them.
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def with_properties(
    md: MQMD, body: bytes, texts: Iterable[tuple[str, str | None]] | None, typed: str | None
) -> tuple[MQMD, bytes]:
    """A message that carries properties, as MQPUT makes it.

    Args:
        texts: names and values. A null is a property of type MQTYPE_NULL.
        typed: a JSON object. It counts instead of *texts*, because it has the types too.

    Raises:
        PipelineError: *typed* is no JSON object of texts, numbers and truth values.
        MQIError: 2442 a name that no property may have; 2469 a number is too large, ...
    """
    # Import it here: tasks that only read do not need it.
    from sharedq.calls.put.properties import put_with_properties
    from sharedq.mqi.constants import MQRC
    from sharedq.mqi.structures import MQPMO
    from sharedq.properties.handle import MessageHandle

    given = dict(texts or ()) if typed is None else _typed(typed)
    if not given:
        return md, body
    handle, made = MessageHandle(), list[tuple["MQMD", bytes]]()
    for name, value in given.items():
        handle.set(name, value)

    def keep(md: MQMD, body: bytes) -> MQRC:
        made.append((md, body))
        return MQRC.NONE

    put_with_properties(keep, "", md, MQPMO(), body, new=handle)
    return made[0]


def _typed(text: str) -> dict[str, Value]:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or any(isinstance(value, dict | list) for value in found.values()):
        raise PipelineError(f"{TYPED} is no JSON object of texts, numbers and truth values in a row: {text[:80]!r}")
    return found
