"""Starts the Python process of a manager's agent, which imports the agent and waits to be told its work."""

from __future__ import annotations

import os
import subprocess

from igq.processes.child import hangups_held, start_child
from igq.processes.interpreter import python_command


def start_agent_process(qmgr: str) -> subprocess.Popen[str]:
    """Start it. It ends with this process. Its first line of standard input tells it to begin."""
    with hangups_held():
        return start_child(python_command("igq.agent", qmgr, str(os.getpid())), stdin=subprocess.PIPE)
