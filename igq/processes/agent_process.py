"""Starts the Python process of a manager's agent, which imports the agent and waits to be told its work."""

from __future__ import annotations

import os
import subprocess

from igq.processes.child import hangups_held
from igq.processes.interpreter import python_command


def start_agent_process(qmgr: str) -> subprocess.Popen[str]:
    """Start it. It ends with this process. Its first line of standard input tells it to begin."""
    with hangups_held():
        return subprocess.Popen(
            python_command("igq.agent", qmgr, str(os.getpid())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # Ctrl-C in the terminal must not reach the agent.
            start_new_session=True,
        )
