"""Views for fault tests: every key of a group, the messages on a queue, and the recovery of lost connections."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from recovery.resolution import recover
from sharedq.objects.repository import Repository
from sharedq.objects.store.parts import own_part
from tests.support.members import TestGroup


def keys_of(group: TestGroup, pattern: str = "*") -> list[bytes]:
    """Names of the group's keys that fit *pattern* after the structure's tag."""
    return sorted(group.group.client().scan_iter(match=f"{{{group.group.name}:*}}:{pattern}", count=1000))


def dump(group: TestGroup, *, without: tuple[str, ...] = ()) -> dict[bytes, bytes]:
    """Everything in the group, except keys that end in one of *without*."""
    keys = [key for key in keys_of(group) if not key.decode().endswith(without or ("\0",))]
    pipeline = group.group.client().pipeline(transaction=False)
    for key in keys:
        pipeline.dump(key)
    return dict(zip(keys, pipeline.execute(), strict=True))


def on_queue(group: TestGroup, queue: str, structure: str = "APPL1") -> list[tuple[bytes, int]]:
    """Body and BackoutCount of the available messages of a queue, in delivery order."""
    keys = group.group.structure(structure)
    client = group.group.client(keys.messages)
    ids: Any = client.zrange(keys.queue(queue).available, 0, -1)
    records: Any = client.hmget(keys.messages, ids) if ids else []
    return [(record[int.from_bytes(record[3:5]) :], record[2]) for record in records]


def taken(group: TestGroup, structure: str = "APPL1") -> Counter[str]:
    """The number of messages that each process got, according to the journal, without returned ones."""
    found = Counter[str]()
    entries: Any = group.group.client().xrange(group.group.structure(structure).journal)
    for _, fields in entries:
        if fields[b"e"] in (b"get", b"return"):
            found[fields[b"o"].decode().rpartition(".")[0]] += 1 if fields[b"e"] == b"get" else -1
    return Counter({process: count for process, count in found.items() if count})


def stored(group: TestGroup, structure: str = "APPL1") -> int:
    """The number of messages in a structure, in any state."""
    return group.group.client().hlen(group.group.structure(structure).messages)


def until(is_true: Callable[[], object], what: str, limit_s: float = 30.0, *, pause_s: float = 0.002) -> None:
    """Return when *is_true* is, checked every *pause_s*. Another process or thread makes it true."""
    deadline = time.monotonic() + limit_s
    while not is_true():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(pause_s)


def recover_lost(group: TestGroup, token: str, by: str = "QM1") -> None:
    """The work of the manager's watch on a lost connection, as soon as the group knows of the loss."""
    key = group.group.keys.leases
    until(lambda: group.group.client().zscore(key, token) is not None, "the lost connection is told")
    assert recover(group.group, group.connect(by).connection, token).is_resolved


def contents(group: TestGroup) -> dict[bytes, object]:
    """The contents of every key of the group, in any order. Ends of leases do not count. A missing counter is zero."""
    client, found = group.group.client(), dict[bytes, object]()
    for key in keys_of(group):
        kind: Any = client.type(key)
        match kind:
            case b"hash":
                found[key] = {name: value for name, value in client.hgetall(key).items() if value != b"0"}
            case b"zset":
                found[key] = sorted(client.zrange(key, 0, -1, withscores=not key.endswith(b":leases")))
            case b"list":
                found[key] = client.lrange(key, 0, -1)
            case b"set":
                found[key] = client.smembers(key)
            case b"stream":
                found[key] = client.xlen(key)
            case _:
                found[key] = client.get(key)
    return found


def send_by_own_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let messages to shared queues, too, use the managers' own structures, as before agents made parts there."""
    monkeypatch.setattr(Repository, "transmit_part", lambda _, qmgr, _destination: own_part(qmgr))
