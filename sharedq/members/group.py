"""The queue-sharing group as a whole: its deployment, its administration structure, its members."""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import redis

from sharedq.members.agreed_settings import AGREED, AT_ONCE, FIELD, with_record
from sharedq.members.forks import after_fork
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.answers import LOOK_S, little_patience
from sharedq.redis.deployment import Deployment, DeploymentError, SlotClient
from sharedq.redis.embedded import EmbeddedRedis, EmbeddedRedisError
from sharedq.redis.keys import AdminKeys, StructureKeys, admin_keys, structure_keys
from sharedq.redis.link import Argument, Link, NotReplicatedError, Reply, ScriptCall
from sharedq.redis.links import Links, ServerOrTag
from sharedq.redis.outage import PASSING
from sharedq.redis.wire import Wait, silence_of
from sharedq.scripts.reads import standing_of
from sharedq.settings.values import Settings

#: A field among the members that is no member: what every lease renewal learns besides the member (admin/renew).
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
    def token(self) -> str:
        """``QM.incarnation``."""
        return f"{self.name}.{self.incarnation}"

    @property
    def is_leaving(self) -> bool:
        """Whether it is being removed from the group."""
        return "removing" in self.details


class Group:
    """One queue-sharing group on one Redis deployment. Several threads may use it.

    The group has its own link to each server for administrative calls. Connections have their own links, and so have
    the renewers of leases.
    """

    def __init__(self, settings: Settings) -> None:
        #: The settings in force: those of the process, with those of the group.
        self.settings = settings
        self.own_settings = settings
        self._all_links: weakref.WeakSet[Link] = weakref.WeakSet()
        self.name = settings.group
        self.keys: AdminKeys = admin_keys(self.name)
        self._embedded: EmbeddedRedis | None = None
        self._deployment: Deployment | None = None
        self._links = self.new_links()
        #: Time until which a silent server is not tried again, monotonic.
        self._silent_until_s: dict[ServerOrTag, float] = {}
        self._lock = threading.RLock()
        #: How the connections of programs wait for a reply, where one thread serves many of them.
        self.wait_of_connections: Wait | None = None
        after_fork(self._begin_anew)

    def _begin_anew(self) -> None:
        # In a forked child: the sockets are the parent's, and the threads that held locks do not exist here.
        self._lock = threading.RLock()
        self._links = self.new_links()
        self._deployment = self._embedded = None

    @property
    def journal_max(self) -> str:
        """How many journal entries scripts keep, as their argument. ``"0"``: the journal is off."""
        return str(self.settings.journal_max_entries) if self.settings.journal else "0"

    def structure(self, name: str) -> StructureKeys:
        """Return the keys of the structure *name*."""
        return structure_keys(self.name, name)

    def deployment(self) -> Deployment:
        """Return the deployment. Starts or joins the embedded server if no URL is set.

        Raises:
            DeploymentError: the URL is bad, or the embedded server cannot be started.
        """
        with self._lock:
            if self._deployment is None:
                url, silence_s = self.settings.redis_url, silence_of(self.settings.lease_ms)
                if url is None:
                    why_away = partial(EmbeddedRedis.why_away, self.settings.data_dir)
                    self._deployment = Deployment(self._join_embedded(), silence_s=silence_s, why_away=why_away)
                else:
                    self._deployment = Deployment(url, silence_s=silence_s)
            return self._deployment

    def _join_embedded(self) -> str:
        try:
            self._embedded = EmbeddedRedis.start_or_join(self.settings.data_dir)
        except EmbeddedRedisError as error:
            raise DeploymentError(str(error)) from error
        return self._embedded.url

    def new_link(self, *, timeout_s: float | None = None, wait: Wait | None = None) -> Link:
        """Make a link for one connection or thread. *wait*: how it waits for a reply; None: in the read."""
        deployment = self.deployment()
        with self._lock:
            link = Link(
                deployment,
                timeout_s=timeout_s,
                wait=wait,
                wait_replicas=self.settings.wait_replicas,
                wait_replicas_timeout_ms=self.settings.wait_replicas_timeout_ms,
            )
            self._all_links.add(link)
        return link

    def adopt(self, record: bytes, *, is_running: bool = False) -> None:
        """Use the recorded settings of the group. If an older version made the group, there is no record.

        Args:
            is_running: only those that may change under a registration (`sharedq.members.agreed_settings`).
        """
        if not record:
            return
        with self._lock:
            self.settings = with_record(self.settings, record, AT_ONCE if is_running else AGREED)
            for link in self._all_links:
                link.wait_for(self.settings.wait_replicas, self.settings.wait_replicas_timeout_ms)

    def prepare_to_register(self) -> None:
        """Before a registration, which is a write: it waits for as many replicas as the group says.

        A process whose own settings ask for none learns that from the reply, and pays for no other call.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        if self.settings.wait_replicas:
            self.adopt(self.read_record())

    def reconsider(self, error: MQIError, links: Links | None = None) -> None:
        """Read the group's settings again, after too few replicas acknowledged a call: the number may have changed.

        Otherwise the process could not hear of the change, because that takes a call with acknowledgements, too.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        if isinstance(error.__cause__, NotReplicatedError):
            self.adopt(self.read_record(links), is_running=True)

    def read_record(self, links: Links | None = None) -> bytes:
        """Return the record of the group's settings. Empty if there is none.

        Args:
            links: the links to use. Default: the group's own.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        return bytes((links or self._links).command(self.keys.group, "HGET", self.keys.group, FIELD) or b"")

    def born(self) -> str:
        """Return what tells this group from another of its name, such as the one that Redis lost. Empty: not known.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        return bytes(self.command(self.keys.group, "HGET", self.keys.group, "born") or b"").decode()

    def new_links(self) -> Links:
        """Make links for a user that must not wait for other callers, such as the renewal of a lease."""
        # Administrative calls never block, so silence means that Redis hangs or is paused.
        return Links(self.deployment, lambda: self.new_link(timeout_s=max(1.0, self.settings.lease_ms / 1000)))

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Run a script over the group's own link. The next call replaces a broken link.

        Raises:
            MQIError: 2009, the outcome is unknown.
        """
        return self._links.call(name, keys, args)

    def call_apart(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Run scripts of several structures of one server in one write, as `Link.call_apart` does."""
        return self._links.call_apart(calls)

    def command(self, key: str, *args: Argument) -> Reply:
        """Run a plain read command on the server that holds *key*."""
        return self._links.command(key, *args)

    def commands(self, key: str, commands: Sequence[Sequence[bytes]], *, may_be_refused: bool = False) -> list[Reply]:
        """Run plain read commands of one structure in one write, as `Link.commands` does.

        Args:
            key: any key of the structure.
        """
        return self._links.commands(key, commands, may_be_refused=may_be_refused)

    def node(self, structure: str) -> str:
        """Return where a structure's server is, for people: ``HOST:PORT`` or a path. Empty if no node serves it."""
        try:
            found = self.deployment().locate(self.structure(structure).sequence)
        except (redis.RedisError, OSError):
            return ""
        return found.path or f"{found.host}:{found.port}"

    def can_reach(self, structure: str) -> bool:
        """Whether a structure can be used now, as far as its place goes: see `require_reachable`."""
        return self._why_out_of_reach(structure) is None

    def may_pass(self, error: BaseException) -> bool:
        """Whether *error* means that a part of Redis is away for now: a node, a primary, or a required replica.

        If nothing has ever answered, the URL may be wrong.
        """
        if isinstance(error, MQIError):
            is_away = error.reason in PASSING
        else:
            is_away = isinstance(error, (redis.ConnectionError, redis.TimeoutError))
            is_away = is_away and not isinstance(error, redis.AuthenticationError)
        return is_away and self.deployment().has_answered

    def require_reachable(self, structure: str) -> None:
        """Raise unless the server of a structure answers, if each structure may have its own server.

        Callers ask first where the loss of a connection would cost more than one call. A server that was silent is not
        tried again for the length of a lease.

        Raises:
            MQIError: 2345, its server does not answer; 2346, it is moving to another server.
        """
        error = self._why_out_of_reach(structure)
        if error is not None:
            raise error

    def _why_out_of_reach(self, structure: str) -> MQIError | None:
        if not self.deployment().is_cluster:
            # There is only one server, so the call itself soon shows whether it answers.
            return None
        keys = self.structure(structure)
        key = keys.sequence
        is_silent = time.monotonic() < self._silent_until_s.get(self._links.server_of(key), 0.0)
        try:
            if not is_silent:
                with little_patience(LOOK_S):
                    # The node of a slot that moves answers for keys that it still has, so ask for one that is nowhere.
                    self.command(key, "EXISTS", f"{keys.tag}:nothing")
                return None
        except MQIError as error:
            if error.reason == MQRC.CF_STRUC_IN_USE:
                return error
            if error.reason not in (MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE):
                raise
            self._silent_until_s[self._links.server_of(key)] = time.monotonic() + self.settings.lease_ms / 1000
        return error_for(MQRC.CF_NOT_AVAILABLE, "", structure, "its server cannot be reached")

    def client(self, key: str = "") -> SlotClient:
        """Return an ordinary client of the server that holds *key* (default: the administration structure)."""
        return self.deployment().client(key or self.keys.group)

    def clients(self) -> list[redis.Redis]:
        """Return an ordinary client of each server that may hold keys of the group."""
        return self.deployment().clients()

    def members(self) -> list[Member]:
        """Return every manager that ever joined, by name, running or not."""
        return members_of(_pairs(self.command(self.keys.members, "HGETALL", self.keys.members)))

    def member(self, name: str) -> Member | None:
        """Return the manager *name*, if it ever joined."""
        text = self.command(self.keys.members, "HGET", self.keys.members, name)
        return None if text is None else _member(name.encode(), text)

    def standing(self, name: str, token: str) -> tuple[Member | None, float | None, bytes]:
        """Return the manager *name*, how long the lease of *token* lasts (ms), and its attributes as they are stored.

        Costs one round trip. Without a lease the time is None, and without attributes they are empty.
        """
        text, left_ms, attributes = standing_of(self, self.keys, name, token)
        return None if text is None else _member(name.encode(), text), left_ms, attributes

    def structure_names(self) -> list[str]:
        """Return every structure that may hold messages: application structures and the managers' own."""
        return sorted(name.decode() for name in self.command(self.keys.structures, "HKEYS", self.keys.structures))

    def deleted_structures(self) -> list[str]:
        """Return every structure that was deleted, and in which connections may be registered still."""
        return sorted(name.decode() for name in self.command(self.keys.deleted, "SMEMBERS", self.keys.deleted))

    def structure_number(self, name: str) -> int:
        """Return the number of a structure, which is part of the MsgIds generated in it.

        Raises:
            MQIError: 2349, there is no such structure.
        """
        text = self.command(self.keys.structures, "HGET", self.keys.structures, name)
        if text is None:
            raise error_for(MQRC.CF_STRUC_ERROR, "", name, "no such structure")
        return int(json.loads(text)["number"])

    def leave(self) -> None:
        """Close the group's links. The embedded server stops when its last user has left."""
        self._links.close()
        with self._lock:
            if self._embedded is not None:
                self._embedded.leave()
                self._embedded = None
            self._deployment = None


def members_of(fields: Iterable[tuple[bytes, bytes]]) -> list[Member]:
    """Return the managers that the fields of ``A:members`` tell of, by name."""
    return sorted((_member(name, text) for name, text in fields if name != _NO_MEMBER), key=lambda member: member.name)


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
