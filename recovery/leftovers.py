"""Finds what stands under the tokens of targets: one scan for all targets, which loads nothing else."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from recovery.claim import Remain, chunks
from recovery.target import Target, Targets, common_beginning
from sharedq.members.group import Group
from sharedq.scripts.reads import fields_named, pairs_like, recovery_count
from sharedq.session.connection import Connection

#: Entries that one call asks for by name.
_NAMED_AT_ONCE = 500
#: Finished recoveries that are kept for display.
RECOVERIES_KEPT = 100


def fields_under(connection: Connection, key: str, targets: Targets) -> Iterator[tuple[Target, str, bytes]]:
    """Yield the fields of a hash that are tokens of *targets* or below them: the target, the field, its value.

    Connections are asked for by name, and one scan finds what belongs to all the other targets. The scan finds every
    field that exists from its first step to its last; a field may come twice.
    """
    for tokens in chunks(targets.connections, _NAMED_AT_ONCE):
        for token, value in zip(tokens, fields_named(connection, key, tokens), strict=True):
            if value is not None:
                yield Target.parse(token), token, value
    if targets.wide:
        for field, value in pairs_like(connection, "HSCAN", key, targets.pattern(targets.wide)):
            target = targets.covering(field.decode())
            if target is not None:
                yield target, field.decode(), value


def leases_under(connection: Connection, group: Group, targets: Targets) -> list[str]:
    """Return the leases of programs and lost connections under *targets*, except the caller's own process."""
    if not targets.wide:
        return []
    own_process = connection.process.token
    leases = pairs_like(connection, "ZSCAN", group.keys.leases, targets.pattern(targets.wide))
    found = (token.decode() for token, _ in leases)
    return [token for token in found if token != own_process and _is_below(targets, token)]


def _is_below(targets: Targets, token: str) -> bool:
    target = targets.covering(token)
    return target is not None and target.token != token


def needless_fences(connection: Connection, key: str, targets: Targets) -> list[tuple[Target, str]]:
    """Return the fences of programs and connections whose whole incarnation is shut out, each with its target."""
    managers = {target.qmgr: target for target in sorted(targets.managers, key=lambda target: target.incarnation)}
    if not managers:
        return []
    pattern = common_beginning([*managers]) + "*.*"
    tokens = [field.decode() for field, _ in pairs_like(connection, "HSCAN", key, pattern)]
    fences = [(Target.parse(token), token) for token in tokens]
    return [
        (managers[fence.qmgr], token)
        for fence, token in fences
        if fence.qmgr in managers and fence.incarnation <= managers[fence.qmgr].incarnation
    ]


def own_fences(connection: Connection, key: str, targets: Targets) -> list[tuple[Target, str]]:
    """Return the fences of the programs and connections among *targets*, and of connections of these programs."""
    fences = fields_under(connection, key, targets)
    return [(target, token) for target, token, _ in fences if not target.is_manager]


def admin_remains(connection: Connection, group: Group, targets: Targets) -> dict[str, list[Remain]]:
    """Return what the administration structure can forget with each of *targets*, for ``Claims.finish``.

    Nothing of the caller's own connection is included: a manager that stops disconnects it itself.
    """
    keys, found = group.keys, defaultdict[str, list[Remain]](list)

    def note(kind: str, field: str, token: str) -> None:
        target = targets.covering(token)
        if target is not None and token not in (connection.token, connection.process.token):
            found[target.token].append((kind, field))

    for kind, field, token in [
        *_tags(connection, group, targets),
        *(("own", token, token) for _, token, _ in fields_under(connection, keys.owners, targets)),
    ]:
        note(kind, field, token)
    if targets.wide:
        for _, token, _ in fields_under(connection, keys.processes, Targets(targets.wide)):
            note("process", token, token)
    for unit, _ in pairs_like(connection, "HSCAN", keys.decisions, targets.pattern()):
        note("decision", unit.decode(), unit.decode().partition("/")[0])
    for target, fence in [
        *needless_fences(connection, keys.fence, targets),
        *own_fences(connection, keys.fence, targets),
    ]:
        found[target.token].append(("fence", fence))
    return {token: list(dict.fromkeys(entries)) for token, entries in found.items()}


def _tags(connection: Connection, group: Group, targets: Targets) -> Iterator[tuple[str, str, str]]:
    """Yield the connection tags that one of *targets* uses: ``tag``, the tag, the token of its user."""
    keys = group.keys
    if targets.wide:
        for field, users in pairs_like(connection, "HSCAN", keys.tags):
            for user in users.decode().split():
                yield "tag", field.decode(), user[1:]
    # The entry of a connection names the tag that it asked for.
    for _, token, text in fields_under(connection, keys.owners, Targets(map(Target.parse, targets.connections))):
        if tag := json.loads(text).get("tag"):
            yield "tag", tag, token


def oldest_recoveries(connection: Connection, group: Group) -> Sequence[str]:
    """Return the finished recoveries beyond those that are kept for display."""
    if recovery_count(connection, group.keys) <= RECOVERIES_KEPT:
        return []
    found = pairs_like(connection, "HSCAN", group.keys.recoveries)
    records = {failed.decode(): json.loads(text) for failed, text in found}
    resolved = [failed for failed, record in records.items() if record["state"] == "RESOLVED"]
    resolved.sort(key=lambda failed: int(records[failed]["resolved_ms"]))
    return resolved[: max(0, len(records) - RECOVERIES_KEPT)]
