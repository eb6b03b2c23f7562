"""Units of work that a drill has left in doubt, and how they end: as an operator says, and each once."""

from __future__ import annotations

from igq.errors import CommandError
from igq.rehearsal.load.queues import do_mqsc
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.members.group import Group
from sharedq.reading.journal import read_entries

COMMIT, BACKOUT = "COMMIT", "BACKOUT"
#: What the journal says of a unit of work that has ended so.
_EVENTS = {COMMIT: "commit", BACKOUT: "backout"}


def expect_in_doubt(group: Group, qmgr: str, units: list[str]) -> list[PreparedUnit]:
    """The units of work in doubt at *qmgr*, which must be *units*, with nothing of them ended.

    Raises:
        CommandError: there are others, or some have ended, or have begun to.
    """
    found = prepared_units(group, qmgr)
    there = [unit.id for unit in found if unit.outcome is None]
    if sorted(there) != sorted(units):
        wanted, is_there = (", ".join(names) or "nothing" for names in (units, there))
        raise CommandError(f"{wanted} was to be in doubt, but {is_there} is")
    for unit in units:
        if ended := _ends_of(group, unit):
            raise CommandError(f"{unit} is in doubt, and yet has ended: {ended}")
    return found


def resolve(group: Group, unit: PreparedUnit, action: str, at: str) -> None:
    """RESOLVE INDOUBT, given at the manager *at*; every structure must have done that, and nothing else.

    Raises:
        CommandError: it was refused, or the unit of work has not ended so.
        MQIError: 2009, Redis cannot be reached.
    """
    other = "" if at == unit.qmgr else f" QMNAME({unit.qmgr})"
    do_mqsc(group, at, f"RESOLVE INDOUBT('{unit.appl_name}') ACTION({action}) NID({unit.nid}){other}")
    expected = {structure: {_EVENTS[action]} for structure in unit.structures}
    if (ended := _ends_of(group, unit.id)) != expected:
        raise CommandError(f"{unit.id} was to end by {action} in {', '.join(unit.structures)}, but it did so: {ended}")


def _ends_of(group: Group, unit: str) -> dict[str, set[str]]:
    """By structure how a unit of work has ended there, as the journals have it."""
    client = group.client()
    found: dict[str, set[str]] = {}
    for name in group.structure_names():
        for entry in read_entries(client, group.structure(name)):
            event = entry.fields[b"e"].decode()
            if event in _EVENTS.values() and entry.fields.get(b"u") == unit.encode():
                found.setdefault(name, set()).add(event)
    return found
