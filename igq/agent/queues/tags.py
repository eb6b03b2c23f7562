"""The connection tags of agents and movers, when one is refused, and which queues their holders have open.

They register no handle, so that an operator can alter and delete a queue that they serve. Instead each holds a
connection tag that names the queue, and reports its state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sharedq.calls.handles.connect import RESERVED_TAG
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.objects.commands.display import DisplayedQueue, OpenHandle
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.parts import Place
from sharedq.reading.figures import QueueFigures
from sharedq.redis.keys import qmgr_of
from sharedq.scripts.reads import agent_states, owner_entries

#: Reasons that refuse a serialization: the tag is in use, or kept by a recovery that a structure delays.
REFUSED = (MQRC.CONN_TAG_IN_USE, MQRC.CONN_TAG_NOT_USABLE)

_AGENT, _PART, _MOVER = RESERVED_TAG + b"-IGQ-AGENT-", RESERVED_TAG + b"-IGQ-PART-", RESERVED_TAG + b"-MOVER-"
#: Open for browse, and for input shared with others.
_MODE = "IB"


def agent_tag(qmgr: str) -> bytes:
    """The connection tag of a manager's agent."""
    return _AGENT + qmgr.encode()


def part_tag(part: Place) -> bytes:
    """The connection tag of an agent's delivery from a part in an application structure."""
    return _PART + f"{part.structure}-{part.queue}".encode()


def mover_tag(structure: str, queue: str) -> bytes:
    """The connection tag of the mover of a conventional transmission queue: one in the whole group."""
    return _MOVER + f"{structure}-{queue}".encode()


@dataclass(frozen=True, slots=True)
class ServingHandle:
    """A transmission queue that an agent or a mover has open. ``structure``: empty for SYSTEM.QSG.TRANSMIT.QUEUE."""

    queue: str
    structure: str
    handle: OpenHandle

    def is_of(self, queue: DisplayedQueue | QueueFigures) -> bool:
        """Whether the handle is for that queue."""
        return self.queue == queue.name and self.structure in ("", queue.structure)


def serving_handles(group: Group) -> list[ServingHandle]:
    """List what running agents and movers have open; those in the state of retry are left out."""
    keys = group.keys
    return serving_among(_decoded(agent_states(group, keys)), _decoded(owner_entries(group, keys)))


def serving_among(
    states: Mapping[str, dict[str, Any]], connections: Mapping[str, dict[str, Any]]
) -> list[ServingHandle]:
    """Do the same with what is known already.

    Args:
        states: manager -> its agent's report.
        connections: owner token -> its record.
    """
    found = list[ServingHandle]()
    for token, info in connections.items():
        tag = bytes.fromhex(str(info.get("tag", "")))
        state = states.get(qmgr_of(token), {})
        queue, structure = "", ""
        if tag.startswith(_AGENT) and state.get("is_serving"):
            queue = SYSTEM_QSG_TRANSMIT_QUEUE
        elif tag.startswith(_MOVER):
            structure, _, name = tag.removeprefix(_MOVER).decode().partition("-")
            queue = name if _runs(state, name) else ""
        if queue:
            detail = json.dumps({"appl": info.get("appl", ""), "pid": info.get("pid", 0)})
            found.append(ServingHandle(queue, structure, OpenHandle(f"{token}#0", _MODE, detail)))
    return found


def _decoded(texts: Mapping[bytes, bytes]) -> dict[str, dict[str, Any]]:
    return {name.decode(): json.loads(text) for name, text in texts.items()}


def _runs(state: dict[str, Any], queue: str) -> bool:
    return any(mover["queue"] == queue and mover["state"] == "RUNNING" for mover in state.get("movers", ()))
