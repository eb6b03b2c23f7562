"""The records of recoveries in the administration structure, which the claiming and reporting scripts keep."""

from __future__ import annotations

import json
from typing import Any

from sharedq.members.group import Group

#: The moments of a recovery in order, each with its field in the record, in ms of the Redis clock.
MOMENTS = {
    "lease ended": "lease_ended_ms",
    "detected": "detected_ms",
    "claimed": "claimed_ms",
    "fenced": "fenced_ms",
    "resolving": "resolving_ms",
    "resolved": "resolved_ms",
}


def recovery_records(group: Group) -> list[dict[str, Any]]:
    """Return the recoveries that are under way or not yet forgotten (the latest 100), in no order.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    key = group.keys.recoveries
    return [json.loads(text) for text in group.command(key, "HVALS", key)]
