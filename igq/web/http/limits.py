"""Limits for the body of a request: its bytes, its time, and how it says where it ends."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from igq.web.http.connections import HttpConnection

#: Bytes of a body, and seconds for all of it: of a request that nobody has signed in for, and of any other.
SHORT_BODY, SHORT_S = 8 << 10, 10.0
LONGEST_BODY, LONGEST_S = 4 << 20, 120.0
#: Seconds between two pieces of a body.
PIECE_S = 20.0
#: The rest of a body that nobody reads: bytes, seconds, and seconds between two pieces.
REST_BYTES, REST_S, REST_PIECE_S = 16 << 20, 20.0, 5.0


class _TooLongError(Exception):
    """The body of a request is longer than allowed."""


class _TooSlowError(Exception):
    """The client sends too slowly."""


class Limits:
    """ASGI middleware: bounds the body of a request, in bytes and in time."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection: HttpConnection = scope["state"]["connection"]
        connection.begin_request()

        async def send_while_open(message: Message) -> None:
            # uvicorn has itself answered a body that is no HTTP.
            if connection.is_closing():
                raise ClientDisconnect
            await send(message)

        # A client that goes is no error.
        with suppress(ClientDisconnect):
            await self._answer(scope, _Body(scope, receive, connection), send_while_open)
        if connection.is_closing():
            # Before that uvicorn would miss an answer.
            await connection.end()
        # After any other error uvicorn closes the connection.
        connection.end_request()

    async def _answer(self, scope: Scope, body: _Body, send: Send) -> None:
        scope["state"]["body"] = body
        has_begun = False

        async def send_after_body(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if not body.is_whole:
                message = await _without_body(message, body, send)
            await send(message)

        try:
            _check_framing(scope)
            await self._app(scope, body.receive, send_after_body)
        except _TooLongError:
            if not has_begun:
                await _refuse(413, "the body is too long")(scope, body.receive, send_after_body)
        except _TooSlowError:
            if not has_begun:
                await _refuse(408, "the body came too slowly")(scope, body.receive, send)
        except _AmbiguousError:
            await _refuse(400, "the body has two lengths")(scope, body.receive, send_after_body)


class _AmbiguousError(Exception):
    """Two servers may see the end of this body in two places."""


class _Body:
    """The body of a request, as it comes.

    Attributes:
        is_whole: whether all of it has come.
    """

    def __init__(self, scope: Scope, receive: Receive, connection: HttpConnection) -> None:
        self._receive, self._connection = receive, connection
        self._length = _told_length(scope)
        self._most, self._began_s, self._longest_s = SHORT_BODY, time.monotonic(), SHORT_S
        self._come = 0
        self.is_whole = not self._length and not _has(scope, b"transfer-encoding")

    def widen(self) -> None:
        """Allow more: the request comes from a user."""
        self._connection.sign_in()
        self._most, self._longest_s = LONGEST_BODY, LONGEST_S

    async def receive(self) -> Message:
        """Return the next piece, or that the client has gone."""
        if self.is_whole:
            # After the body only the end of the connection comes, however late.
            return await self._receive()
        if self._length > self._most:
            raise _TooLongError
        left_s = self._began_s + self._longest_s - time.monotonic()
        message = await self._piece(min(left_s, PIECE_S))
        if self._come > self._most:
            raise _TooLongError
        return message

    async def drop_rest(self) -> None:
        """Take the rest, for a limited time, and drop it.

        If the server closed the connection while the client sends, the client might never read the answer.
        """
        most, until_s = self._come + REST_BYTES, time.monotonic() + REST_S
        with suppress(_TooSlowError):
            while not self.is_whole and self._come <= most:
                await self._piece(min(REST_PIECE_S, until_s - time.monotonic()))

    async def _piece(self, seconds: float) -> Message:
        self._connection.await_body(self._began_s)
        try:
            async with asyncio.timeout(seconds):
                message = await self._receive()
        except TimeoutError:
            raise _TooSlowError from None
        finally:
            self._connection.await_body(None)
        if message["type"] == "http.request":
            self._come += len(message.get("body", b""))
            self.is_whole = not message.get("more_body", False)
        else:
            self.is_whole = True
        return message


def widen_limits(request: Request) -> None:
    """Allow what a user may send: the request has shown that it comes from one."""
    body: _Body = request.state.body
    body.widen()


async def _without_body(message: Message, body: _Body, send: Send) -> Message:
    """Change a piece of an answer that begins before the body has come: nobody reads the rest, and then it is over."""
    if message["type"] == "http.response.start":
        MutableHeaders(scope=message)["Connection"] = "close"
    elif not message.get("more_body", False):
        await send({**message, "more_body": True})
        await body.drop_rest()
        return {"type": "http.response.body"}
    return message


def _check_framing(scope: Scope) -> None:
    """Refuse a body whose end a proxy may see elsewhere. Source: RFC 9112, section 6.1."""
    if _has(scope, b"transfer-encoding") and (_has(scope, b"content-length") or scope["http_version"] == "1.0"):
        raise _AmbiguousError


def _has(scope: Scope, wanted: bytes) -> bool:
    return any(name == wanted for name, _ in scope["headers"])


def _told_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


def _refuse(status: int, text: str) -> ASGIApp:
    # Not all of the body may have been read, so the connection cannot be used again.
    return PlainTextResponse(text, status, {"Connection": "close"})
