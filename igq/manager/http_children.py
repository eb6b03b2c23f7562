"""The HTTP servers of a manager, child processes: whatever is asked of them, the manager renews its lease."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from igq.processes.child import python_command
from igq.processes.kept_child import KeptChild
from sharedq.settings.values import Settings

#: Seconds until the next start of a child that has ended: the first, and the most. Of the managers of a machine one has
#: the port, until it ends.
_DELAYS_S: Final = (5.0, 60.0)


def start_console(settings: Settings, say: Callable[..., None]) -> KeptChild | None:
    """Start the console of a manager, if the settings ask for one."""
    if not settings.console_port:
        return None
    words = python_command("igq", "console", "--parent", str(os.getpid()))
    return KeptChild("console", words, say, "IGQ0102E", _DELAYS_S, "IGQ0107I")


def start_metrics(settings: Settings, say: Callable[..., None]) -> KeptChild | None:
    """Serve the metrics of a manager, if the settings ask for it."""
    if not settings.metrics_port:
        return None
    host = settings.metrics_listen
    address = f"[{host}]:{settings.metrics_port}" if ":" in host else f"{host}:{settings.metrics_port}"
    words = python_command("igq", "metrics", "--listen", address, "--parent", str(os.getpid()))
    return KeptChild("metrics", words, say, "IGQ0017E", _DELAYS_S, "IGQ0018I")
