"""The locked messages of a queue, according to its structure."""

from __future__ import annotations

from typing import Any

from tests.support.members import TestGroup


def locked(group: TestGroup, name: str = "Q") -> int:
    """The number of messages that the structure counts as locked. The records of locks must agree."""
    keys, client = group.group.structure("APPL1").queue(name), group.group.client()
    records: Any = client.hvals(keys.locks)
    count = int(client.hget(keys.queue, "lk") or 0)
    assert count == sum(len(record.split()) for record in records)
    return count
