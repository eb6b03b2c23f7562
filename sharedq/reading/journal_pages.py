"""Reads journals page by page over a group's own link, as they are: for callers that need few entries among many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sharedq.members.group import Group
from sharedq.reading.journal import READ_ENTRIES


class Page(NamedTuple):
    """Some entries of one journal: stream ids, and fields and values one after the other.

    Attributes:
        is_trimmed: entries before these were trimmed, at some time or while this was read.
    """

    entries: Sequence[tuple[bytes, Sequence[bytes]]]
    is_trimmed: bool


def read_pages(group: Group, structure: str, start: str = "-", end: str = "+") -> Iterator[Page]:
    """Yield the journal of a structure from *start* to *end*, both included, oldest first.

    Entries that are added meanwhile are not among them.

    Raises:
        MQIError: 2009, Redis cannot be reached; 2035.
    """
    key = group.structure(structure).journal
    if not group.command(key, "EXISTS", key):
        return
    info = _pairs(group.command(key, "XINFO", "STREAM", key))
    last = info["last-generated-id"].decode()
    end = last if end == "+" else end
    is_trimmed = start == "-" and int(info.get("entries-added", info["length"])) > int(info["length"])
    known: bytes | None = None
    while True:
        # A page begins with the last entry of the page before: while that exists, nothing after it was trimmed.
        at = start if known is None else known.decode()
        entries = group.command(key, "XRANGE", key, at, end, "COUNT", READ_ENTRIES + (known is not None))
        if known is not None:
            if entries and entries[0][0] == known:
                entries = entries[1:]
            else:
                is_trimmed = True
        if not entries:
            return
        yield Page(entries, is_trimmed)
        known = entries[-1][0]


def _pairs(flat: Sequence[bytes]) -> dict[str, bytes]:
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}
