"""The parts of SYSTEM.QSG.TRANSMIT.QUEUE: one queue for its users, many for the scripts.

Each manager has a part in its own structure for the messages to that manager. A message moves within a structure
without being read (``structure/transfer``), so each manager's agent (``igq.agent.services.pool``) may also make a part
in the structures of shared queues, for the messages to a shared queue at that manager.
"""

from __future__ import annotations

from typing import NamedTuple

from sharedq.members.group import Group
from sharedq.objects.definitions.names import PART_SEPARATOR, SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.redis.keys import private_structure


class Place(NamedTuple):
    """The place of a local queue, or of a part of one: its structure, and its name there."""

    structure: str
    queue: str


def own_part(qmgr: str) -> Place:
    """Return a manager's part in its own structure."""
    return Place(private_structure(qmgr), SYSTEM_QSG_TRANSMIT_QUEUE)


def part_in(structure: str, qmgr: str) -> Place:
    """Return a manager's part in an application structure."""
    return Place(structure, f"{SYSTEM_QSG_TRANSMIT_QUEUE}{PART_SEPARATOR}{qmgr}")


def parts_of(group: Group, qmgr: str = "") -> list[Place]:
    """Return where there may be parts in the group, or those of one manager if *qmgr* is given.

    In a Cluster each manager has only its own part, because a put must not depend on the destination's server.
    """
    known, own = group.structure_names(), private_structure("")
    managers = [qmgr] if qmgr else [name.removeprefix(own) for name in known if name.startswith(own)]
    others = [] if group.deployment().is_cluster else [name for name in known if not name.startswith(own)]
    in_others = [part_in(structure, manager) for structure in others for manager in managers]
    return [*map(own_part, managers), *in_others]
