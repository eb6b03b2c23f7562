"""The contenders of igq: a consumer group on a Redis Stream, over the same kind of connection.

``ThinStreams`` packs commands with hiredis and sends them over a wire, which is exactly how igq calls its scripts.
``PlainStreams`` is what most programs do: redis-py's client.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from sharedq.redis.deployment import Deployment
from sharedq.redis.wire import Wire

GROUP, CONSUMER, FIELD = b"group", b"consumer", b"d"
Command = tuple[str | bytes | int, ...]


class Streams(Protocol):
    """The stream commands that the lines use."""

    def add(self, stream: str, body: bytes) -> None:
        """XADD: one round trip."""

    def add_many(self, stream: str, bodies: Sequence[bytes]) -> None:
        """XADD for each, in one write."""

    def read(self, stream: str, count: int, block_ms: int | None = None) -> list[tuple[bytes, bytes]]:
        """XREADGROUP: (id, body) of the next messages; *block_ms* 0 waits for ever."""

    def acknowledge(self, stream: str, ids: Sequence[bytes]) -> None:
        """XACK."""

    def pass_on(self, source: str, target: str, messages: Sequence[tuple[bytes, bytes]]) -> None:
        """MULTI, an XADD for each, XACK, EXEC in one write."""


class ThinStreams:
    """Streams over one wire."""

    def __init__(self, url: str) -> None:
        deployment = Deployment(url)
        self._wire = Wire(deployment.open(deployment.locate("")))

    def send(self, *commands: Command) -> list[Any]:
        """All commands in one write; their replies."""
        packed = b"".join(hiredis.pack_command(command) for command in commands)  # type: ignore[arg-type]
        self._wire.send(packed)
        replies = [self._wire.receive() for _ in commands]
        for reply in replies:
            if isinstance(reply, redis.ResponseError):
                raise reply
        return replies

    def add(self, stream: str, body: bytes) -> None:
        """See ``Streams``."""
        self.send(("XADD", stream, "*", FIELD, body))

    def add_many(self, stream: str, bodies: Sequence[bytes]) -> None:
        """See ``Streams``."""
        self.send(*(("XADD", stream, "*", FIELD, body) for body in bodies))

    def read(self, stream: str, count: int, block_ms: int | None = None) -> list[tuple[bytes, bytes]]:
        """See ``Streams``."""
        block: Command = () if block_ms is None else ("BLOCK", block_ms)
        (reply,) = self.send(("XREADGROUP", "GROUP", GROUP, CONSUMER, "COUNT", count, *block, "STREAMS", stream, ">"))
        return [(entry, fields[1]) for entry, fields in reply[0][1]] if reply else []

    def acknowledge(self, stream: str, ids: Sequence[bytes]) -> None:
        """See ``Streams``."""
        self.send(("XACK", stream, GROUP, *ids))

    def pass_on(self, source: str, target: str, messages: Sequence[tuple[bytes, bytes]]) -> None:
        """See ``Streams``."""
        self.send(
            ("MULTI",),
            *(("XADD", target, "*", FIELD, body) for _, body in messages),
            ("XACK", source, GROUP, *(entry for entry, _ in messages)),
            ("EXEC",),
        )

    def renew(self, *streams: str) -> None:
        """Empty streams, each with a consumer group at its start."""
        for stream in streams:
            self.send(("DEL", stream), ("XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM"))


def plain_client(url: str) -> redis.Redis:
    """redis-py's client, its retries and time-outs off."""
    return redis.Redis.from_url(url, protocol=2, retry=Retry(NoBackoff(), 0), socket_timeout=None)


class PlainStreams:
    """Streams through redis-py's client."""

    def __init__(self, url: str) -> None:
        self._client = plain_client(url)

    def add(self, stream: str, body: bytes) -> None:
        """See ``Streams``."""
        self._client.xadd(stream, {FIELD: body})

    def add_many(self, stream: str, bodies: Sequence[bytes]) -> None:
        """See ``Streams``."""
        pipeline = self._client.pipeline(transaction=False)
        for body in bodies:
            pipeline.xadd(stream, {FIELD: body})
        pipeline.execute()

    def read(self, stream: str, count: int, block_ms: int | None = None) -> list[tuple[bytes, bytes]]:
        """See ``Streams``."""
        reply: Any = self._client.xreadgroup(
            GROUP.decode(), CONSUMER.decode(), {stream: ">"}, count=count, block=block_ms
        )
        return [(entry, fields[FIELD]) for entry, fields in reply[0][1]] if reply else []

    def acknowledge(self, stream: str, ids: Sequence[bytes]) -> None:
        """See ``Streams``."""
        self._client.xack(stream, GROUP.decode(), *ids)

    def pass_on(self, source: str, target: str, messages: Sequence[tuple[bytes, bytes]]) -> None:
        """See ``Streams``."""
        pipeline = self._client.pipeline(transaction=True)
        for _, body in messages:
            pipeline.xadd(target, {FIELD: body})
        pipeline.xack(source, GROUP.decode(), *(entry for entry, _ in messages))
        pipeline.execute()
