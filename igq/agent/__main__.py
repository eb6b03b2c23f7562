"""``python -m igq.agent QMGR PARENT_PID``: the agent, in a process. QMGR is for those who list processes."""

from __future__ import annotations

import signal
import sys

from igq.processes.child import die_with_parent, take_hangups
from igq.start import collect_rarely


def main(arguments: list[str]) -> int:
    _, parent_pid = arguments
    # Do this first: the imports below take half a second, and the manager may be killed in that time.
    die_with_parent(int(parent_pid))
    collect_rarely()
    # The manager owns the log, and tells the agent of Ctrl-C through the pipe.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    take_hangups()
    from igq.agent.process import run

    return run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
