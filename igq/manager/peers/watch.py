"""How one manager notices the deaths of others, and of programs, before their leases run out.

The death of a program, or of another manager, on this machine is noticed at once. It is also noticed, before the
manager's next look at the leases, that a living program has lost connections.

Programs and managers announce themselves (`sharedq.members.presence`), the kernel adds the pid and the user, and a
pidfd reports the end of that process. The manager listens only to processes of its own user and of root. For all others
it waits until the lease has run out.
"""

from __future__ import annotations

import os
import re
import resource
import selectors
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from igq.manager.membership import Membership, host_name
from igq.manager.peers.links import Address, PeerLinks, own_address
from sharedq.members.group import Member
from sharedq.members.news import suspect
from sharedq.members.presence import BEGINS, ENDS, LOSES, address_of, tell_presence
from sharedq.mqi.errors import MQIError
from sharedq.redis.keys import ADMIN_STRUCTURE

#: pid, user and group of the sender.
_CREDENTIALS = struct.Struct("3i")
_LONGEST = 256
#: A process that reconnects often may die without the message that ends a token: remember this many of its tokens.
_TOKENS_MAX = 64
_MANAGER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}\.[0-9]{1,20}")
#: The most messages to read before deaths are reported: far more than a socket's queue holds.
_HEARD_MAX = 1_000
#: The most processes to watch, and the part of this process's limit on open files that they may take. The leases of
#: other processes tell.
_WATCHED_MAX, _WATCHED_PART = 1_000, 4
#: Seconds between two looks for managers to which there is no link: each had one when it joined.
MEET_S = 30.0
#: States of a manager that does not run.
_ENDED = ("STOPPED", "FAILED")


@dataclass(slots=True)
class _Watched:
    pid: int
    #: None: the process was gone when its message was read.
    pidfd: int | None
    tokens: dict[str, None] = field(default_factory=dict)


class DeathWatch:
    """Listens in its own thread until `close`.

    Args:
        incarnation: ``QM.incarnation`` of the manager, which is this process.
        on_death: called in the watch's thread with the process token and the pid of a program that died without MQDISC,
            or with the incarnation and the pid of a manager that died. Processes of this machine claim these tokens, so
            the caller must compare them with what Redis knows.
        on_loss: called in the watch's thread after a program has told the group of connections that it lost.

    Raises:
        OSError: the address is in use, or this system has no such sockets.
    """

    def __init__(self, incarnation: str, on_death: Callable[[str, int], None], on_loss: Callable[[], None]) -> None:
        self._own, self._on_death, self._on_loss = incarnation, on_death, on_loss
        self._users = {os.geteuid(), 0}
        self._is_token = re.compile(re.escape(incarnation) + r"\.[0-9]{1,20}").fullmatch
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = _WATCHED_MAX if limit == resource.RLIM_INFINITY else min(_WATCHED_MAX, limit // _WATCHED_PART)
        self._watched: dict[int, _Watched] = {}
        self._ends, self._end = socket.socketpair()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._socket.setblocking(False)
            self._socket.bind(address_of(os.getpid(), incarnation))
        except OSError:
            self._close_sockets()
            raise
        self._thread = threading.Thread(target=self._run, name="deaths", daemon=True)
        self._thread.start()

    def greet(self, managers: Iterable[tuple[int, str]]) -> None:
        """Announce this manager to others on this machine, by pid and incarnation. Each one that hears it answers."""
        for pid, incarnation in managers:
            tell_presence(address_of(pid, incarnation), BEGINS, self._own)

    def close(self) -> None:
        """Stop watching, and say good-bye to the managers that watch this one."""
        # A forked process may hold this end too, so closing it would not wake the watch.
        self._end.send(b"end")
        self._thread.join()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._ends, selectors.EVENT_READ)
            selector.register(self._socket, selectors.EVENT_READ)
            while True:
                ready = [key for key, _ in selector.select()]
                if any(key.fileobj is self._ends for key in ready):
                    for each in self._watched.values():
                        if each.pidfd is not None:
                            os.close(each.pidfd)
                        for token in filter(self._is_manager, each.tokens):
                            tell_presence(address_of(each.pid, token), ENDS, self._own)
                    self._close_sockets()
                    return
                ended = [key.data for key in ready if key.data]
                # By now all messages of the dead are in the socket, perhaps one that says that the program ended
                # normally.
                for _ in range(_HEARD_MAX):
                    if not self._hear(selector):
                        break
                ended += [each for each in self._watched.values() if each.pidfd is None]
                for each in ended:
                    if self._watched.get(each.pid) is each:
                        self._has_died(selector, each)

    def _close_sockets(self) -> None:
        for each in (self._socket, self._ends, self._end):
            each.close()

    def _hear(self, selector: selectors.BaseSelector) -> bool:
        """Read one message. False if there is none."""
        try:
            text, ancillary, _, _ = self._socket.recvmsg(_LONGEST, socket.CMSG_SPACE(_CREDENTIALS.size))
        except BlockingIOError:
            return False
        pid, user = next(
            (_CREDENTIALS.unpack(data)[:2] for *_, data in ancillary if len(data) == _CREDENTIALS.size), (0, -1)
        )
        token = text[1:].decode(errors="replace")
        # No pid: the sender is in another pid namespace, where we cannot see it.
        if pid > 0 and user in self._users and (self._is_token(token) or self._is_manager(token)):
            if text[:1] == LOSES:
                self._on_loss()
            else:
                self._heard(selector, pid, is_there=text[:1] == BEGINS, token=token)
        return True

    def _is_manager(self, token: str) -> bool:
        """Whether it is the incarnation of another manager."""
        return _MANAGER.fullmatch(token) is not None and token != self._own

    def _heard(self, selector: selectors.BaseSelector, pid: int, *, is_there: bool, token: str) -> None:
        watched = self._watched.get(pid)
        if is_there:
            watched = watched or self._watch(selector, pid)
            if watched is not None:
                if token not in watched.tokens and self._is_manager(token):
                    # The other manager may have begun to listen after this one announced itself.
                    self.greet([(pid, token)])
                watched.tokens[token] = None
                if len(watched.tokens) > _TOKENS_MAX:
                    del watched.tokens[next(iter(watched.tokens))]
        elif watched is not None:
            watched.tokens.pop(token, None)
            if not watched.tokens:
                self._forget(selector, watched)

    def _watch(self, selector: selectors.BaseSelector, pid: int) -> _Watched | None:
        """Start to watch a process. None if that is impossible, or if enough are watched."""
        if len(self._watched) >= self._most:
            return None
        try:
            watched = _Watched(pid, os.pidfd_open(pid))
        except ProcessLookupError:
            watched = _Watched(pid, None)
        except OSError:
            return None
        self._watched[pid] = watched
        if watched.pidfd is not None:
            selector.register(watched.pidfd, selectors.EVENT_READ, watched)
        return watched

    def _has_died(self, selector: selectors.BaseSelector, watched: _Watched) -> None:
        self._forget(selector, watched)
        for token in watched.tokens:
            self._on_death(token, watched.pid)

    def _forget(self, selector: selectors.BaseSelector, watched: _Watched) -> None:
        if watched.pidfd is not None:
            selector.unregister(watched.pidfd)
            os.close(watched.pidfd)
        del self._watched[watched.pid]


def watch_deaths(
    incarnation: str, on_death: Callable[[str, int], None], on_loss: Callable[[], None]
) -> DeathWatch | None:
    """Watch the programs of this machine if the system can, else return None: then the leases tell."""
    if sys.platform != "linux":
        return None
    try:
        return DeathWatch(incarnation, on_death, on_loss)
    except OSError:
        return None


class Peers:
    """The watches of one incarnation over other processes.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
        on_death, on_loss: as those of `DeathWatch`.
        on_suspicion: called in a thread of its own after managers were asked for a sign of life. The leases of those
            that give none run out soon.
    """

    def __init__(
        self,
        membership: Membership,
        say: Callable[..., None],
        *,
        on_death: Callable[[str, int], None],
        on_loss: Callable[[], None],
        on_suspicion: Callable[[], None],
    ) -> None:
        self._membership, self._say, self._on_suspicion = membership, say, on_suspicion
        self._deaths = watch_deaths(membership.token, on_death, on_loss)
        self._links: PeerLinks | None = None
        #: Held while links are made, which happens in another thread than `close`.
        self._lock = threading.Lock()
        self._is_over = False

    @property
    def has_links(self) -> bool:
        """Whether it has links to managers of other machines, of which some may be missing."""
        return self._links is not None

    def join(self) -> None:
        """Announce this manager to the others, and listen to those of other machines.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        listen = self._where_to_listen()
        if listen is not None and self._listen(listen):
            assert self._links is not None
            # First tell, then look: of two managers that join together, one at least sees the other.
            self._membership.tell(peer=self._links.address)
        self.meet()

    def meet(self) -> None:
        """Make the links that are missing. Raises MQIError: 2009, Redis cannot be reached."""
        others = [each for each in self._membership.group.members() if each.state not in _ENDED]
        others = [each for each in others if each.token != self._membership.token]
        if self._deaths is not None:
            self._deaths.greet([(each.pid, each.token) for each in others if each.host == host_name()])
        found = ((each.token, _address_of(each)) for each in others)
        addresses = {token: address for token, address in found if address is not None}
        with self._lock:
            if self._links is not None and not self._is_over:
                self._links.reach(addresses)

    def close(self) -> None:
        """Watch no more. The addresses belong to this process and are in use until then."""
        with self._lock:
            self._is_over = True
            if self._deaths is not None:
                self._deaths.close()
            if self._links is not None:
                self._links.close()

    def _listen(self, at: Address) -> bool:
        with self._lock:
            if self._is_over:
                return False
            try:
                self._links = PeerLinks(self._membership.group.name, self._membership.token, at, self._suspect)
            except OSError as error:
                self._say("IGQ0035E", host=at[0], port=at[1], error=error)
                return False
            return True

    def _where_to_listen(self) -> Address | None:
        group = self._membership.group
        where = group.node(ADMIN_STRUCTURE)
        if not where or where.startswith("/"):
            # No server can be found now, or it is a unix socket.
            return None
        server, _, port = where.rpartition(":")
        try:
            host = own_address((server, int(port)))
        except OSError:
            return None
        return (host, group.settings.peer_port) if host else None

    def _suspect(self, incarnations: list[str]) -> None:
        try:
            asked = suspect(self._membership.group, self._membership.token, incarnations)
        except MQIError:
            # Redis cannot be reached. The leases tell.
            return
        for target in asked:
            self._say("IGQ0034I", target=target)
        if asked:
            self._on_suspicion()


def _address_of(member: Member) -> Address | None:
    """Where it takes links; None if it takes none."""
    found = member.details.get("peer")
    return None if found is None else (str(found[0]), int(found[1]))
