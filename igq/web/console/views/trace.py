"""A message's way: each put, hop and get of the messages of an identifier, from the journals."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.tools.trace import Identifiers, MessageWay, describe, trace
from igq.web.access.gate import Identity, Refused
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.members.group import Group
from sharedq.reading.journal import JournalError, check_order, parse_position
from sharedq.settings.values import Settings

_KINDS = ("msg_id", "correl_id", "group_id")
_HEXADECIMAL = re.compile("[0-9A-Fa-f]{48}")
_IDENTIFIER_BYTES = 24
#: Steps to show.
_SHOWN = 1_000
#: A search reads the journals from their beginning: one at a time.
_ONE = threading.Lock()


def routes() -> Sequence[BaseRoute]:
    """The steps of a way."""
    return [data_route("/trace", _trace)]


async def _trace(site: Site, _: Identity, request: Request) -> Any:
    asked = request.query_params
    kind, text = asked.get("kind", ""), asked.get("id", "").strip()
    if kind not in _KINDS or not text:
        raise Refused(400, "say msg_id, correl_id or group_id, and an identifier")
    wanted = Identifiers(**{kind: identifier_of(text)})
    try:
        start, end = parse_position(asked.get("from", "") or "-"), parse_position(asked.get("to", "") or "+")
        check_order(start, end)
    except (ValueError, JournalError) as error:
        raise Refused(400, str(error)) from None
    return await site.work(follow, site.settings, wanted, asked.get("queue", ""), start, end)


def identifier_of(text: str) -> bytes:
    """Read 48 hexadecimal digits, or up to 24 bytes of text. Raises Refused."""
    if _HEXADECIMAL.fullmatch(text):
        return bytes.fromhex(text)
    identifier = text.encode("utf-8", "replace")
    if len(identifier) > _IDENTIFIER_BYTES:
        raise Refused(400, "an identifier has 24 bytes, or 48 hexadecimal digits")
    return identifier.ljust(_IDENTIFIER_BYTES, b"\0")


def follow(settings: Settings, wanted: Identifiers, queue: str, start: str, end: str) -> dict[str, Any]:
    """Follow messages, as ``igq trace`` does.

    Raises:
        Refused: 429, another search runs; 503, the journal cannot be read.
        MQIError: 2009, Redis cannot be reached.
    """
    if not _ONE.acquire(blocking=False):
        raise Refused(429, "another search runs: try again when it has ended")
    try:
        way = _way(settings, wanted, queue, start, end)
    finally:
        _ONE.release()
    stored = [{"structure": key[0], "message": key[1], "queue": place} for key, place in way.stored.items()]
    return {
        "steps": [describe(each) for each in way.steps[:_SHOWN]],
        "is_cut": len(way.steps) > _SHOWN,
        "stored": stored[:_SHOWN],
        "entries": way.entries,
        "trimmed": way.trimmed,
        "away": sorted(way.away),
    }


def _way(settings: Settings, wanted: Identifiers, queue: str, start: str, end: str) -> MessageWay:
    group = Group(settings)
    try:
        return trace(group, wanted, queue=queue, start=start, end=end)
    except JournalError as error:
        raise Refused(503, str(error)) from None
    finally:
        group.leave()
