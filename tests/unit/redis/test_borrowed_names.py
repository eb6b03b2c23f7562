"""Names of other packages that are not public, and that igq uses: decision 23 says why."""

from __future__ import annotations

import asyncio
import inspect
import socket
from typing import Any

import redis
from redis.connection import DefaultParser
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sharedq.redis.deployment import Deployment
from tests.support.server import Server


async def _nothing(_scope: object, _receive: object, _send: object) -> None:
    """An application that answers nothing."""


def test_a_connection_of_redis_py_has_its_socket_as_sock(redis_server: Server) -> None:
    deployment = Deployment(redis_server.url)
    connection: Any = deployment.open(deployment.locate(""))
    assert isinstance(connection._sock, socket.socket)
    connection.disconnect()


def test_the_parser_of_redis_py_makes_errors_from_their_text() -> None:
    parse_error: Any = DefaultParser.parse_error
    moved = parse_error("MOVED 5 127.0.0.1:6379")
    assert isinstance(moved, redis.exceptions.MovedError)
    assert (moved.slot_id, moved.port) == (5, 6379)
    assert isinstance(parse_error("NOSCRIPT none"), redis.exceptions.NoScriptError)


def test_uvicorn_makes_a_protocol_from_these_four_arguments() -> None:
    parameters = list(inspect.signature(H11Protocol).parameters)
    assert parameters == ["config", "server_state", "app_state", "_loop"]
    loop = asyncio.new_event_loop()
    try:
        assert isinstance(H11Protocol(Config(app=_nothing), ServerState(), {}, loop), asyncio.Protocol)
    finally:
        loop.close()
