"""The parts of a status that a browser is told: plain values for JSON."""

from __future__ import annotations

import time
from typing import Any

from igq.operations.status import GroupStatus
from igq.operations.troubles import troubles


def group_of(status: GroupStatus) -> dict[str, Any]:
    """Everything but the queues, and what an operator must look at, those of queues too."""
    return {**status.model_dump(mode="json", exclude={"queues"}), "troubles": troubles(status)}


def queue_rows(status: GroupStatus) -> dict[str, dict[str, Any]]:
    """The local queues by a key that no two have."""
    rows, now_s = {}, time.time()
    for queue in status.queues:
        key = f"{queue.name}/{queue.owner or ''}/{queue.structure or ''}"
        # Send the time, not the age: an age changes at every look, and the row would be sent again each time.
        age_s = queue.oldest_age_s
        oldest_at = None if age_s is None else round(now_s - age_s)
        rows[key] = {"key": key, **queue.model_dump(mode="json", exclude={"oldest_age_s"}), "oldest_at": oldest_at}
    return rows
