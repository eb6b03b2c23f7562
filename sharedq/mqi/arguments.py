"""Reports an argument of the wrong type in plain words. Python itself would notice it late."""

from __future__ import annotations

from dataclasses import fields

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD


def wrong_field(md: MQMD) -> str:
    """Which field of a descriptor has a wrong type; "" where none has."""
    for field in fields(MQMD):
        value, wanted = getattr(md, field.name), int if isinstance(field.default, int) else bytes
        if not isinstance(value, wanted):
            return f"{field.name} is {type(value).__name__}, must be {wanted.__name__}"
    return ""


def refuse_types(verb: str, name: str, md: object, body: object = b"") -> None:
    """Refuse a descriptor or data of a wrong type.

    Raises:
        MQIError: 2026 the descriptor is none, or has a field of a wrong type; 2004 the data are not bytes.
    """
    if not isinstance(md, MQMD):
        raise error_for(MQRC.MD_ERROR, verb, name, f"the descriptor is {type(md).__name__}, must be MQMD")
    if not isinstance(body, bytes | bytearray | memoryview):
        raise error_for(MQRC.BUFFER_ERROR, verb, name, f"the data is {type(body).__name__}, must be bytes")
    if wrong := wrong_field(md):
        raise error_for(MQRC.MD_ERROR, verb, name, wrong)


def refuse_pair(given: object) -> None:
    """Refuse what is no descriptor with its data. Raises TypeError."""
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(f"a message to put is {type(given).__name__}, must be (MQMD, bytes)")
