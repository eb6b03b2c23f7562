"""The progress of peer recovery: for `igq status`, the log and the audit's timeline."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sharedq.members.group import Group
from sharedq.members.recovery_records import MOMENTS, recovery_records


@dataclass(frozen=True, slots=True)
class Recovery:
    """The recovery of one incarnation, program or connection.

    Attributes:
        failed: its token, ``QM.incarnation[.process[.connection]]``.
        by: the manager that recovers or recovered it.
        state: CLAIMED, FENCED, RESOLVING, DELAYED or RESOLVED.
        units_of_work, messages: resolved so far. If a recoverer died between a step and its report,
            that step is not counted; a unit of work that two recoverers shared counts twice.
        seconds: from the detection to the end, or to the last report.
        claims: how many recoverers took part.
        moments: names (``MOMENTS``) with their times in ms of the Redis clock, in order.
    """

    failed: str
    by: str
    state: str
    units_of_work: int
    messages: int
    seconds: float
    claims: int
    moments: tuple[tuple[str, int], ...] = field(default=())

    def as_status(self) -> dict[str, Any]:
        """Return the recovery as `igq status --json` shows it."""
        return {
            "detected_at": datetime.fromtimestamp(dict(self.moments)["detected"] / 1000, UTC),
            "failed": self.failed,
            "by": self.by,
            "state": self.state,
            "units_of_work": self.units_of_work,
            "messages": self.messages,
            "seconds": self.seconds,
        }


def recoveries(group: Group) -> list[Recovery]:
    """Return the recoveries that are under way or not yet forgotten (the latest 100), the oldest first.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    return in_order(map(from_record, recovery_records(group)))


def in_order(found: Iterable[Recovery]) -> list[Recovery]:
    """Return recoveries, the oldest first."""
    return sorted(found, key=lambda recovery: (dict(recovery.moments)["detected"], recovery.failed))


def is_unfencing(text: bytes | None) -> bool:
    """Whether a recovery with this record removes its fences, or has done so. None: its record is gone, so it has."""
    return text is None or json.loads(text).get("is_unfencing", False)


def from_record(record: dict[str, Any]) -> Recovery:
    """Make a recovery from its record in the administration structure."""
    return Recovery(
        failed=record["failed"],
        by=record["by"],
        state=record["state"],
        units_of_work=int(record["units_of_work"]),
        messages=int(record["messages"]),
        seconds=float(record.get("seconds", 0.0)),
        claims=int(record["claims"]),
        moments=tuple((name, int(record[key])) for name, key in MOMENTS.items() if key in record),
    )
