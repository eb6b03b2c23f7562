"""``python -m igq.channels QMGR PARENT_PID LISTENER NUMBER``: a channel server.

Its standard input is the listening socket. The name of the listener is empty for the unix socket. NUMBER says which of
the processes of the listener this is.
"""

from __future__ import annotations

import os
import signal
import sys

from igq.processes.child import die_with_parent, take_hangups
from igq.start import collect_rarely


def main(arguments: list[str]) -> int:
    qmgr, parent_pid, listener, number = arguments
    # Do this first: the imports below take a while, and the manager may be killed in that time.
    die_with_parent(int(parent_pid))
    collect_rarely()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    take_hangups()
    import socket

    from igq.channels.hub import serve
    from sharedq.members.group import Group
    from sharedq.settings.loader import load_settings

    group = Group(load_settings())
    try:
        listening = socket.socket(fileno=os.dup(0))
        serve(
            group,
            qmgr,
            listening,
            lambda hub: signal.signal(signal.SIGTERM, hub.stop_on_signal),
            listener,
            int(number),
        )
    finally:
        group.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
