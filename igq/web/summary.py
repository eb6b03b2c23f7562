"""The parts of a status that a browser is told: plain values for JSON. Pure."""

from __future__ import annotations

from typing import Any

from igq.operations.status import GroupStatus


def group_of(status: GroupStatus) -> dict[str, Any]:
    """Everything but the queues."""
    return status.model_dump(mode="json", exclude={"queues"})


def queue_rows(status: GroupStatus) -> dict[str, dict[str, Any]]:
    """The local queues by a key that no two have."""
    rows = {}
    for queue in status.queues:
        key = f"{queue.name}/{queue.owner or ''}/{queue.structure or ''}"
        rows[key] = {"key": key, **queue.model_dump(mode="json")}
    return rows
