"""Units of work: those in doubt, and those that are open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.web.access.gate import Identity
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.members.group import Group
from sharedq.reading.units import open_units
from sharedq.scripts.reads import server_ms
from sharedq.settings.values import Settings

#: Units to show of each kind.
_SHOWN = 500


def routes() -> Sequence[BaseRoute]:
    """The units."""
    return [data_route("/units", _units)]


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
