"""The parts of SYSTEM.QSG.TRANSMIT.QUEUE: one queue to its users, many to the scripts.

For each manager there is a part in its own structure: what is sent to that manager. A message moves within a structure
without being read (``structure/transfer``), so for shared queues each manager may have a part in their structures, too,
made by its agent (``igq.agent.services.pool``); what is sent to a shared queue at that manager goes there.
"""

from __future__ import annotations

from typing import NamedTuple

from sharedq.members.group import Group
from sharedq.objects.definitions.names import PART_SEPARATOR, SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.redis.keys import private_structure


class Place(NamedTuple):
    """Where a local queue, or a part of one, is: its structure, and what it is called there."""

    structure: str
    queue: str


def own_part(qmgr: str) -> Place:
    """The part of a manager in its own structure."""
    return Place(private_structure(qmgr), SYSTEM_QSG_TRANSMIT_QUEUE)


def part_in(structure: str, qmgr: str) -> Place:
    """The part of a manager in an application structure."""
    return Place(structure, f"{SYSTEM_QSG_TRANSMIT_QUEUE}{PART_SEPARATOR}{qmgr}")


def parts_of(group: Group, qmgr: str = "") -> list[Place]:
    """Where there may be parts in the group; only those of one manager when that is named.

    In a Cluster each manager has its own part alone: what is sent must not depend on the server of its destination.
    """
    known, own = group.structure_names(), private_structure("")
    managers = [qmgr] if qmgr else [name.removeprefix(own) for name in known if name.startswith(own)]
    others = [] if group.deployment().is_cluster else [name for name in known if not name.startswith(own)]
    in_others = [part_in(structure, manager) for structure in others for manager in managers]
    return [*map(own_part, managers), *in_others]
