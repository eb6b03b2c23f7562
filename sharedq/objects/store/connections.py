"""The connections of a manager, for DISPLAY CONN."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sharedq.members.group import Group


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """A connection.

    Attributes:
        token: its owner token, unique for all time.
        tag: its connection tag, or empty.
        has_unit_of_work: it has a unit of work that is not decided, or not applied everywhere.
    """

    token: str
    qmgr: str
    appl_name: str
    pid: int
    tag: str
    has_unit_of_work: bool


def connections_of(group: Group, qmgr: str) -> list[ConnectionInfo]:
    """Return the connections to *qmgr*, by token."""
    owners = group.keys.owners
    flat = group.command(owners, "HGETALL", owners)
    units = [group.structure(name).unit_of_work for name in group.structure_names()]
    found = []
    for raw, text in zip(flat[::2], flat[1::2], strict=True):
        token = raw.decode()
        # A manager's name may contain dots; after it come three numbers.
        if token.rsplit(".", 3)[0] != qmgr:
            continue
        info = json.loads(text)
        found.append(
            ConnectionInfo(
                token=token,
                qmgr=qmgr,
                appl_name=str(info.get("appl", "")),
                pid=int(info.get("pid", 0)),
                tag=str(info.get("tag", "")),
                has_unit_of_work=any(group.command(unit + token, "EXISTS", unit + token) for unit in units),
            )
        )
    return sorted(found, key=lambda connection: connection.token)
