"""How bits of options are tested."""

from __future__ import annotations

from enum import IntFlag
from typing import TypeVar

Flags = TypeVar("Flags", bound=type[IntFlag])


def tested_as_integers(flags: Flags) -> Flags:
    """Class decorator: ``&`` with a member answers a plain integer.

    Every call of the MQI tests ten bits or so. ``IntFlag`` makes a member of each answer, which takes six
    times as long as the test itself, and the answer is only ever asked whether it is zero.
    """
    for name in ("__and__", "__rand__"):
        setattr(flags, name, int.__and__)
    return flags
