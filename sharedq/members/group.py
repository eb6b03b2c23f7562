"""The queue-sharing group as a whole: its deployment, its administration structure, its members."""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import redis

from sharedq.members.agreed_settings import AGREED, AT_ONCE, FIELD, with_record
from sharedq.members.forks import after_fork
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.deployment import Deployment, DeploymentError
from sharedq.redis.embedded import EmbeddedRedis, EmbeddedRedisError
from sharedq.redis.keepalive import silence_of
from sharedq.redis.keys import AdminKeys, StructureKeys, admin_keys, structure_keys
from sharedq.redis.link import Argument, Link, NotReplicatedError, Reply
from sharedq.redis.links import Links, Place
from sharedq.settings.values import Settings

#: Reasons that pass by themselves: Redis went away, a node of the Cluster did, a slot of it moves.
PASSING = (MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE)
#: A field among the members that is none: what every renewal of a lease learns with the member (admin/renew).
_NO_MEMBER = b"!structures"


@dataclass(frozen=True, slots=True)
class Member:
    """A queue manager as the group knows it. ``state``: STARTING, RUNNING, QUIESCING, STOPPED or FAILED."""

    name: str
    state: str
    incarnation: int
    pid: int
    host: str
    details: dict[str, Any]

    @property
    def is_leaving(self) -> bool:
        """Whether it is being removed from the group."""
        return "removing" in self.details


class Group:
    """One queue-sharing group on one Redis deployment. Safe to use from several threads.

    Keeps a link of its own to each server for administrative calls; connections bring theirs, and so does who renews a
    lease.
    """

    def __init__(self, settings: Settings) -> None:
        #: Those in force: the process's own with those of the group.
        self.settings = settings
        self.own_settings = settings
        self._all_links: weakref.WeakSet[Link] = weakref.WeakSet()
        self.name = settings.group
        self.keys: AdminKeys = admin_keys(self.name)
        self._embedded: EmbeddedRedis | None = None
        self._deployment: Deployment | None = None
        self._links = self.new_links()
        #: Until when a silent server is not asked again whether it can be reached, monotonic.
        self._silent_until_s: dict[Place, float] = {}
        self._lock = threading.RLock()
        after_fork(self._begin_anew)

    def _begin_anew(self) -> None:
        # In a forked child: the sockets are the parent's, and whoever held a lock was not forked.
        self._lock = threading.RLock()
        self._links = self.new_links()
        self._deployment = self._embedded = None

    @property
    def journal_max(self) -> str:
        """How many journal entries scripts keep, as their argument; ``"0"``: the journal is off."""
        return str(self.settings.journal_max_entries) if self.settings.journal else "0"

    def structure(self, name: str) -> StructureKeys:
        """Keys of the structure *name*."""
        return structure_keys(self.name, name)

    def deployment(self) -> Deployment:
        """Where Redis is. Starts or joins the embedded server when no URL is set.

        Raises:
            DeploymentError: the URL is bad, or the embedded server cannot be started.
        """
        with self._lock:
            if self._deployment is None:
                url = self.settings.redis_url
                self._deployment = Deployment(
                    url if url is not None else self._join_embedded(), silence_s=silence_of(self.settings.lease_ms)
                )
            return self._deployment

    def _join_embedded(self) -> str:
        try:
            self._embedded = EmbeddedRedis.start_or_join(self.settings.data_dir)
        except EmbeddedRedisError as error:
            raise DeploymentError(str(error)) from error
        return self._embedded.url

    def new_link(self, *, timeout_s: float | None = None) -> Link:
        """A link for a connection or a thread of its own."""
        deployment = self.deployment()
        with self._lock:
            link = Link(
                deployment,
                timeout_s=timeout_s,
                wait_replicas=self.settings.wait_replicas,
                wait_replicas_timeout_ms=self.settings.wait_replicas_timeout_ms,
            )
            self._all_links.add(link)
        return link

    def adopt(self, record: bytes, *, is_running: bool = False) -> None:
        """Go by what is recorded of the group's settings; nothing is where an older version made it.

        Args:
            is_running: only by what may change under a registration (`sharedq.members.agreed_settings`).
        """
        if not record:
            return
        with self._lock:
            self.settings = with_record(self.settings, record, AT_ONCE if is_running else AGREED)
            for link in self._all_links:
                link.wait_for(self.settings.wait_replicas, self.settings.wait_replicas_timeout_ms)

    def reconsider(self, error: MQIError, links: Links | None = None) -> None:
        """After a call that too few replicas acknowledged: another number may be recorded by now.

        Otherwise nobody could hear of it: what tells of changes needs an acknowledgement, too.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        if isinstance(error.__cause__, NotReplicatedError):
            self.adopt(self.read_record(links), is_running=True)

    def read_record(self, links: Links | None = None) -> bytes:
        """What is recorded of the group's settings; empty where nothing is.

        Args:
            links: over which it is asked; default the group's own.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        return bytes((links or self._links).command(self.keys.group, "HGET", self.keys.group, FIELD) or b"")

    def new_links(self) -> Links:
        """Links for who must not wait for other callers of the group: a lease is renewed over links of its own."""
        # Administrative calls never block, so silence means that Redis hangs or is paused.
        return Links(self.deployment, lambda: self.new_link(timeout_s=max(1.0, self.settings.lease_ms / 1000)))

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Run a script over the group's own link; a broken link is replaced at the next call.

        Raises:
            MQIError: 2009 when the outcome is unknown.
        """
        return self._links.call(name, keys, args)

    def command(self, key: str, *args: Argument) -> Reply:
        """Run a plain read command on the server that holds *key*."""
        return self._links.command(key, *args)

    def can_reach(self, structure: str) -> bool:
        """Whether the server of a structure gives a sign of life, where each may have one of its own.

        Who is about to use a connection there asks first, where its loss would be more than that of one call. A server
        that was silent is not asked again within the length of a lease.
        """
        if not self.deployment().is_cluster:
            # Whoever calls finds out soon enough, and so does everybody else.
            return True
        key = self.structure(structure).sequence
        if time.monotonic() < self._silent_until_s.get(self._links.place(key), 0.0):
            return False
        try:
            self.command(key, "EXISTS", key)
        except MQIError as error:
            if error.reason not in (MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE):
                raise
            self._silent_until_s[self._links.place(key)] = time.monotonic() + self.settings.lease_ms / 1000
            return False
        return True

    def may_pass(self, error: BaseException) -> bool:
        """Whether *error* says that a part of Redis is away for now: a node, a primary, a replica that is waited for.

        Where nothing has ever answered, the URL may be wrong.
        """
        if isinstance(error, MQIError):
            is_away = error.reason in PASSING
        else:
            is_away = isinstance(error, (redis.ConnectionError, redis.TimeoutError))
            is_away = is_away and not isinstance(error, redis.AuthenticationError)
        return is_away and self.deployment().has_answered

    def require_reachable(self, structure: str) -> None:
        """Raise unless `can_reach`.

        Raises:
            MQIError: 2345, its server does not answer.
        """
        if not self.can_reach(structure):
            raise error_for(MQRC.CF_NOT_AVAILABLE, "", structure, "its server cannot be reached")

    def client(self, key: str = "") -> redis.Redis:
        """An ordinary client of the server that holds *key* (default: the administration structure)."""
        return self.deployment().client(key or self.keys.group)

    def clients(self) -> list[redis.Redis]:
        """An ordinary client of each server that may hold keys of the group."""
        return self.deployment().clients()

    def members(self) -> list[Member]:
        """Every manager that ever joined, by name, running or not."""
        found = _pairs(self.command(self.keys.members, "HGETALL", self.keys.members))
        members = (_member(name, text) for name, text in found if name != _NO_MEMBER)
        return sorted(members, key=lambda member: member.name)

    def member(self, name: str) -> Member | None:
        """The manager *name*, if it ever joined."""
        text = self.command(self.keys.members, "HGET", self.keys.members, name)
        return None if text is None else _member(name.encode(), text)

    def structure_names(self) -> list[str]:
        """Every structure that may hold messages: application structures and the managers' own."""
        return sorted(name.decode() for name in self.command(self.keys.structures, "HKEYS", self.keys.structures))

    def structure_number(self, name: str) -> int:
        """The number of a structure: part of the MsgIds generated for messages in it.

        Raises:
            MQIError: 2349, no such structure.
        """
        text = self.command(self.keys.structures, "HGET", self.keys.structures, name)
        if text is None:
            raise error_for(MQRC.CF_STRUC_ERROR, "", name, "no such structure")
        return int(json.loads(text)["number"])

    def leave(self) -> None:
        """Close the group's links; the embedded server stops when its last user has left."""
        self._links.close()
        with self._lock:
            if self._embedded is not None:
                self._embedded.leave()
                self._embedded = None
            self._deployment = None


def _pairs(flat: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def _member(name: bytes, text: bytes) -> Member:
    info = json.loads(text)
    return Member(
        name=name.decode(),
        state=info["state"],
        incarnation=int(info["incarnation"]),
        pid=int(info.get("pid", 0)),
        host=str(info.get("host", "")),
        details=info,
    )
