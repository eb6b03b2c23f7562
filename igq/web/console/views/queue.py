"""One queue: its messages page by page, read without a handle, so that none is removed, locked or marked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.web.access.gate import Identity, Refused
from igq.web.console.actions.places import opened
from igq.web.console.views.view import data_route, span_of
from igq.web.decoding import decode, described
from igq.web.site import Site
from sharedq.members.group import Group
from sharedq.messages.message import Message
from sharedq.reading.history import is_noted, read_history
from sharedq.reading.plan import find_parts, plan_ranges
from sharedq.reading.queue import ALL, Reader, ReadFilter, ReadRange, Slice
from sharedq.settings.values import Settings

#: Messages of a page. Bytes of a body to show in a page, and of one message.
PAGE, PREVIEW_BYTES, BODY_BYTES = 25, 160, 256 << 10
#: More than there are messages: one range for each place of the queue.
_ALL = 1 << 60
_LONGEST_NAME = 48
_LONGEST_CURSOR = 100
#: A place on a queue: the number of a range, and a position in it.
Cursor = tuple[int, int]


def routes() -> Sequence[BaseRoute]:
    """The data of the view."""
    return [
        data_route("/queue/messages", _messages),
        data_route("/queue/message", _message),
        data_route("/queue/history", _history),
    ]


async def _messages(site: Site, _: Identity, request: Request) -> Any:
    """A page: ``{"messages": [...], "next": cursor or null}``."""
    queue, qmgr = names_of(request)
    return await site.work(read_page, site.settings, queue, qmgr, cursor_of(request.query_params.get("from", "")))


async def _message(site: Site, _: Identity, request: Request) -> Any:
    """One message with its body, at the cursor that the page gave it."""
    queue, qmgr = names_of(request)
    at = cursor_of(request.query_params.get("at", ""))
    if at is None:
        raise Refused(400, "at says which message")
    found = await site.work(read_message, site.settings, queue, qmgr, at)
    if found is None:
        raise Refused(404, "the message is no longer on the queue")
    return found


async def _history(site: Site, _: Identity, request: Request) -> Any:
    """The figures of the last hour, six hours or day: ``{"looks": [...], "is_noted": ...}``."""
    return await site.work(read_looks, site.settings, *names_of(request), span_of(request))


def read_looks(settings: Settings, queue: str, qmgr: str, span: str) -> dict[str, Any]:
    """Read the looks of a span. Raises MQIError: 2009, Redis cannot be reached."""
    with opened(settings) as group:
        looks = read_history(group, queue, qmgr, span) if is_noted(queue) else []
    return {"looks": [asdict(each) for each in looks], "is_noted": is_noted(queue)}


def read_page(settings: Settings, queue: str, qmgr: str, start: Cursor | None) -> dict[str, Any]:
    """Read a page of messages.

    Args:
        qmgr: the manager that knows the queue; empty for a shared one.
        start: number of the place, and the position after which to begin.

    Raises:
        MQIError: 2085, there is no such queue; 2016, it is inhibited for gets; 2009, Redis cannot be reached.
    """
    shown: list[dict[str, Any]] = []
    with opened_queue(settings, queue, qmgr) as (reader, ranges):
        for number, position, message in messages_after(reader, ranges, start):
            if len(shown) == PAGE:
                return {"messages": shown, "next": shown[-1]["after"]}
            shown.append(summary(number, position, message))
    return {"messages": shown, "next": None}


def read_message(settings: Settings, queue: str, qmgr: str, at: Cursor) -> dict[str, Any] | None:
    """Read one message whole; None if it is no longer there. Raises MQIError as `read_page`."""
    with opened_queue(settings, queue, qmgr) as (reader, ranges):
        found = message_at(reader, ranges, at)
    return None if found is None else _whole(*at, found)


def message_at(reader: Reader, ranges: Sequence[ReadRange], at: Cursor) -> Message | None:
    """Read the message of a cursor; None if it is no longer there."""
    number, position = at
    if number >= len(ranges):
        return None
    what = replace(ranges[number], after=position - 1, until=position)
    return next((message for _, message in _read(reader, what)), None)


def messages_after(
    reader: Reader, ranges: Sequence[ReadRange], start: Cursor | None
) -> Iterator[tuple[int, int, Message]]:
    """Yield the messages after a cursor, each with the number of its place and its position."""
    place, after = start or (0, 0)
    for number, what in enumerate(ranges[place:], start=place):
        since = replace(what, after=max(after, what.after)) if number == place else what
        for position, message in _read(reader, since):
            yield number, position, message


@contextmanager
def opened_queue(
    settings: Settings, queue: str, qmgr: str, wanted: ReadFilter = ALL
) -> Iterator[tuple[Reader, list[ReadRange]]]:
    """A reader of a queue, and the ranges that hold all of its messages. Raises MQIError as `read_page`."""
    group = Group(settings)
    try:
        ranges = plan_ranges(group, find_parts(group, queue, qmgr), wanted, _ALL)
        reader = Reader(group.deployment(), group.name, wanted=wanted)
        try:
            yield reader, ranges
        finally:
            reader.close()
    finally:
        group.leave()


def _read(reader: Reader, what: ReadRange) -> Iterator[tuple[int, Message]]:
    for each in reader.read(what):
        yield from _messages_of(each)


def _messages_of(found: Slice) -> Iterator[tuple[int, Message]]:
    for position, message_id, record in zip(positions_of(found), found.ids.split(), found.records, strict=True):
        yield position, Message((record, message_id, found.place.number, found.now_ms))


def positions_of(found: Slice) -> list[int]:
    """The positions of the messages of a slice."""
    positions = [int(each) for each in found.positions.split()]
    if len(positions) < len(found.records):
        # Of a run of numbers only the first is given.
        return list(range(positions[0], positions[0] + len(found.records)))
    return positions


def summary(number: int, position: int, message: Message) -> dict[str, Any]:
    """Describe a message in a line, with the cursor by which it is read whole."""
    md = described(message.md)
    names = ("msg_id", "correl_id", "format", "priority", "persistence", "put_date", "put_time", "user_identifier")
    decoded = decode(message.md, message.body)
    return {
        "at": json.dumps([number, position]),
        # The next page begins after this message, whether it is there then or not.
        "after": json.dumps([number, position]),
        "token": message.msg_token.hex(),
        "length": message.data_length,
        "headers": [each.name for each in decoded.headers],
        "preview": _preview(decoded.body),
        **{name: md[name] for name in names},
        "put_appl_name": md["put_appl_name"],
    }


def _whole(number: int, position: int, message: Message) -> dict[str, Any]:
    decoded, body = decode(message.md, message.body), decode(message.md, message.body).body
    return {
        **summary(number, position, message),
        "descriptor": described(message.md),
        "decoded": [asdict(each) for each in decoded.headers],
        "body_format": decoded.format.decode("ascii", "replace"),
        "body_ccsid": decoded.ccsid,
        "body_length": len(body),
        "is_cut": len(body) > BODY_BYTES,
        "hex": body[:BODY_BYTES].hex(),
        "text": (decoded.text or "")[:BODY_BYTES] if decoded.text is not None else None,
        "data_hex": message.body[:BODY_BYTES].hex() if decoded.headers else "",
    }


def _preview(body: bytes) -> str:
    return body[:PREVIEW_BYTES].decode("utf-8", "replace")


def names_of(request: Request) -> tuple[str, str]:
    """Return the queue and the manager that a request names. Raises Refused: 400."""
    queue, qmgr = (request.query_params.get(name, "") for name in ("queue", "qmgr"))
    if not queue or len(queue) > _LONGEST_NAME or len(qmgr) > _LONGEST_NAME:
        raise Refused(400, "queue says which queue, qmgr at which manager")
    return queue, qmgr


def cursor_of(text: str) -> Cursor | None:
    """Return the place on a queue that a request names; None: the beginning. Raises Refused: 400."""
    if not text:
        return None
    try:
        number, position = json.loads(text[:_LONGEST_CURSOR])
    except (ValueError, TypeError, RecursionError):
        number = position = None
    if not isinstance(number, int) or not isinstance(position, int) or number < 0 or not 0 <= position < 1 << 53:
        raise Refused(400, "this is no place on a queue")
    return number, position
