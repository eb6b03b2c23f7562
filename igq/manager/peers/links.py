"""Suspects the death of a manager on another machine when its link to this manager ends.

A link is a TCP connection between two managers. After a greeting nothing is sent over it. The kernel closes the
connections of a process that dies, however it dies; a cut network may end a link, too. So the end of a link only raises
a *suspicion*: the manager is asked by way of Redis to renew its lease (`sharedq.members.news.suspect`).

A manager listens at the address at which it reaches Redis, and tells the group where. Where that is an address of this
machine alone there is no other machine, and no link (`igq.manager.peers.watch` watches the managers of one machine).
"""

from __future__ import annotations

import errno
import ipaddress
import math
import os
import re
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

#: A host and a port.
Address = tuple[str, int]

#: Seconds that the other side has for its greeting.
_GREETING_S = 5.0
#: Connections whose other side has not greeted yet: of this manager's making, and of others'.
_CALLED_MAX, _STRANGERS_MAX = 256, 32
#: Links of one manager. The leases tell of the managers beyond.
_LINKS_MAX = 512
#: Seconds before another end of a link to the same manager counts: nobody can have a manager asked all the time.
_AGAIN_S = 1.0
#: Seconds until it takes connections again after a lack of open files.
_PAUSE_S = 1.0
#: The group, the incarnation that speaks, and the one that it means: another one may have its port by now.
_GREETING = re.compile(rb"igq (\S{1,4}) ([A-Za-z]\w{0,47}\.[0-9]{1,20}) ([A-Za-z]\w{0,47}\.[0-9]{1,20})\n", re.ASCII)
_LONGEST = 192
#: Seconds without traffic after which the kernel asks the other host whether it is there; between two questions; and
#: how many it asks.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


@dataclass(eq=False, slots=True)
class _Link:
    """One connection.

    Attributes:
        token: the incarnation at the other end; empty while an unknown side has not greeted.
        is_called: this manager has made the connection.
        until_s: monotonic time until which the greeting must have come.
        has_greeted: the other side is a manager of the group.
        is_open: the connection is made.
    """

    socket: socket.socket
    token: str
    is_called: bool
    until_s: float
    heard: bytes = b""
    has_greeted: bool = False
    is_open: bool = False


class PeerLinks:
    """The links of one manager, served in a thread of their own until `close`.

    Args:
        group: name of the group.
        own: the manager's incarnation, ``QM.incarnation``.
        listen: where it listens; port 0 stands for any that is free.
        on_end: called in that thread with the incarnations whose links have ended.

    Attributes:
        address: where it listens.

    Raises:
        OSError: the address cannot be used.
    """

    def __init__(self, group: str, own: str, listen: Address, on_end: Callable[[list[str]], None]) -> None:
        self._group, self._own, self._on_end = group, own, on_end
        self._links: dict[_Link, None] = {}
        self._wanted: dict[str, Address] = {}
        self._told_s: dict[str, float] = {}
        self._is_over = False
        #: When to listen again; infinity: it listens.
        self._accepts_at_s = 0.0
        family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.setblocking(False)
            self._listener.bind(listen)
            self._listener.listen()
        except OSError:
            self._listener.close()
            raise
        self.address: Address = self._listener.getsockname()[:2]
        self._wakes, self._wake = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name="peer links", daemon=True)
        self._thread.start()

    def reach(self, peers: Mapping[str, Address]) -> None:
        """Make a link to each of these incarnations that has none. Any thread calls this."""
        self._wanted = dict(peers)
        self._wake.send(b".")

    def close(self) -> None:
        """End every link, and the thread."""
        self._is_over = True
        self._wake.send(b".")
        self._thread.join()

    def _run(self) -> None:
        self._selector.register(self._wakes, selectors.EVENT_READ)
        while not self._is_over:
            if self._accepts_at_s <= time.monotonic():
                self._accepts_at_s = math.inf
                self._selector.register(self._listener, selectors.EVENT_READ)
            waiting = [link.until_s for link in self._links if not link.has_greeted]
            waiting += [self._accepts_at_s] if self._accepts_at_s < math.inf else []
            timeout_s = max(0.0, min(waiting) - time.monotonic()) if waiting else None
            ended: list[_Link] = []
            for key, _ in self._selector.select(timeout_s):
                if key.fileobj is self._wakes:
                    self._wakes.recv(_LONGEST)
                    self._call_all()
                elif key.fileobj is self._listener:
                    self._accept()
                elif not self._serve(key.data):
                    ended.append(key.data)
            now_s = time.monotonic()
            ended += [link for link in self._links if not link.has_greeted and link.until_s <= now_s]
            self._end(ended)
        for link in list(self._links):
            self._forget(link)
        for each in (self._listener, self._wakes, self._wake):
            each.close()
        self._selector.close()

    def _end(self, links: Iterable[_Link]) -> None:
        """Forget these links, and report the managers that were at their other ends."""
        now_s, found = time.monotonic(), []
        for link in dict.fromkeys(links):
            self._forget(link)
            if link.has_greeted and now_s - self._told_s.get(link.token, -_AGAIN_S) >= _AGAIN_S:
                self._told_s[link.token] = now_s
                found.append(link.token)
        if found and not self._is_over:
            self._told_s = {token: at_s for token, at_s in self._told_s.items() if now_s - at_s < _AGAIN_S}
            self._on_end(found)

    def _forget(self, link: _Link) -> None:
        self._links.pop(link, None)
        self._selector.unregister(link.socket)
        link.socket.close()

    # -- the beginning of a link ---------------------------------------------------------------------------

    def _call_all(self) -> None:
        linked = {link.token for link in self._links}
        wanted, self._wanted = self._wanted, {}
        for token, address in wanted.items():
            if token != self._own and token not in linked and self._waiting(is_called=True) < _CALLED_MAX:
                self._call(token, address)

    def _call(self, token: str, address: Address) -> None:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        try:
            made = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            # There are too many open files. The next look for managers calls again.
            return
        made.setblocking(False)
        if made.connect_ex(address) not in (0, errno.EINPROGRESS):
            # No way leads there. The leases tell.
            made.close()
            return
        self._add(made, _Link(made, token, is_called=True, until_s=time.monotonic() + _GREETING_S))

    def _accept(self) -> None:
        try:
            made = self._listener.accept()[0]
        except BlockingIOError:
            # The other side was gone again.
            return
        except OSError:
            # There are too many open files. The connection stays ready, so ask again later, not at once.
            self._selector.unregister(self._listener)
            self._accepts_at_s = time.monotonic() + _PAUSE_S
            return
        if self._waiting(is_called=False) >= _STRANGERS_MAX or len(self._links) >= _LINKS_MAX:
            made.close()
            return
        made.setblocking(False)
        self._add(made, _Link(made, "", is_called=False, until_s=time.monotonic() + _GREETING_S, is_open=True))

    def _waiting(self, *, is_called: bool) -> int:
        return sum(not link.has_greeted and link.is_called is is_called for link in self._links)

    def _add(self, made: socket.socket, link: _Link) -> None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEP_ALIVE.items():
            if hasattr(socket, name):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._links[link] = None
        self._selector.register(made, selectors.EVENT_READ if link.is_open else selectors.EVENT_WRITE, link)

    # -- its life ------------------------------------------------------------------------------------------

    def _serve(self, link: _Link) -> bool:
        """Do what is to be done over a link that is ready. False: it has ended."""
        try:
            if not link.is_open:
                self._greet(link)
                link.is_open = True
                self._selector.modify(link.socket, selectors.EVENT_READ, link)
                return True
            heard = link.socket.recv(_LONGEST)
        except BlockingIOError:
            return True
        except OSError:
            return False
        # A manager says nothing after its greeting.
        return bool(heard) and not link.has_greeted and self._hear(link, heard)

    def _greet(self, link: _Link) -> None:
        """Say who this is. Raises OSError: the connection was refused, or has ended."""
        error = link.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))
        link.socket.send(f"igq {self._group} {self._own} {link.token}\n".encode())

    def _hear(self, link: _Link, heard: bytes) -> bool:
        """Take a part of the greeting. False: this is no manager of the group, or not the one that was called."""
        link.heard += heard
        if b"\n" not in link.heard:
            return len(link.heard) < _LONGEST
        said = _GREETING.fullmatch(link.heard)
        if said is None:
            return False
        group, token, meant = (part.decode() for part in said.groups())
        if (group, meant) != (self._group, self._own) or token == self._own:
            return False
        if link.is_called:
            link.has_greeted = token == link.token
            return link.has_greeted
        link.token, link.has_greeted = token, True
        try:
            self._greet(link)
        except OSError:
            return False
        return True


def own_address(server: Address) -> str:
    """Return the address of this machine from which it reaches *server*; empty if that is an address of it alone.

    Raises:
        OSError: the name of the server has no address, or no way leads there.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(*server, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        # Nothing is sent: this only chooses the way.
        probe.connect(address)
        host = str(probe.getsockname()[0])
    found = ipaddress.ip_address(host)
    return "" if found.is_loopback or found.is_link_local else host
