"""Finding what stands in the structures under a target's token, without loading what does not."""

from __future__ import annotations

import json
from collections.abc import Iterator

from recovery.target import Target
from sharedq.connection import Connection
from sharedq.group import Group

#: Entries that Redis looks at for one step of a scan.
_SCAN_COUNT = 500
#: Recoveries that are kept to be shown.
RECOVERIES_KEPT = 100


def fields_under(connection: Connection, key: str, target: Target) -> Iterator[tuple[str, bytes]]:
    """Fields of a hash that are tokens of *target* or under it, and their values.

    Every one that is there from the first step to the last is found; one may come twice.
    """
    for field, value in _scan(connection, "HSCAN", key, f"{target.token}*"):
        if target.covers(field.decode()):
            yield field.decode(), value


def leases_under(connection: Connection, group: Group, target: Target) -> list[str]:
    """Leases of the programs and lost connections under *target*, the caller's own process left out."""
    own_process = connection.process.token
    return [
        token.decode()
        for token, _ in _scan(connection, "ZSCAN", group.keys.leases, f"{target.token}.*")
        if token.decode() != own_process
    ]


def needless_fences(connection: Connection, key: str, target: Target) -> list[str]:
    """Fences of programs and connections whose manager's incarnation is shut out as a whole."""
    if not target.is_manager:
        return []
    tokens = (field.decode() for field, _ in _scan(connection, "HSCAN", key, f"{target.qmgr}.*"))
    return [token for token in tokens if Target.parse(token).incarnation <= target.incarnation]


def admin_remains(connection: Connection, group: Group, target: Target) -> list[tuple[str, str]]:
    """What the administration structure can forget with *target*: kind and field, for ``Claim.finish``.

    Of the caller's own connection nothing: a manager that stops disconnects it itself.
    """
    keys = group.keys

    def is_gone(token: str) -> bool:
        return target.covers(token) and token != connection.token

    found = [
        ("tag", field.decode())
        for field, users in _scan(connection, "HSCAN", keys.tags, "*")
        if any(is_gone(user[1:]) for user in users.decode().split())
    ]
    found += [("own", token) for token, _ in fields_under(connection, keys.owners, target) if is_gone(token)]
    found += [
        ("process", token)
        for token, _ in fields_under(connection, keys.processes, target)
        if token != connection.process.token
    ]
    found += [
        ("decision", unit.decode())
        for unit, _ in _scan(connection, "HSCAN", keys.decisions, f"{target.token}*")
        if is_gone(unit.decode().partition("/")[0])
    ]
    found += [("fence", token) for token in needless_fences(connection, keys.fence, target)]
    found += [("recovery", failed) for failed in _oldest_recoveries(connection, group)]
    return list(dict.fromkeys(found))


def _oldest_recoveries(connection: Connection, group: Group) -> list[str]:
    key = group.keys.recoveries
    if int(connection.command(key, "HLEN", key)) <= RECOVERIES_KEPT:
        return []
    records = {failed.decode(): json.loads(text) for failed, text in _scan(connection, "HSCAN", key, "*")}
    resolved = [failed for failed, record in records.items() if record["state"] == "RESOLVED"]
    resolved.sort(key=lambda failed: int(records[failed]["resolved_ms"]))
    return resolved[: max(0, len(records) - RECOVERIES_KEPT)]


def _scan(connection: Connection, command: str, key: str, pattern: str) -> Iterator[tuple[bytes, bytes]]:
    cursor = b"0"
    while True:
        cursor, flat = connection.command(key, command, key, cursor, "MATCH", pattern, "COUNT", _SCAN_COUNT)
        yield from zip(flat[::2], flat[1::2], strict=True)
        if cursor == b"0":
            return
