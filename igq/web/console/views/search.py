"""A search in the messages of a queue, and the download of messages. Nothing is removed, locked or marked."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from igq.tools.unloading.record_file import Header, Record, RecordWriter
from igq.web.access.gate import Identity, Refused
from igq.web.console.views.queue import (
    PAGE,
    Cursor,
    cursor_of,
    message_at,
    messages_after,
    names_of,
    opened_queue,
    summary,
)
from igq.web.console.views.trace import identifier_of
from igq.web.console.views.view import data_route
from igq.web.decoding import decode
from igq.web.rest.properties import read_properties
from igq.web.site import Site
from sharedq.messages.message import Message
from sharedq.reading.queue import ALL, ReadFilter
from sharedq.settings.values import Settings

#: Messages that one request of a search looks at, and bytes of their data; the page asks again from there.
VISITED, VISITED_BYTES = 2_000, 8 << 20
#: Messages of a download, and bytes of their data.
DOWNLOADED, DOWNLOADED_BYTES = 200, 64 << 20
_IDENTIFIERS = ("msg_id", "correl_id", "group_id")
_KINDS = ("text", "property", *_IDENTIFIERS)
_LONGEST_TEXT = 1_000
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")

Fits = Callable[[Message], bool]


def routes() -> Sequence[BaseRoute]:
    """The search, and the download."""
    return [data_route("/queue/search", _search), data_route("/queue/download", _download)]


async def _search(site: Site, _: Identity, request: Request) -> Any:
    """A step of a search: ``{"messages": [...], "next": cursor or null, "visited": ...}``."""
    asked = request.query_params
    queue, qmgr = names_of(request)
    kind, text = asked.get("kind", "text"), asked.get("text", "")
    if kind not in _KINDS or not 0 < len(text) <= _LONGEST_TEXT:
        raise Refused(400, f"kind is one of {', '.join(_KINDS)}; text has 1 to {_LONGEST_TEXT} characters")
    start = cursor_of(asked.get("from", ""))
    return await site.work(search, site.settings, queue, qmgr, kind, text, start)


def search(settings: Settings, queue: str, qmgr: str, kind: str, text: str, start: Cursor | None) -> dict[str, Any]:
    """Look for messages after a place, at no more than `VISITED` of them.

    Raises:
        Refused: 400, the text is no identifier.
        MQIError: as `read_page`.
    """
    wanted, fits = _wanted(kind, text)
    found: list[dict[str, Any]] = []
    visited = size = 0
    with opened_queue(settings, queue, qmgr, wanted) as (reader, ranges):
        for number, position, message in messages_after(reader, ranges, start):
            visited, size = visited + 1, size + message.data_length
            if fits(message):
                found.append(summary(number, position, message))
            if len(found) == PAGE or visited == VISITED or size >= VISITED_BYTES:
                return {"messages": found, "next": f"[{number}, {position}]", "visited": visited}
    return {"messages": found, "next": None, "visited": visited}


def _wanted(kind: str, text: str) -> tuple[ReadFilter, Fits]:
    if kind == "text":
        return ALL, partial(_has_text, text)
    if kind == "property":
        name, equals, value = text.partition("=")
        return ALL, partial(_has_property, name.strip(), value.strip() if equals else None)
    identifier = identifier_of(text.strip())
    # The index may also lead to a MsgId that igq generated for another manager.
    names = {each: identifier if each == kind else b"" for each in _IDENTIFIERS}
    wanted = ReadFilter(names["msg_id"], names["correl_id"], names["group_id"])
    return wanted, lambda message: getattr(message.md, kind) == identifier


def _has_text(text: str, message: Message) -> bool:
    """Whether the data have the text: in their character set, in any case; or its bytes in UTF-8."""
    body = decode(message.md, message.body).text
    is_in_body = body is not None and text.casefold() in body.casefold()
    return is_in_body or text.encode() in message.body


def _has_property(name: str, value: str | None, message: Message) -> bool:
    properties = read_properties(decode(message.md, message.body).headers)
    return any(each.name == name and value in (None, each.value) for each in properties)


async def _download(site: Site, identity: Identity, request: Request) -> Response:
    """One message: its data. Several: a file that ``igq load`` reads, with their descriptors."""
    queue, qmgr = names_of(request)
    places = [cursor_of(each) for each in request.query_params.getlist("at")]
    cursors = [each for each in places if each is not None]
    if not 0 < len(cursors) <= DOWNLOADED:
        raise Refused(400, f"at says which messages, 1 to {DOWNLOADED}")
    name, data = await site.work(read_download, site.settings, queue, qmgr, cursors)
    site.record(identity, f"{qmgr}: download {len(cursors)} of {queue}", "done")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


def read_download(settings: Settings, queue: str, qmgr: str, cursors: Sequence[Cursor]) -> tuple[str, bytes]:
    """Return the name and the bytes of a file with these messages.

    Raises:
        Refused: 404, one is no longer there; 413, they are too long together.
        MQIError: as `read_page`.
    """
    found: list[Message] = []
    size = 0
    with opened_queue(settings, queue, qmgr) as (reader, ranges):
        for each in cursors:
            message = message_at(reader, ranges, each)
            if message is None:
                raise Refused(404, "a message is no longer on the queue")
            size += message.data_length
            if size > DOWNLOADED_BYTES:
                raise Refused(413, f"together they have more than {DOWNLOADED_BYTES >> 20} MiB: choose fewer")
            found.append(message)
        structures = [ranges[number].place.structure for number, _ in cursors]
    stem = _UNSAFE.sub("_", queue) or "queue"
    if len(found) == 1:
        return f"{stem}-{found[0].md.msg_id.hex()}.bin", found[0].body
    records = [Record(each.md, each.body, structure) for each, structure in zip(found, structures, strict=True)]
    begun = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{stem}.unload", _as_file(Header.new(settings.group, qmgr, queue, begun, is_removed=False), records)


def _as_file(header: Header, records: Sequence[Record]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="igq") as directory:
        path = Path(directory) / "messages"
        with RecordWriter.create(path, header) as writer:
            writer.write(records)
            writer.complete()
        return path.read_bytes()
