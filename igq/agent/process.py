"""The agent as a child process of its queue manager, the only one to start it, by ``python -m igq.agent``."""

from __future__ import annotations

import os
import threading

from igq.agent.progress.pipe import EXIT_CONNECTION_LOST, Pipe
from igq.agent.progress.report import AgentState
from igq.agent.runner import Agent
from igq.output.log import log_to_stderr
from sharedq.members.group import Group
from sharedq.members.kept_process import KeptProcess
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.settings.loader import load_settings


def run() -> int:
    """Wait for the work, and run the agent until it is told to stop. Returns the exit status.

    The manager's first message has ``qmgr``, ``incarnation``, ``number`` (of the agent's registration), ``sent_at_s``
    (when that was requested, in monotonic seconds), ``restarts`` (how many agents this incarnation had before) and
    ``settings`` (those of the group, as environment variables).
    """
    pipe = Pipe.to_parent()
    begin = next(pipe.read(), None)
    if begin is None:
        # The manager ended before it had work for an agent.
        return 0
    os.environ.update(begin["settings"])
    settings = load_settings()
    log_to_stderr(settings.log_format, settings.log_level)
    group = Group(settings)
    process = KeptProcess(group, begin["qmgr"], begin["incarnation"], begin["number"], begin["sent_at_s"])
    try:
        # If this fails, it must fail before the agent promises the manager anything.
        group.deployment()
        agent = Agent(group, process, pipe, AgentState("STARTING", os.getpid(), begin["restarts"]))
        threading.Thread(target=_obey, args=(pipe, process, agent), name="pipe", daemon=True).start()
        agent.run()
    except MQIError as error:
        pipe.send("ended", error=str(error))
        if error.reason == MQRC.CONNECTION_BROKEN:
            return EXIT_CONNECTION_LOST
        raise
    return 0


def _obey(pipe: Pipe, process: KeptProcess, agent: Agent) -> None:
    for message in pipe.read():
        if message["kind"] == "renewed":
            process.renewed(float(message["at_s"]))
            pipe.send("pulses", pulses=agent.pulses.read())
        elif message["kind"] == "settings":
            process.group.adopt(message["record"].encode(), is_running=True)
        elif message["kind"] == "stop":
            agent.stop()
    # The manager is gone. Recovery resolves whatever this process has begun.
    os._exit(1)
