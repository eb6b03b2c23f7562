"""Objects that a program has opened."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, Self, TypeVar

from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ListHandle
from sharedq.session.topics import SubscriptionHandle, TopicHandle

_H = TypeVar("_H", bound=Handle | ListHandle | TopicHandle | SubscriptionHandle)


class Opened(Generic[_H]):
    """An object with a handle. Leaving its ``with`` block closes it."""

    def __init__(self, connection: Connection, handle: _H) -> None:
        self.connection = connection
        self.handle: _H = handle

    def close(self) -> object:
        """MQCLOSE."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self.handle.is_closed and not self.connection.is_ended:
            self.close()
