"""Shared queues on Redis: the Message Queue Interface, and everything that speaks to Redis.

``connect`` is the way in; ``sharedq.pymqi`` is a drop-in for programs written for the ``pymqi`` package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sharedq import tracing

if TYPE_CHECKING:
    from sharedq.api import Queue, QueueManagerConnection, connect
    from sharedq.coroutines import AsyncConnection, AsyncQueue, connect_async
    from sharedq.messages.message import Message
    from sharedq.mqi.errors import MQIError
    from sharedq.properties.handle import MessageHandle
    from sharedq.tracing.connections import context_of, trace_connections

__all__ = [
    "AsyncConnection",
    "AsyncQueue",
    "MQIError",
    "Message",
    "MessageHandle",
    "Queue",
    "QueueManagerConnection",
    "connect",
    "connect_async",
    "context_of",
    "trace_connections",
]

_HOMES = {
    "AsyncConnection": "sharedq.coroutines",
    "AsyncQueue": "sharedq.coroutines",
    "MQIError": "sharedq.mqi.errors",
    "Message": "sharedq.messages.message",
    "MessageHandle": "sharedq.properties.handle",
    "Queue": "sharedq.api",
    "QueueManagerConnection": "sharedq.api",
    "connect": "sharedq.api",
    "connect_async": "sharedq.coroutines",
    "context_of": "sharedq.tracing.connections",
    "trace_connections": "sharedq.tracing.connections",
}


tracing.register()


def __getattr__(name: str) -> Any:
    # Lazily: parts that need one module only (the guardian of the embedded server) start several times as fast.
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
