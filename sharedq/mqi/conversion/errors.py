"""The failure of a conversion."""

from __future__ import annotations

from typing import TypeVar

from sharedq.mqi.constants.reasons import MQRC

T = TypeVar("T")


class ConversionError(Exception):
    """The data cannot be converted; ``reason`` says why."""

    def __init__(self, reason: MQRC) -> None:
        super().__init__(reason)
        self.reason = reason


def known(found: T | MQRC) -> T:
    """The thing that was found. Raises ConversionError: a reason was found."""
    if isinstance(found, MQRC):
        raise ConversionError(found)
    return found
