"""Orphans: queues that nobody owns any more, and that managers delete as soon as nothing keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sharedq.members.group import Group
from sharedq.members.news import ORPHANS, tell_managers
from sharedq.scripts.objects import add_orphan_call, forget_orphan_call
from sharedq.scripts.reads import pairs_like


@dataclass(frozen=True, slots=True)
class Orphan:
    """The managed queue of a subscription that has ended, or a temporary queue whose maker has ended.

    Attributes:
        maker: of a managed queue the manager at which it was made; of a temporary one the connection that made it.
        structure: of a temporary one. Empty for a managed queue, whose name no other queue has.
    """

    queue: str
    maker: str
    structure: str = ""


def orphans_of(group: Group) -> Iterator[Orphan]:
    """Yield the orphans. Raises MQIError: 2009."""
    for field, maker in pairs_like(group, "HSCAN", group.keys.orphans):
        structure, _, queue = field.decode().rpartition("\n")
        yield Orphan(queue, maker.decode(), structure)


def add_orphan(group: Group, structure: str, queue: str, maker: str) -> None:
    """Note that a temporary queue of *maker*, which ends, is to be deleted. Raises MQIError: 2009, 2192."""
    group.call(*add_orphan_call(group.keys, structure, queue, maker))
    tell_managers(group, ORPHANS)


def forget_orphan(group: Group, orphan: Orphan) -> None:
    """Note that an orphan is deleted. Raises MQIError: 2009."""
    field = f"{orphan.structure}\n{orphan.queue}" if orphan.structure else orphan.queue
    group.call(*forget_orphan_call(group.keys, field, orphan.maker))
