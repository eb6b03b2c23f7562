"""The scripts and reads of what people look at later: the audit trail, the figures of the last day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sharedq.redis.keys import AdminKeys
from sharedq.redis.link import ManyReader, Reader, ScriptCall


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


def note_figures_call(keys: AdminKeys, place: int, queues: bytes, group: bytes, kept_s: int) -> ScriptCall:
    """Note the figures of a minute in one of the places of the day, for *kept_s* seconds."""
    return "admin/note_figures", (keys.history_at(place),), (queues, group, kept_s)


def figures_at(
    reader: ManyReader, keys: AdminKeys, places: Sequence[int], what: Literal["queues", "group"]
) -> list[bytes | None]:
    """Return what is noted of the queues, or of the group, in these places of the day."""
    commands = [(b"HGET", keys.history_at(place).encode(), what.encode()) for place in places]
    return reader.commands(keys.history, commands)
