"""Units of work: those in doubt, with their resolution by an operator, and those that are open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.errors import CommandError
from igq.mqsc.language.parser import Command, Parameter
from igq.operations.shutdown import UP, state_now
from igq.web.access.gate import Identity, Refused
from igq.web.console.views.mqsc import run_command
from igq.web.console.views.view import action_route, data_route, json_body, text_of
from igq.web.site import Site
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.members.group import Group
from sharedq.reading.units import open_units
from sharedq.scripts.reads import server_ms
from sharedq.settings.values import Settings

_ACTIONS = ("COMMIT", "BACKOUT")
#: Units to show of each kind.
_SHOWN = 500


def routes() -> Sequence[BaseRoute]:
    """The units, and RESOLVE INDOUBT."""
    return [data_route("/units", _units), action_route("/units/resolve", _resolve)]


async def _units(site: Site, _: Identity, _request: Request) -> Any:
    return await site.work(read_units, site.settings)


def read_units(settings: Settings) -> dict[str, Any]:
    """Read all units of work; ages are in seconds, None if not known."""
    group = Group(settings)
    try:
        in_doubt, opened = prepared_units(group), open_units(group)
        now_ms = server_ms(group, group.keys.members)
    finally:
        group.leave()
    return {
        "in_doubt": [_told(unit, now_ms) for unit in in_doubt[:_SHOWN]],
        "open": [
            asdict(unit) | {"age_s": None if unit.begun_ms is None else max(0, now_ms - unit.begun_ms) / 1000}
            for unit in opened[:_SHOWN]
        ],
        "is_cut": max(len(in_doubt), len(opened)) > _SHOWN,
    }


def _told(unit: PreparedUnit, now_ms: int) -> dict[str, Any]:
    return {
        "nid": unit.nid,
        "xid": unit.xid.hex().upper(),
        "qmgr": unit.qmgr,
        "appl_name": unit.appl_name,
        "messages": unit.messages,
        "queues": sorted({queue for queues, _ in unit.structures.values() for queue in queues}),
        "age_s": max(0, now_ms - unit.prepared_ms) / 1000,
        "outcome": {"C": "committing", "B": "backing out"}.get(unit.outcome or "", ""),
    }


async def _resolve(site: Site, identity: Identity, request: Request) -> dict[str, Any]:
    """RESOLVE INDOUBT for one unit of work, at the manager that may give it."""
    told = await json_body(request)
    nid, action = text_of(told, "nid"), text_of(told, "action")
    if action not in _ACTIONS:
        raise Refused(400, "action is COMMIT or BACKOUT")
    at, owner = await site.work(_manager_for, site.settings, nid)
    parameters = [Parameter("ACTION", (action,), ""), Parameter("NID", (nid,), "")]
    if owner != at:
        parameters.append(Parameter("QMNAME", (owner,), ""))
    command = Command(1, "RESOLVE", "INDOUBT", "*", tuple(parameters))
    return {"answers": await run_command(site, identity, at, command)}


def _manager_for(settings: Settings, nid: str) -> tuple[str, str]:
    """Return the running manager that can resolve a unit, and the one that the command is for.

    Raises:
        CommandError: no manager runs.
        Refused: 404, the unit is not in doubt.
    """
    group = Group(settings)
    try:
        unit = next((each for each in prepared_units(group) if each.nid == nid), None)
        if unit is None:
            raise Refused(404, "this unit of work is no longer in doubt")
        running = [each.name for each in group.members() if state_now(group, each) in UP]
    finally:
        group.leave()
    if not running:
        raise CommandError("no queue manager of the group is running")
    if unit.qmgr in running:
        return unit.qmgr, unit.qmgr
    # A unit of the group can be resolved anywhere, one of a manager that is down with QMNAME.
    return running[0], running[0] if unit.qmgr == group.name else unit.qmgr
