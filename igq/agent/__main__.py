"""``python -m igq.agent``: the agent as a child process of its queue manager, which alone starts it."""

from __future__ import annotations

import os
import signal
import sys
import threading

import structlog

from config.loading import load_settings
from igq.agent.channel import EXIT_CONNECTION_LOST, Channel
from igq.agent.reporting import AgentState
from igq.agent.runner import Agent
from igq.child import die_with_parent
from sharedq.group import Group
from sharedq.kept_process import KeptProcess
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError


def main(arguments: list[str]) -> int:
    """Run it: ``QMGR INCARNATION PROCESS REGISTERED_AT_S RESTARTS PARENT_PID``; returns the exit status."""
    qmgr, incarnation, number, sent_at_s, restarts, parent_pid = arguments
    die_with_parent(int(parent_pid))
    # Ctrl-C in the manager's terminal is the manager's business, which tells the agent through the channel.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel.to_parent()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    group = Group(load_settings())
    process = KeptProcess(group, qmgr, int(incarnation), int(number), float(sent_at_s))
    try:
        # Fails, if it must, before anything is promised to the manager.
        group.deployment()
        agent = Agent(group, process, channel, AgentState("STARTING", os.getpid(), int(restarts)))
        threading.Thread(target=_obey, args=(channel, process, agent), name="channel", daemon=True).start()
        agent.run()
    except MQIError as error:
        channel.send("ended", error=str(error))
        if error.reason == MQRC.CONNECTION_BROKEN:
            return EXIT_CONNECTION_LOST
        raise
    return 0


def _obey(channel: Channel, process: KeptProcess, agent: Agent) -> None:
    for message in channel.read():
        if message["kind"] == "renewed":
            process.renewed(float(message["at_s"]))
            channel.send("pulses", pulses=agent.pulses.read())
        elif message["kind"] == "stop":
            agent.stop()
    # The manager is gone. Whatever this process is in the middle of is resolved by recovery.
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
