"""One thread that serves many clients: a greenlet for each makes its calls, and gives way while Redis works.

So a client that waits for a message costs no thread. Only the links of programs' connections give way
(`sharedq.redis.wire.Wait`); other calls to Redis, which are few and short, hold all clients up.

The channel server of a manager is such a thread that takes the clients of a listening socket until it is told to end.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, TypeVar

from greenlet import getcurrent, greenlet

from igq.channels.admission import Admission, client_of
from igq.channels.figures import Instances, Teller
from igq.channels.session import Session
from igq.channels.transport import Client, Threaded
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.redis.wire import Wire

_log = LibraryLogger(__name__)
T = TypeVar("T")
_READABLE: Final = select.EPOLLIN | select.EPOLLONESHOT
#: Seconds between two looks at what no event tells: wires that were closed, clients that never connect.
_LOOK_S: Final = 1.0
#: Connections that are taken from a listening socket before other clients have their turn.
_ACCEPTED_TOGETHER: Final = 64
#: Seconds that a process with more clients leaves a connection to the others.
_STAND_BACK_S: Final = 0.005
#: Seconds that clients have to end when the hub stops.
_STOP_S: Final = 3.0
#: Clients of one server process, at most.
CLIENTS_MAX: Final = 10_000
#: Descriptors of a client: its socket, and its connection to Redis; in a Cluster more of them.
_DESCRIPTORS: Final = 4


class Hub:
    """Runs in the thread that makes it, and calls `run`.

    Args:
        make: makes a client of a socket that was accepted.
        clients_max: more are refused.
        instances: has the clients of the other processes that take connections here; None: there are none.

    Attributes:
        on_look: called about once a second, with the time of `time.monotonic`.
    """

    def __init__(
        self, make: Callable[[Hub, socket.socket], Client], clients_max: int, instances: Instances | None = None
    ) -> None:
        self._make, self._clients_max, self._instances = make, clients_max, instances
        self.on_look: Callable[[float], None] = lambda _: None
        self._greenlet, self._thread = getcurrent(), threading.get_ident()
        self._epoll = select.epoll()
        self._known: set[int] = set()
        #: The greenlets that wait for a wire, by its descriptor.
        self._waiting: dict[int, tuple[greenlet, Wire]] = {}
        self._clients: dict[int, Client] = {}
        self._listening: dict[int, socket.socket] = {}
        #: Of these, those that take no connections, and until when.
        self._paused: dict[int, float] = {}
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._event_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._event_fd, select.EPOLLIN)
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._stops_at_s = float("inf")
        threading.Thread(target=self._do_tasks, name="channels aside", daemon=True).start()

    # -- for greenlets -------------------------------------------------------------------------------------------------

    def wait(self, wire: Wire) -> None:
        """Give way until a wire can be read. In another thread, and in the hub itself, the read waits."""
        me = getcurrent()
        if me is self._greenlet or threading.get_ident() != self._thread:
            return
        number = wire.fileno()
        if number < 0:
            return
        self._waiting[number] = (me, wire)
        try:
            # The kernel forgets a descriptor that is closed, and its number may be another socket's by now.
            if number in self._known:
                self._epoll.modify(number, _READABLE)
            else:
                self._epoll.register(number, _READABLE)
        except FileNotFoundError:
            self._epoll.register(number, _READABLE)
        except FileExistsError:
            self._epoll.modify(number, _READABLE)
        self._known.add(number)
        self.give_way()

    def give_way(self) -> None:
        """Go on with other clients. Returns after somebody has switched to this greenlet."""
        self._greenlet.switch()

    def in_thread(self, task: Callable[[], T]) -> Threaded[T]:
        """Begin a task that may wait for a client, which the hub must not."""
        threaded: Threaded[T] = Threaded()

        def run() -> None:
            try:
                threaded.result = task()
            except Exception as error:  # noqa: BLE001 - the greenlet that waits raises it
                threaded.error = error
            self.soon(threaded.end)

        threading.Thread(target=run, name="channel call", daemon=True).start()
        return threaded

    # -- for everybody -------------------------------------------------------------------------------------------------

    def soon(self, event: Callable[[], None]) -> None:
        """Do *event* in the hub. Any thread calls this."""
        self._events.put(event)
        os.eventfd_write(self._event_fd, 1)

    def aside(self, task: Callable[[], object]) -> None:
        """Do a short *task* in another thread, one after the other: it may wait for Redis."""
        self._tasks.put(task)

    def stop(self) -> None:
        """End all clients, then `run`. Any thread calls this."""
        self.soon(self._stop)

    def stop_on_signal(self, *_: object) -> None:
        """The same, as the handler of a signal."""
        self.stop()

    # -- for clients ---------------------------------------------------------------------------------------------------

    def watch(self, number: int, events: int, *, is_new: bool = False) -> None:
        """Have a client told of *events* on its socket."""
        (self._epoll.register if is_new else self._epoll.modify)(number, events)

    def forget(self, number: int) -> None:
        """A client has ended, and its socket is about to be closed."""
        self._epoll.unregister(number)
        if self._clients.pop(number, None) is not None and self._instances is not None:
            self._instances.count_clients(len(self._clients))

    # -- the loop ------------------------------------------------------------------------------------------------------

    def listen(self, listening: socket.socket) -> None:
        """Take connections of a listening socket."""
        listening.setblocking(False)
        self._listening[listening.fileno()] = listening
        self._epoll.register(listening.fileno(), select.EPOLLIN)

    def run(self) -> None:
        """Serve until `stop`."""
        next_look_s = time.monotonic() + _LOOK_S
        while self._stops_at_s == float("inf") or (self._clients and time.monotonic() < self._stops_at_s):
            until_s = min(next_look_s, *self._paused.values()) if self._paused else next_look_s
            for number, events in self._epoll.poll(max(0.0, until_s - time.monotonic())):
                self._on_event(number, events)
            now_s = time.monotonic()
            for number in [number for number, until_s in self._paused.items() if until_s <= now_s]:
                del self._paused[number]
                self._epoll.modify(number, select.EPOLLIN)
                self._accept(self._listening[number], 1, is_next=True)
            if now_s >= next_look_s:
                next_look_s = now_s + _LOOK_S
                self._look(now_s)
        self._tasks.put(None)

    def _on_event(self, number: int, events: int) -> None:
        client = self._clients.get(number)
        if client is not None:
            self._tell(client, events)
        elif number in self._waiting:
            waiting, _ = self._waiting.pop(number)
            waiting.switch()
        elif number == self._event_fd:
            os.eventfd_read(self._event_fd)
            while not self._events.empty():
                self._events.get()()
        elif number in self._listening:
            self._accept(self._listening[number], _ACCEPTED_TOGETHER)

    def _tell(self, client: Client, events: int) -> None:
        try:
            client.on_event(events)
        except Exception as error:  # noqa: BLE001 - it ends this client, and no other
            _log.warning("channel_client_failed", error=repr(error))
            client.shut("unexpected error", MQRC.UNEXPECTED_ERROR)

    def _accept(self, listening: socket.socket, count: int, *, is_next: bool = False) -> None:
        """Take connections. *is_next*: also if another process should have: it has had the time."""
        for _ in range(count):
            if not is_next and self._instances is not None and self._instances.has_more_than_others():
                self._pause(listening, _STAND_BACK_S)
                return
            try:
                accepted, _ = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # Too many open files, most often. The connection stays ready, so the next look asks again, and others
                # may end meanwhile.
                _log.warning("channel_not_accepted", error=str(error))
                self._pause(listening, _LOOK_S)
                return
            if len(self._clients) >= self._clients_max:
                accepted.close()
                continue
            accepted.setblocking(False)
            number = accepted.fileno()
            # A wire that is closed may have had this number.
            self._known.discard(number)
            self._clients[number] = self._make(self, accepted)
            if self._instances is not None:
                self._instances.count_clients(len(self._clients))
            self._clients[number].begin()

    def _pause(self, listening: socket.socket, seconds: float) -> None:
        self._epoll.modify(listening.fileno(), 0)
        self._paused[listening.fileno()] = time.monotonic() + seconds

    def _look(self, now_s: float) -> None:
        for number, (waiting, wire) in list(self._waiting.items()):
            if wire.is_closed and self._waiting.pop(number, None) is not None:
                waiting.switch()
        for client in list(self._clients.values()):
            client.look(now_s)
        self.on_look(now_s)

    def _stop(self) -> None:
        self._stops_at_s = time.monotonic() + _STOP_S
        for listening in self._listening.values():
            self._epoll.unregister(listening.fileno())
        self._listening.clear()
        self._paused.clear()
        for client in list(self._clients.values()):
            client.shut("the channel server ends")

    def _do_tasks(self) -> None:
        for task in iter(self._tasks.get, None):
            task()


def serve(
    group: Group,
    qmgr: str,
    listening: socket.socket,
    on_start: Callable[[Hub], object],
    listener: str = "",
    process: int = 0,
) -> None:
    """Serve until the hub is stopped.

    Args:
        on_start: called with the hub before it runs.
        listening: where clients connect; the manager and the other processes of the listener have it, too.
        listener: the listener whose server this is; empty for the unix socket. ``process``: of its processes.
    """
    _allow_descriptors()
    instances = Instances(group.settings.data_dir / "channels" / f"{qmgr}.instances", listener)
    admission = Admission(group, qmgr, instances)

    def make(hub: Hub, accepted: socket.socket) -> Client:
        if accepted.family != socket.AF_UNIX:
            # A reply is one small write, and its client waits for it.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Client(hub, accepted, Session(group, qmgr, client_of(accepted), admission))

    hub = Hub(make, CLIENTS_MAX, instances if group.settings.channel_processes > 1 else None)
    hub.on_look = Teller(group, qmgr, listener, admission.served, hub.aside, process).look
    group.wait_of_connections = hub.wait
    hub.listen(listening)
    on_start(hub)
    try:
        hub.run()
    finally:
        instances.close()


def _allow_descriptors() -> None:
    """Raise the limit of open files as far as clients need it, and as it may be raised."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CLIENTS_MAX * _DESCRIPTORS
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    if least < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
