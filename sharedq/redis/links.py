"""Links that several callers share in turn: one link to each server, replaced after a loss.

In a Cluster, a server that does not answer must not delay the callers of another one, so there is a link a server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import redis

from sharedq.redis.deployment import Deployment, Endpoint
from sharedq.redis.link import Argument, Link, Reply, ScriptCall

T = TypeVar("T")
#: The place of a structure's keys: a server, or only their tag while the server is not known.
ServerOrTag = Endpoint | str


@dataclass(slots=True)
class _Shared:
    """A link, and the lock that its users take."""

    link: Link
    lock: threading.RLock = field(default_factory=threading.RLock)


class Links:
    """The links of a group for administrative calls, or of one caller that must never wait for another's call.

    Args:
        deployment: returns the deployment, when it is first needed.
        new_link: makes a link, which connects at its first use.
    """

    def __init__(self, deployment: Callable[[], Deployment], new_link: Callable[[], Link]) -> None:
        self._deployment, self._new_link = deployment, new_link
        self._by_endpoint: dict[Endpoint | None, _Shared] = {}
        self._endpoints: dict[str, Endpoint | None] = {}
        self._moves = 0
        self._lock = threading.RLock()

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Run a script. Raises MQIError: 2009, the outcome is unknown; others as for ``Link.call``."""
        return self._over(keys[0], lambda link: link.call(name, keys, args))

    def call_apart(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Run scripts of several structures of one server in one write, as `Link.call_apart` does."""
        return self._over(calls[0][1][0], lambda link: link.call_apart(calls))

    def command(self, key: str, *args: Argument) -> Reply:
        """Run a plain read command on the server that holds *key*."""
        return self._over(key, lambda link: link.command(key, *args))

    def commands(self, key: str, commands: Sequence[Sequence[bytes]], *, may_be_refused: bool = False) -> list[Reply]:
        """Run plain read commands of one structure in one write, as `Link.commands` does."""
        return self._over(key, lambda link: link.commands(key, commands, may_be_refused=may_be_refused))

    def server_of(self, key: str) -> ServerOrTag:
        """Return where *key* was last found."""
        tag = _tag(key)
        return self._endpoints.get(tag) or tag

    def close(self) -> None:
        """Close every link after the call under way on it. The next call opens new ones."""
        with self._lock:
            every, self._by_endpoint, self._endpoints = list(self._by_endpoint.values()), {}, {}
        for shared in every:
            with shared.lock:
                shared.link.close()

    def _over(self, key: str, call: Callable[[Link], T]) -> T:
        while True:
            shared = self._shared(key)
            with shared.lock:
                # Check for a closed connection before the call, because a call on it would end as unknown.
                if not shared.link.has_lost_server():
                    return call(shared.link)
                if not shared.link.is_broken:
                    shared.link.close()
                    self._deployment().forget()
            self._discard(shared)

    def _shared(self, key: str) -> _Shared:
        """Return the link to the server of *key* as last found, unless a slot has moved or that link was lost."""
        tag, deployment = _tag(key), self._deployment()
        with self._lock:
            if self._moves != deployment.moves:
                self._moves, self._endpoints = deployment.moves, {}
            if tag in self._endpoints:
                shared = self._by_endpoint.get(self._endpoints[tag])
                if shared is not None and not shared.link.is_broken:
                    return shared
        endpoint = None
        if deployment.is_cluster:
            try:
                # Outside the lock, because this may take long.
                endpoint = deployment.locate(key)
            except (redis.RedisError, OSError):
                # The call itself will report what is wrong.
                return _Shared(self._new_link())
        with self._lock:
            self._endpoints[tag] = endpoint
            shared = self._by_endpoint.get(endpoint)
            if shared is None or shared.link.is_broken:
                shared = self._by_endpoint[endpoint] = _Shared(self._new_link())
            return shared

    def _discard(self, shared: _Shared) -> None:
        with self._lock:
            for endpoint, known in list(self._by_endpoint.items()):
                if known is shared:
                    del self._by_endpoint[endpoint]


def _tag(key: str) -> str:
    """Return what all keys of a structure begin with."""
    return key[: key.find("}") + 1]
