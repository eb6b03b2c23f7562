"""A copy of the group's definitions on a server of its own, where commands can be tried without changing anything.

The copy has members, structures, definitions, authority records, and of each queue its counts and open handles: what
a command on objects looks at before it decides. It has no messages, leases or connections.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redis.client import Pipeline

from sharedq.members.group import Group
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.directory import Directory
from sharedq.objects.store.parts import parts_of
from sharedq.redis.keys import QueueKeys

#: Queues that are read in one round trip.
_QUEUES_PER_CALL = 200
#: The field of a queue's hash with the number of its messages that belong to groups.
_GROUPED = b"gm"


class GroupCopy(Group):
    """A copy of a group's definitions. None of its managers runs, and nothing is retained."""


@contextmanager
def copied_definitions(group: Group) -> Iterator[GroupCopy]:
    """Yield a group with the same definitions, on a server that ends with the block.

    Raises:
        DeploymentError: the server for the copy cannot be started.
        MQIError: 2009, Redis cannot be reached.
    """
    with tempfile.TemporaryDirectory(prefix="igq-") as folder:
        settings = group.settings.model_copy(
            update={"redis_url": None, "data_dir": Path(folder), "wait_replicas": 0, "journal": False}
        )
        copy = GroupCopy(settings)
        try:
            # Nobody needs the copy after a crash: do not force each command to the disk.
            copy.client().config_set("appendonly", "no")
            _copy(group, copy)
            yield copy
        finally:
            copy.leave()


def _copy(source: Group, target: Group) -> None:
    keys = source.keys
    out = target.client().pipeline(transaction=False)
    hashes = (
        *(keys.group, keys.members, keys.structures, keys.failures, keys.qmgr, keys.directory, keys.authorities),
        *(keys.topics, keys.subscriptions, keys.subscription_names, keys.subscription_tree),
        *(keys.process_definitions, keys.namelists, keys.channels, keys.listeners, keys.topic_authorities),
    )
    for key in hashes:
        _put_hash(out, key, source.command(key, "HGETALL", key))
    queues: dict[str, set[str]] = {}
    for entry in Directory(source).scan():
        if entry.kind == QueueLocal.kind and entry.structure and not entry.is_partitioned:
            queues.setdefault(entry.structure, set()).add(entry.name)
    for part in parts_of(source):
        queues.setdefault(part.structure, set()).add(part.queue)
    for structure in source.structure_names():
        if source.can_reach(structure):
            _copy_structure(source, structure, sorted(queues.get(structure, ())), out)
    out.execute()


def _copy_structure(source: Group, structure: str, names: Sequence[str], out: Pipeline) -> None:
    keys = source.structure(structure)
    _put_hash(out, keys.versions, source.command(keys.versions, "HGETALL", keys.versions))
    sequence = source.command(keys.sequence, "GET", keys.sequence)
    if sequence is not None:
        out.set(keys.sequence, sequence)
    client = source.client(keys.sequence)
    for start in range(0, len(names), _QUEUES_PER_CALL):
        chunk = [keys.queue(name) for name in names[start : start + _QUEUES_PER_CALL]]

        def read(chunk: Sequence[QueueKeys] = chunk) -> list[Any]:
            reading = client.pipeline(transaction=False)
            for queue in chunk:
                reading.hgetall(queue.queue)
                reading.zcard(queue.available)
                reading.hgetall(queue.handles)
            return reading.execute()

        replies = client.following(read)
        for queue, kept, available, handles in zip(chunk, replies[::3], replies[1::3], replies[2::3], strict=True):
            if kept:
                # Without the messages themselves, these count with the members of groups.
                counted = {**kept, _GROUPED: int(kept.get(_GROUPED, 0)) + int(available)} if available else kept
                out.hset(queue.queue, mapping=counted)
            if handles:
                out.hset(queue.handles, mapping=handles)


def _put_hash(out: Pipeline, key: str, flat: Sequence[bytes]) -> None:
    if flat:
        out.hset(key, items=list(flat))
