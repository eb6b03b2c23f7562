"""Limits for clients that send too much, or too slowly, or take an answer too slowly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

#: Seconds: for the headers of a request, between two pieces of its body, for a client to accept a piece of an answer.
HEADERS_S, BODY_S, TAKE_S = 10.0, 20.0, 30.0
#: Seconds for the rest of a body that was refused; between two pieces of that.
REST_S, REST_PIECE_S = 30.0, 5.0
#: Bytes of the body of a request.
LONGEST_BODY = 4 << 20

_T = TypeVar("_T")


class Protocol(H11Protocol):
    """HTTP/1.1 that ends a connection whose request has no complete headers in time.

    uvicorn limits only the time between two requests of a connection.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        elif self._deadline is None:
            self._await_headers()

    def on_response_complete(self) -> None:
        # From here uvicorn's own limit counts, until the next request begins.
        self._stop_waiting()
        super().on_response_complete()

    def _is_answering(self) -> bool:
        # Before the first request there is no cycle.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _await_headers(self) -> None:
        self._deadline = self.loop.call_later(HEADERS_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _TooLongError(Exception):
    """The body of a request is longer than allowed."""


class _TooSlowError(Exception):
    """The client sends or takes too slowly."""


class Limits:
    """ASGI middleware: bounds the body of a request, and the time to wait for the client."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if _told_length(scope) > LONGEST_BODY:
            await _refuse_too_long(scope, receive, send)
            return
        left, is_whole, has_begun = LONGEST_BODY, False, False

        async def bounded_receive() -> Message:
            nonlocal left, is_whole
            # After the body only the end of the connection comes, however late.
            message = await (receive() if is_whole else _within(BODY_S, receive()))
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if left < 0:
                    raise _TooLongError
            return message

        async def bounded_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await _within(TAKE_S, send(message))

        try:
            await self._app(scope, bounded_receive, bounded_send)
        except _TooLongError:
            if has_begun:
                raise
            await _refuse_too_long(scope, receive, send)
        except _TooSlowError:
            if has_begun:
                # uvicorn closes the connection of an answer that ends by an error.
                raise
            await _refuse(408, "the body came too slowly")(scope, receive, send)


async def _within(seconds: float, waited_for: Awaitable[_T]) -> _T:
    try:
        return await asyncio.wait_for(waited_for, seconds)
    except TimeoutError:
        raise _TooSlowError from None


def _told_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


async def _refuse_too_long(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 413 at once, then take the rest of the body, for a limited time, and drop it.

    If the server closed the connection while the client sends, the client might never read the answer.
    """

    async def end_after_the_rest(message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            await send({**message, "more_body": True})
            with suppress(TimeoutError):
                await asyncio.wait_for(_drop_rest(receive), REST_S)
            message = {"type": "http.response.body"}
        await send(message)

    await _refuse(413, "the body is too long")(scope, receive, end_after_the_rest)


async def _drop_rest(receive: Receive) -> None:
    while (await asyncio.wait_for(receive(), REST_PIECE_S)).get("more_body", False):
        pass


def _refuse(status: int, text: str) -> ASGIApp:
    # Not all of the body may have been read, so the connection cannot be used again.
    return PlainTextResponse(text, status, {"Connection": "close"})
