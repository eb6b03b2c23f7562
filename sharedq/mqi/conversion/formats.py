"""Formats that other packages convert: Python entry points of the group ``igq.conversion``.

The name of an entry point is the Format, and what it loads is called as IBM MQ calls a data-conversion exit::

    def convert(data: bytes, source: Representation, target: Representation) -> bytes

It raises `ConversionError` with the reason for data that it does not convert. Entry points are looked up when a message
of a Format that is not built in is converted for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Final

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.conversion.errors import ConversionError

GROUP: Final = "igq.conversion"
Converter = Callable[[bytes, Representation, Representation], bytes]


def converted_by_others(data: bytes, format_: bytes, source: Representation, target: Representation) -> bytes:
    """Data of a Format that is not built in.

    Raises:
        ConversionError: 2110 nobody converts the Format; 2119 its converter failed; or the reason that it gives.
    """
    converter = _converter(format_.decode("latin-1"))
    if converter is None:
        raise ConversionError(MQRC.FORMAT_ERROR)
    try:
        found = converter(data, source, target)
    except ConversionError:
        raise
    except Exception as error:
        raise ConversionError(MQRC.NOT_CONVERTED) from error
    if not isinstance(found, bytes):
        raise ConversionError(MQRC.NOT_CONVERTED)
    return found


@lru_cache(maxsize=64)
def _converter(name: str) -> Converter | None:
    for entry in entry_points(group=GROUP, name=name):
        try:
            loaded: Converter = entry.load()
        except Exception:  # noqa: BLE001 - an exit that cannot be loaded is one that is not there
            continue
        return loaded
    return None
