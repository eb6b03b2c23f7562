"""The channel server of a manager: takes clients of a listening socket until it is told to end."""

from __future__ import annotations

import resource
import socket
from collections.abc import Callable
from typing import Final

from igq.channels.admission import Admission
from igq.channels.client import client_of
from igq.channels.figures import Teller
from igq.channels.hub import Hub
from igq.channels.instances import Instances
from igq.channels.session import Session
from igq.channels.transport import Client
from sharedq.members.group import Group

#: Clients of one server process, at most.
CLIENTS_MAX: Final = 10_000
#: Descriptors of a client: its socket, and its connection to Redis; in a Cluster more of them.
_DESCRIPTORS: Final = 4


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
