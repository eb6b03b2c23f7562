"""Messages of a queue: POST puts one, GET browses one, DELETE gets one, and messagelist lists them.

A DELETE takes its message in a unit of work, and commits that after the client's system has acknowledged the answer. So
a message whose client has gone, or hangs, stays on the queue. IBM's server commits first, and loses such a message. The
price: if the console dies between the two, the message comes again, with its backout count raised.

Source: IBM MQ reference, "/messaging/qmgr/{qmgrName}/queue/{queueName}/message", ".../messagelist".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from igq.web.access.gate import Identity
from igq.web.access.messages import check_authority, check_role
from igq.web.access.users import Role
from igq.web.decoding import Decoded, decode
from igq.web.http.connections import HttpConnection
from igq.web.rest.connections import ConnectionPool
from igq.web.rest.descriptor import (
    PROPERTIES,
    check_parameters,
    descriptor_headers,
    read_descriptor,
    read_match,
    read_number,
    shown_id,
)
from igq.web.rest.errors import RestError, bad_body
from igq.web.rest.properties import parse_header, with_properties
from igq.web.site import Site
from sharedq.api import Queue, QueueManagerConnection, group_for
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, Format, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD, copied

#: Types of bodies that a put takes. Each is text.
MEDIA_TYPES = ("text/plain", "text/html", "text/xml", "application/json", "application/xml")
#: Gets that wait at one time; each has a thread. And how long one waits at the server before it looks at its client.
_WAITING, _SLICE_MS = 32, 1_000
#: Messages of a list if the request names no limit, as IBM has it, and at most.
LISTED, MOST_LISTED = 10, 1_000
#: Seconds between two looks for connections that are idle.
IDLE_LOOK_S = 1.0

P = ParamSpec("P")
_T = TypeVar("_T")


class Messaging:
    """The messages of queues at the members of a group."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._connections = ConnectionPool(site.settings)
        self._waiting = anyio.CapacityLimiter(_WAITING)
        self._closing: asyncio.Task[None] | None = None

    async def check(self, request: Request, identity: Identity, authority: str) -> None:
        """Refuse a user that has not the *authority* for the queue of a request. Raises Refused: 403."""
        queue = request.path_params["queue"]
        check_role(identity, authority, queue)
        if identity.role is Role.MESSAGING:
            group = await self._work(group_for, self._site.settings)
            await self._work(check_authority, group, identity, authority, queue)

    async def put(self, request: Request, identity: Identity) -> Response:
        """POST: put a message. 201."""
        qmgr, queue = request.path_params["qmgr"], request.path_params["queue"]
        check_parameters(request.query_params, ())
        _check_content_type(request)
        md = read_descriptor(request.headers)
        properties = parse_header(", ".join(request.headers.getlist(PROPERTIES)))
        body = await request.body()
        try:
            body.decode()
        except UnicodeDecodeError:
            raise bad_body("It is not text in UTF-8.") from None
        md.format, md.user_identifier = Format.STRING, identity.user.encode()
        data = with_properties(md, body, properties)
        # The queue may be an alias of a topic: the console's own user must not lend its authority to publish.
        user = identity.user if identity.role is Role.MESSAGING else ""
        md = await self._with_connection(qmgr, partial(_put, queue=queue, md=md, data=data, user=user))
        return Response(status_code=201, headers={"ibm-mq-md-messageId": shown_id(md.msg_id)})

    async def browse(self, request: Request, _: Identity) -> Response:
        """GET: the body of the first message that matches, which stays on the queue. 200, or 204 for none."""
        qmgr, queue = request.path_params["qmgr"], request.path_params["queue"]
        check_parameters(request.query_params, ("messageId", "correlationId"))
        md, options = read_match(request.query_params)
        found = await self._with_connection(qmgr, partial(_browse_one, queue=queue, md=md, match=options))
        return Response(status_code=204) if found is None else found

    async def listed(self, request: Request, _: Identity) -> Response:
        """GET messagelist: identifiers and formats of the first messages that match. 200."""
        qmgr, queue = request.path_params["qmgr"], request.path_params["queue"]
        check_parameters(request.query_params, ("messageId", "correlationId", "limit"))
        md, options = read_match(request.query_params)
        limit = read_number(request.query_params, "limit", LISTED, 1)
        browse = partial(_list, queue=queue, md=md, match=options, most=min(limit, MOST_LISTED))
        try:
            found = await self._with_connection(qmgr, browse)
        except MQIError as error:
            if error.reason != MQRC.GET_INHIBITED:
                raise
            # As IBM: nothing is listed there.
            found = []
        return JSONResponse({"messages": found})

    async def get(self, request: Request, _: Identity) -> Response:
        """DELETE: take the first message that matches off the queue. 200, or 204 for none."""
        qmgr, queue = request.path_params["qmgr"], request.path_params["queue"]
        check_parameters(request.query_params, ("messageId", "correlationId", "wait"))
        md, options = read_match(request.query_params)
        wait_ms = read_number(request.query_params, "wait", 0, 0)
        if wait_ms and self._waiting.available_tokens < 1:
            raise RestError(
                503, "IGQB0003E", "Too many gets wait.", f"At most {_WAITING} can wait at a time.", "Try again later."
            )
        connection = await self._take(qmgr)
        try:
            opened = await self._work(_open_to_get, connection, queue)
            taken = await self._get(opened, request, _Wanted(queue, md, options, wait_ms))
            response = None if taken is None else await self._work(_message_response, taken)
        except BaseException:
            await self._drop(connection)
            raise
        if response is None:
            await self._give_back(qmgr, connection)
            return Response(status_code=204)
        return _CommittingResponse(response, request, partial(self._end, qmgr, connection, opened))

    async def _get(self, queue: Queue, request: Request, wanted: _Wanted) -> Message | None:
        """Lock the message, look whether it can be returned, and take it in a unit of work. None if there is none."""
        until_s = time.monotonic() + wanted.wait_ms / 1000
        while True:
            left_ms = max(0, int((until_s - time.monotonic()) * 1000))
            lock = partial(_lock, queue, wanted, min(left_ms, _SLICE_MS))
            if wanted.wait_ms:
                message = await anyio.to_thread.run_sync(lock, limiter=self._waiting)
            else:
                message = await self._work(lock)
            if await request.is_disconnected():
                # The message, if there is one, is unlocked with the connection.
                raise RestError(503, "IGQB0004E", "The get was given up.", "The client has gone.")
            if message is not None:
                await self._work(_message_response, message)
                return await self._work(_take, queue)
            if not left_ms:
                await self._work(queue.close)
                return None

    async def _end(self, qmgr: str, connection: QueueManagerConnection, queue: Queue, is_taken: bool) -> None:
        """Commit the get of a message that the client has. Any other goes back to its place."""
        if not is_taken:
            await self._drop(connection)
            return
        try:
            await self._work(_commit, connection, queue)
        except MQIError:
            await self._drop(connection)
            raise
        await self._give_back(qmgr, connection)

    async def _with_connection(self, qmgr: str, call: Callable[[QueueManagerConnection], _T]) -> _T:
        connection = await self._take(qmgr)
        try:
            result = await self._work(call, connection)
        except BaseException:
            await self._drop(connection)
            raise
        await self._give_back(qmgr, connection)
        return result

    async def _take(self, qmgr: str) -> QueueManagerConnection:
        return await self._work(self._connections.take, qmgr)

    async def _give_back(self, qmgr: str, connection: QueueManagerConnection) -> None:
        await self._work(self._connections.give_back, qmgr, connection)
        if self._closing is None or self._closing.done():
            self._closing = asyncio.create_task(self._close_idle())

    async def _drop(self, connection: QueueManagerConnection) -> None:
        # Also where the server cancels the request, because it stops.
        with anyio.CancelScope(shield=True):
            await self._work(self._connections.drop, connection)

    async def _close_idle(self) -> None:
        is_left = True
        while is_left:
            await asyncio.sleep(IDLE_LOOK_S)
            is_left = await self._work(self._connections.close_idle)

    async def _work(self, call: Callable[P, _T], *args: P.args, **kwargs: P.kwargs) -> _T:
        return await self._site.work(call, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class _Wanted:
    queue: str
    md: MQMD
    match: int
    wait_ms: int


def _put(connection: QueueManagerConnection, *, queue: str, md: MQMD, data: bytes, user: str) -> MQMD:
    options = PutOption.NO_SYNCPOINT | PutOption.FAIL_IF_QUIESCING | PutOption.SET_IDENTITY_CONTEXT
    if user:
        options |= PutOption.ALTERNATE_USER_AUTHORITY
    return connection.put1(queue, data, md, options=int(options), alternate_user=user)


def _browse_one(connection: QueueManagerConnection, *, queue: str, md: MQMD, match: int) -> Response | None:
    with closing(_browse(connection, queue, md, match)) as messages:
        return next(map(_message_response, messages), None)


def _list(connection: QueueManagerConnection, *, queue: str, md: MQMD, match: int, most: int) -> list[dict[str, str]]:
    # Of each message only this is kept: a list may be of many long ones.
    with closing(_browse(connection, queue, md, match)) as messages:
        return list(islice(map(_listed, messages), most))


def _browse(connection: QueueManagerConnection, queue: str, md: MQMD, match: int) -> Generator[Message, None, None]:
    with connection.open(queue, OpenOption.BROWSE | OpenOption.FAIL_IF_QUIESCING) as source:
        step = GetOption.BROWSE_FIRST
        with suppress(NoMsgAvailable):
            while True:
                yield source.get(step | GetOption.FAIL_IF_QUIESCING, match=copied(md), match_options=match)
                step = GetOption.BROWSE_NEXT


def _open_to_get(connection: QueueManagerConnection, queue: str) -> Queue:
    return connection.open(queue, OpenOption.BROWSE | OpenOption.INPUT_SHARED | OpenOption.FAIL_IF_QUIESCING)


def _lock(queue: Queue, wanted: _Wanted, wait_ms: int) -> Message | None:
    options = GetOption.BROWSE_FIRST | GetOption.LOCK | GetOption.FAIL_IF_QUIESCING
    if wait_ms:
        options |= GetOption.WAIT
    try:
        return queue.get(options, wait_ms=wait_ms, match=copied(wanted.md), match_options=wanted.match)
    except NoMsgAvailable:
        return None


def _take(queue: Queue) -> Message:
    return queue.get(GetOption.MSG_UNDER_CURSOR | GetOption.SYNCPOINT | GetOption.FAIL_IF_QUIESCING, match_options=0)


def _commit(connection: QueueManagerConnection, queue: Queue) -> None:
    connection.commit()
    queue.close()


def _check_content_type(request: Request) -> None:
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    if kind.strip().lower() not in MEDIA_TYPES:
        raise RestError(
            415, "MQWB0306E", "This type of content is not supported.", f"It can be {', '.join(MEDIA_TYPES)}."
        )
    name, _, value = parameters.strip().partition("=")
    if parameters and (name.strip().lower(), value.strip(' "').lower()) != ("charset", "utf-8"):
        raise RestError(415, "MQWB0305E", "This character set is not supported.", "It can be utf-8.")


def _text_of(decoded: Decoded) -> str:
    """The text of a message.

    Raises:
        RestError: 501, it is not one that this interface returns.
    """
    text = decoded.text if decoded.format == Format.STRING else None
    if text is None or any(header.name != "MQRFH2" for header in decoded.headers):
        raise RestError(
            501,
            "MQWB0303E",
            "The message is not text, so it cannot be returned. It stays on the queue.",
            "Its format must be MQSTR, alone or after an MQRFH2, and its data must be text in its character set.",
            "Get the message with a program.",
        )
    return text


def _message_response(message: Message) -> Response:
    decoded = decode(message.md, message.body)
    headers = descriptor_headers(message.md, decoded.headers)
    return Response(_text_of(decoded), 200, headers, "text/plain; charset=utf-8")


def _listed(message: Message) -> dict[str, str]:
    md = message.md
    found = {"format": decode(md, message.body).format.decode("ascii", "replace"), "messageId": shown_id(md.msg_id)}
    return found if md.correl_id == NULL_ID else {"correlationId": shown_id(md.correl_id), **found}


class _CommittingResponse(Response):
    """Sends a message, and then calls *end* with whether it was taken, before the client may ask for the next one."""

    def __init__(self, message: Response, request: Request, end: Callable[[bool], Awaitable[None]]) -> None:
        super().__init__(message.body, 200)
        self.raw_headers = message.raw_headers
        self._request, self._end = request, end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's arguments
        """Answer the request."""
        is_taken = False
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
            connection: HttpConnection = self._request.state.connection
            is_taken = await connection.has_taken() and not await self._request.is_disconnected()
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(is_taken)
        await send({"type": "http.response.body", "body": b""})
