"""The channel server of a manager: its socket is always there, and its process from the first connection on."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from igq.processes.interpreter import python_command
from igq.processes.kept_child import KeptChild
from sharedq.settings.values import Settings

#: Seconds until the next start of a server that has ended: the first, and the most.
_DELAYS_S: Final = (0.1, 5.0)
#: Connections that wait until the server takes them.
_BACKLOG: Final = 4_096


class Channels:
    """The socket at which a manager's programs connect, and the server that serves them."""

    def __init__(self, settings: Settings, qmgr: str, say: Callable[..., None]) -> None:
        self.path = socket_path(settings, qmgr)
        self._listening = _bound(self.path)
        words = python_command("igq.channels", qmgr, str(os.getpid()))
        self._server = KeptChild("channels", words, say, "IGQ0110E", _DELAYS_S, self._listening)

    def stop(self) -> None:
        """End the server, and take the socket away."""
        self._server.stop()
        self._listening.close()
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


def _bound(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    # One that is left of an earlier run: two managers of this name never run at once.
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    # The name of a socket has at most 107 bytes; the folder's descriptor stands for the rest of the path.
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(folder)
    return listening
