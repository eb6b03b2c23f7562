"""The connections of a manager, for DISPLAY CONN."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sharedq.members.group import Group
from sharedq.objects.definitions.names import queue_of
from sharedq.objects.store.structures import Away, in_each
from sharedq.redis.keys import qmgr_of
from sharedq.scripts.reads import pairs_like


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """A connection.

    Attributes:
        token: its owner token, unique for all time.
        tag: its connection tag, or empty.
        has_unit_of_work: it has a unit of work that is not decided, or not applied everywhere.
        user: the user that its program runs as; empty if an older version connected.
        is_own: of the manager or its agent, not of a program.
        channel: the channel by which its program has connected; empty: by none. ``address``: where the program is.
    """

    token: str
    qmgr: str
    appl_name: str
    pid: int
    tag: str
    has_unit_of_work: bool
    user: str = ""
    is_own: bool = False
    channel: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class ConnectionHandle:
    """A queue that a connection has open: the name that it used, the queue and its structure, letters of the mode."""

    object_name: str
    queue: str
    structure: str
    mode: str


def publishers_of(group: Group) -> dict[str, Counter[str]]:
    """Return how many times each connection of the group has which topic strings open for publications, by token."""
    return {token: Counter(info.get("topics", {})) for token, info in _owners(group)}


def facts_of_owners(group: Group) -> dict[str, dict[str, Any]]:
    """Return what each connection of the group has told of itself, by token."""
    return dict(_owners(group))


def _owners(group: Group) -> Iterator[tuple[str, dict[str, Any]]]:
    for token, text in pairs_like(group, "HSCAN", group.keys.owners):
        yield token.decode(), json.loads(text)


def told_connections(group: Group, qmgr: str) -> list[ConnectionInfo]:
    """Return the connections to *qmgr*, by token, as each has told of itself. Nobody asks for their units of work."""
    return [each for each in told_by_all(group) if each.qmgr == qmgr]


def told_by_all(group: Group) -> list[ConnectionInfo]:
    """Return the connections to all managers, as `told_connections` does those to one."""
    found = [_as_told(token, info) for token, info in facts_of_owners(group).items()]
    return sorted(found, key=lambda connection: connection.token)


def _as_told(token: str, info: Mapping[str, Any]) -> ConnectionInfo:
    return ConnectionInfo(
        token=token,
        qmgr=qmgr_of(token),
        appl_name=str(info.get("appl", "")),
        pid=int(info.get("pid", 0)),
        tag=str(info.get("tag", "")),
        has_unit_of_work=False,
        user=str(info.get("user", "")),
        is_own="own" in info,
        channel=str(info.get("channel", "")),
        address=str(info.get("conname", "")),
    )


def connections_of(group: Group, qmgr: str, away: Away) -> list[ConnectionInfo]:
    """Return the connections to *qmgr*, by token. Units of work in structures that go to *away* are not seen."""
    told = told_connections(group, qmgr)

    def working_in(structure: str) -> list[str]:
        unit = group.structure(structure).unit_of_work
        return [each.token for each in told if group.command(unit + each.token, "EXISTS", unit + each.token)]

    working = {token for its in in_each(group, group.structure_names(), working_in, away).values() for token in its}
    return [replace(each, has_unit_of_work=each.token in working) for each in told]


def handles_of(group: Group, token: str, away: Away) -> list[ConnectionHandle]:
    """Return the open handles of a connection, by queue, but for those in structures that go to *away*."""
    found = in_each(group, group.structure_names(), partial(_handles_in, group, token), away)
    every = [handle for its in found.values() for handle in its]
    return sorted(every, key=lambda each: (each.queue, each.structure, each.mode))


def _handles_in(group: Group, token: str, structure: str) -> list[ConnectionHandle]:
    found, keys = [], group.structure(structure)
    if group.command(keys.owners, "HEXISTS", keys.owners, token):
        for holding in group.command(keys.holdings + token, "SMEMBERS", keys.holdings + token):
            queue, _, handle = holding.decode().partition("\n")
            key = keys.queue(queue).handles
            text = (group.command(key, "HGET", key, f"{token}#{handle}") or b"").decode()
            mode, _, detail = text.partition(" ")
            if mode:
                opened = json.loads(detail).get("object", "") if detail else ""
                found.append(ConnectionHandle(str(opened) or queue_of(queue), queue_of(queue), keys.name, mode))
    return found
