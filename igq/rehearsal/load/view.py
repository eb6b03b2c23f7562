"""The runner's view of its group: queued messages, recoveries, working agents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from igq.rehearsal.load.processes.children import LoadProgram
from igq.rehearsal.load.rows.plan import PRIVATE_QUEUE, SHARED_QUEUE
from recovery.claim import Recovery, recoveries
from sharedq.members.group import Group
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.repository import Repository
from sharedq.objects.store.connections import connections_of, told_connections
from sharedq.reading.journal import read_entries
from sharedq.redis.keys import qmgr_of
from sharedq.scripts import reads


@dataclass(frozen=True, slots=True)
class LoadBacklog:
    """Messages that are on their way: available, or put or got by uncommitted units of work."""

    transmit: int
    private: int
    shared: int

    @property
    def is_empty(self) -> bool:
        """Whether everything was delivered."""
        return not (self.transmit or self.private or self.shared)


def read_backlog(group: Group, qmgrs: Sequence[str]) -> LoadBacklog:
    """Read the backlog now. The transmit queue is read first, so that no message passes by unseen.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    first = Repository(group, qmgrs[0])
    transmit = _on_way(first, SYSTEM_QSG_TRANSMIT_QUEUE)
    private = sum(_on_way(Repository(group, qmgr), PRIVATE_QUEUE) for qmgr in qmgrs)
    return LoadBacklog(transmit, private, _on_way(first, SHARED_QUEUE))


def recovery_of(group: Group, owner: str) -> Recovery | None:
    """Return the latest recovery that resolved, or resolves, what *owner* (a token or a prefix of one) left."""
    covering = [each for each in recoveries(group) if f"{owner}.".startswith(f"{each.failed}.")]
    return covering[-1] if covering else None


def agent_state(group: Group, qmgr: str) -> Mapping[str, Any]:
    """Return what the manager's agent last reported; empty if there was no agent yet."""
    text = reads.agent_state(group, group.keys, qmgr)
    return json.loads(text) if text else {}


def tokens_of(group: Group, clients: Sequence[LoadProgram]) -> dict[str, str]:
    """Return the tokens of the connections that clients of channels have now, by the names of the programs."""
    names = {(each.pid, each.name): each.name for each in clients}
    found = {
        names.get((each.pid, each.appl_name), ""): each.token
        for qmgr in {client.qmgr for client in clients}
        for each in told_connections(group, qmgr)
    }
    return {name: token for name, token in found.items() if name}


def backouts_of(group: Group, token: str, since_ms: int) -> list[int]:
    """Return when something that a connection had done was backed out, after *since_ms* of the Redis clock, in ms."""
    client = group.client()
    return [
        int(entry.stream_id.partition("-")[0])
        for name in group.structure_names()
        for entry in read_entries(client, group.structure(name), str(since_ms))
        if entry.fields[b"e"] == b"backout" and entry.fields[b"o"].decode() == token
    ]


def has_work(group: Group, token: str) -> bool:
    """Whether a connection has a unit of work that is under way in a structure."""
    found = connections_of(group, qmgr_of(token), {})
    return any(each.has_unit_of_work for each in found if each.token == token)


def working_agent(group: Group, qmgr: str) -> int:
    """Return the process id of the manager's agent if the agent last reported that it works, else 0."""
    state = agent_state(group, qmgr)
    return int(state["pid"]) if state.get("state") == "RUNNING" else 0


def _on_way(repository: Repository, name: str) -> int:
    state = repository.queue_status(name)
    return state.depth + state.uncommitted_gets
