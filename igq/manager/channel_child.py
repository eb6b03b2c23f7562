"""The channel servers of a manager: at its unix socket and for each listener, from the first connection on."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from igq.processes.child import python_command
from igq.processes.kept_child import KeptChild
from sharedq.settings.values import Settings

#: Seconds until the next start of a server that has ended: the first, and the most.
_DELAYS_S: Final = (0.1, 5.0)
#: Connections that wait until the server takes them, unless a listener says another number.
_BACKLOG: Final = 4_096
_LOOPBACK: Final = "127.0.0.1"


class _Door:
    """A listening socket, and the servers that are started when somebody connects there."""

    def __init__(
        self, listening: socket.socket, qmgr: str, say: Callable[..., None], processes: int, listener: str = ""
    ) -> None:
        self.listening = listening
        words = python_command("igq.channels", qmgr, str(os.getpid()), listener)
        self._servers = [
            KeptChild("channels", [*words, str(number)], say, "IGQ0110E", _DELAYS_S, listening=listening)
            for number in range(processes)
        ]

    def close(self) -> None:
        """End the servers, and listen no longer."""
        for server in self._servers:
            server.ask_to_end()
        for server in self._servers:
            server.stop()
        self.listening.close()


class Channels:
    """The places at which a manager's programs connect."""

    def __init__(self, settings: Settings, qmgr: str, say: Callable[..., None]) -> None:
        self._qmgr, self._say, self._processes = qmgr, say, settings.channel_processes
        self.path = socket_path(settings, qmgr)
        self._local = _Door(_bound(self.path), qmgr, say, self._processes)
        #: By name: where it was asked to listen, and where it does; None: it could not.
        self._listeners: dict[str, tuple[Mapping[str, Any], _Door | None]] = {}

    def keep(self, wanted: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any] | None]:
        """Have just these listeners. Returns, of each that this call has started or ended, its state, or None."""
        changed: dict[str, dict[str, Any] | None] = {}
        for name, (place, door) in list(self._listeners.items()):
            if wanted.get(name) != place:
                if door is not None:
                    door.close()
                del self._listeners[name]
                changed[name] = None
        for name, place in wanted.items():
            if name not in self._listeners:
                changed[name] = self._start(name, place)
        return changed

    def _start(self, name: str, place: Mapping[str, Any]) -> dict[str, Any]:
        try:
            listening = _bound_to_port(str(place["address"]), int(place["port"]), int(place["backlog"]))
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            self._say("IGQ0112E", listener=name, port=place["port"], error=why)
            self._listeners[name] = dict(place), None
            return {"state": "STOPPED", "error": why}
        self._listeners[name] = dict(place), _Door(listening, self._qmgr, self._say, self._processes, name)
        address, port = listening.getsockname()[:2]
        self._say("IGQ0113I", listener=name, address=address, port=port)
        since = datetime.now(UTC).strftime("%Y-%m-%d %H.%M.%S")
        return {"state": "RUNNING", "address": address, "port": port, "since": since, "pid": os.getpid()}

    def stop(self) -> None:
        """End all servers, and take the unix socket away."""
        self.keep({})
        self._local.close()
        with suppress(OSError):
            self.path.unlink()


def start_channels(settings: Settings, qmgr: str, say: Callable[..., None]) -> Channels | None:
    """Listen for programs, if the settings ask for it. Where that cannot be, the manager goes on without."""
    if not settings.channels:
        return None
    try:
        return Channels(settings, qmgr, say)
    except OSError as error:
        say("IGQ0111E", path=str(socket_path(settings, qmgr)), error=error)
        return None


def socket_path(settings: Settings, qmgr: str) -> Path:
    """Where programs of this machine connect to a manager."""
    return settings.data_dir / "channels" / f"{qmgr}.sock"


def _bound_to_port(address: str, port: int, backlog: int) -> socket.socket:
    """A listening socket. Raises OSError: the port is not free, most often."""
    found = socket.getaddrinfo(address or _LOOPBACK, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(found[0])
    try:
        # A port of which connections are left in the kernel is free.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[4])
        listening.listen(backlog or _BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def _bound(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    # A socket that an earlier run has left goes: two managers of this name never run at once. The new one gets its name
    # when it listens: a program that finds it can connect.
    new = path.with_name(f"{path.name}.new")
    for each in (path, new):
        each.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    # The name of a socket has at most 107 bytes; the folder's descriptor stands for the rest of the path.
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{new.name}")
        listening.listen(_BACKLOG)
        new.rename(path)
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(folder)
    return listening
