"""The scripts and reads of what people look at later: the audit trail."""

from __future__ import annotations

from collections.abc import Mapping

from sharedq.redis.keys import AdminKeys
from sharedq.redis.link import Reader, ScriptCall


def note_deed_call(keys: AdminKeys, deed: Mapping[str, str]) -> ScriptCall:
    """Note a deed, by its fields."""
    return "admin/note_deed", (keys.audit,), [part for pair in deed.items() for part in pair]


def deeds_before(reader: Reader, keys: AdminKeys, before: str, count: int) -> list[tuple[bytes, list[bytes]]]:
    """Return up to *count* deeds, the latest first: the id of each, and its fields and values.

    Args:
        before: the id of a deed, which is not among them; empty: from the latest on.
    """
    end = f"({before}" if before else "+"
    command = ("XREVRANGE", keys.audit, end, "-", "COUNT", count)
    found: list[tuple[bytes, list[bytes]]] = reader.command(keys.audit, *command)
    return found
