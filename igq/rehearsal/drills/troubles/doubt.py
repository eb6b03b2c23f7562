"""Units of work that a drill leaves in doubt, and their ends: each as the operator says, and once."""

from __future__ import annotations

from igq.errors import CommandError
from igq.rehearsal.load.queues import do_mqsc
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.members.group import Group
from sharedq.reading.journal import read_entries

COMMIT, BACKOUT = "COMMIT", "BACKOUT"
#: The journal's event for each action.
_EVENTS = {COMMIT: "commit", BACKOUT: "backout"}


def expect_in_doubt(group: Group, qmgr: str, units: list[str]) -> list[PreparedUnit]:
    """Return the units of work in doubt at *qmgr*. They must be *units*, and no part of them may have ended.

    Raises:
        CommandError: there are others, or some have ended or begun to.
    """
    found = prepared_units(group, qmgr)
    there = [unit.id for unit in found if unit.outcome is None]
    if sorted(there) != sorted(units):
        wanted, is_there = (", ".join(names) or "nothing" for names in (units, there))
        raise CommandError(f"{wanted} was to be in doubt, but {is_there} is")
    for unit in units:
        if ended := _ends_of(group, unit):
            raise CommandError(f"{unit} is in doubt, but has ended: {ended}")
    return found


def resolve(group: Group, unit: PreparedUnit, action: str, at: str) -> None:
    """Enter RESOLVE INDOUBT at the manager *at*. Every structure must have done that and nothing else.

    Raises:
        CommandError: the command was refused, or the unit of work has ended in another way.
        MQIError: 2009, Redis cannot be reached.
    """
    other = "" if at == unit.qmgr else f" QMNAME({unit.qmgr})"
    do_mqsc(group, at, f"RESOLVE INDOUBT('{unit.appl_name}') ACTION({action}) NID({unit.nid}){other}")
    expected = {structure: {_EVENTS[action]} for structure in unit.structures}
    if (ended := _ends_of(group, unit.id)) != expected:
        raise CommandError(f"{unit.id} was to end by {action} in {', '.join(unit.structures)}, but ended so: {ended}")


def _ends_of(group: Group, unit: str) -> dict[str, set[str]]:
    """Return by structure how a unit of work has ended there, from the journals."""
    client = group.client()
    found: dict[str, set[str]] = {}
    for name in group.structure_names():
        for entry in read_entries(client, group.structure(name)):
            event = entry.fields[b"e"].decode()
            if event in _EVENTS.values() and entry.fields.get(b"u") == unit.encode():
                found.setdefault(name, set()).add(event)
    return found
