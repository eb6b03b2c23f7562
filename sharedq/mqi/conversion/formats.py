"""Formats that other packages convert: Python entry points of the group ``igq.conversion``.

The name of an entry point is the Format, and what it loads is called as IBM MQ calls a data-conversion exit::

    def convert(data: bytes, source: Representation, target: Representation) -> bytes

It raises `ConversionError` with the reason for data that it does not convert. Entry points are looked up when a message
of a Format that is not built in is converted for the first time. A Python warning says why one cannot be loaded or
failed.
"""

from __future__ import annotations

import warnings
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
        _tell(f"the converter of Format {format_!r} failed: {error!r}")
        raise ConversionError(MQRC.NOT_CONVERTED) from error
    if not isinstance(found, bytes):
        raise ConversionError(MQRC.NOT_CONVERTED)
    return found


@lru_cache(maxsize=64)
def _converter(name: str) -> Converter | None:
    for entry in entry_points(group=GROUP, name=name):
        try:
            loaded: Converter = entry.load()
        except Exception as error:  # noqa: BLE001 - it is code of others
            _tell(f"{entry.value}, the converter of Format {name!r}, cannot be loaded: {error!r}")
            continue
        return loaded
    return None


def _tell(text: str) -> None:
    """The program gets a reason code, which does not say what is wrong with the package."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)
