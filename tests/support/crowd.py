"""Many managers in one process: real incarnations with real agents, which are threads here instead of processes.

``python -m tests.support.crowd NAME...`` runs some, of the group that the environment says, until its standard input
ends, and prints a line when all of them and their agents work.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from igq.agent.process import Agent
from igq.agent.progress.pipe import Pipe
from igq.agent.progress.report import AgentState
from igq.manager.agent_child import AgentChild
from igq.manager.incarnation import Inbox, Incarnation, IncarnationEnd
from igq.manager.membership import Membership, host_name
from sharedq.members.group import Group
from sharedq.members.lease import Renewal
from sharedq.members.process import KeptProcess
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.objects.system import define_system_objects
from sharedq.settings.loader import load_settings
from sharedq.settings.values import Settings


class AgentThread(AgentChild):
    """An agent with all of its calls to Redis, in threads of its manager's process."""

    def __init__(self, process: KeptProcess, *_: object) -> None:
        self.token = process.token
        self._process = process
        state = AgentState("STARTING", os.getpid(), 0)
        self._agent = Agent(Group(process.group.settings), process, NoPipe(), state)
        # The call would end its process, which is the test's.
        self._agent._pool._end = lambda *_: None
        self._thread = threading.Thread(target=self._run, name=f"agent {self.token}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        # It is lost with its manager, as its process would be.
        with contextlib.suppress(MQIError):
            self._agent.run()

    @property
    def pid(self) -> int:
        return os.getpid()

    def renewed(self, at_s: float) -> None:
        self._process.renewed(at_s)

    def hangs(self) -> bool:
        return False

    def stop(self) -> bool:
        self._agent.stop()
        self._thread.join()
        return True

    def kill(self) -> None:
        self._process.lose()


class NoPipe(Pipe):
    """No one reads the agent's messages."""

    def __init__(self) -> None:
        pass

    def send(self, kind: str, **fields: Any) -> None:
        pass


class _Died(BaseException):
    """The end of a member's thread."""


class Member:
    """One manager at work in a thread.

    Args:
        host: the machine that it says it is on. Managers of the real one notice the deaths of its processes.

    Attributes:
        said: message ids, with their fields.
        beats: renewals that were answered.
        failure: what it ended with, if it was told neither to stop nor to die.
    """

    def __init__(self, settings: Settings, name: str, host: str = "here") -> None:
        self.name, self._host = name, host
        self.group = Group(settings)
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.beats = 0
        self.failure: BaseException | None = None
        self.is_open = False
        self._inbox: Inbox = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def die(self) -> None:
        """Renew no lease any more, and do nothing else either."""

        def die() -> None:
            raise _Died

        self._inbox.put(die)
        self._thread.join()
        self.incarnation.worker.end()

    def stop(self) -> None:
        """Stop at once, cleanly."""
        self._inbox.put(lambda: self.incarnation.request_stop(is_immediate=True))
        self._thread.join()

    @property
    def token(self) -> str:
        """The token of its incarnation."""
        return self._membership.token

    def heard(self, message_id: str, target: str) -> int:
        """The number of its messages about *target*."""
        return sum(each == message_id and fields.get("target") == target for each, fields in self.said)

    def _run(self) -> None:
        try:
            self._work()
        except _Died:
            pass
        except BaseException as error:
            self.failure = error
            raise

    def _work(self) -> None:
        info = {"pid": os.getpid(), "host": self._host}
        self._membership = _CountingMembership.join(self.group, self.name, info, lambda _: None)
        self._membership.on_renewal = self._count
        self.incarnation = Incarnation(self._membership, self._inbox, self._say, make_agent=AgentThread)
        ending = self.incarnation.run(self._prepare, self._open)
        if ending is not IncarnationEnd.STOPPED:
            self.failure = RuntimeError(f"it ended: {ending.name}")

    def _count(self) -> None:
        self.beats += 1

    def _prepare(self) -> None:
        repository = Repository(self.group, self.name)
        repository.prepare_manager(self.name)
        define_system_objects(repository, self.group.settings.default_structure)

    def _open(self, _prepared: None) -> None:
        self._membership.tell(state="RUNNING")
        self.is_open = True

    def _say(self, message_id: str, **fields: Any) -> None:
        self.said.append((message_id, fields))


class _CountingMembership(Membership):
    on_renewal: Callable[[], None]

    def renew(self, processes: Sequence[str], *, look: bool, ask: bool = True) -> Renewal:
        renewal = super().renew(processes, look=look, ask=ask)
        self.on_renewal()
        return renewal


def waiting_agents(group: Group, names: Sequence[str]) -> int:
    """The number of agents of these managers that only wait for messages."""
    found = 0
    for name in names:
        waiters = group.structure(f"@{name}").queue("SYSTEM.QSG.TRANSMIT.QUEUE").waiters
        found += int(group.command(waiters, "ZCARD", waiters))
    return found


def main(names: Sequence[str]) -> None:
    """Run managers of these *names*."""
    settings = load_settings()
    members = [Member(settings, name, host_name()) for name in names]
    group = Group(settings)
    pause = threading.Event()
    while waiting_agents(group, names) < len(names):
        pause.wait(0.1)
    print(len(members), "managers at work", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
