"""What is locked on a queue, as its structure has it."""

from __future__ import annotations

from typing import Any

from tests.support.members import TestGroup


def locked(group: TestGroup, name: str = "Q") -> int:
    """How many messages the structure counts as locked; the records of locks must say the same."""
    keys, client = group.group.structure("APPL1").queue(name), group.group.client()
    records: Any = client.hvals(keys.locks)
    count = int(client.hget(keys.queue, "lk") or 0)
    assert count == sum(len(record.split()) for record in records)
    return count
