"""Connections: who is connected to which manager, with open handles and the unit of work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.mqsc.actions.connections import open_options
from igq.web.access.gate import Identity, Refused
from igq.web.console.actions.places import opened
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.objects.store.connections import handles_of, told_by_all
from sharedq.objects.store.structures import Away
from sharedq.reading.units import open_units
from sharedq.settings.values import Settings

#: Connections to show, and handles of one.
_SHOWN, _HANDLES = 1_000, 500
_TOKEN = re.compile(r"[A-Z0-9]{1,12}(\.[0-9]{1,20}){1,3}")


def routes() -> Sequence[BaseRoute]:
    """All connections, and the handles of one."""
    return [data_route("/connections", _connections), data_route("/connections/handles", _handles)]


async def _connections(site: Site, _: Identity, _request: Request) -> Any:
    return await site.work(read_connections, site.settings)


def read_connections(settings: Settings) -> dict[str, Any]:
    """Read the connections to all managers, each with its unit of work, if it has one. Raises MQIError: 2009."""
    with opened(settings) as group:
        told, units = told_by_all(group), open_units(group)
    # The id of a unit of work begins with its connection.
    of_connection = {each.id.partition("/")[0]: each for each in units}
    found = []
    for each in told[:_SHOWN]:
        unit = of_connection.get(each.token)
        about = asdict(each) | {"has_unit_of_work": unit is not None}
        if unit is not None:
            about["unit"] = {
                "id": unit.id,
                "state": unit.state,
                "messages": unit.messages,
                "has_more": unit.has_more,
                "queues": unit.queues,
            }
        found.append(about)
    return {
        "connections": found,
        "is_cut": len(told) > _SHOWN,
        "counts": Counter(each.qmgr for each in told),
    }


async def _handles(site: Site, _: Identity, request: Request) -> Any:
    token = request.query_params.get("token", "")
    if not _TOKEN.fullmatch(token):
        raise Refused(400, "token says which connection")
    return await site.work(read_handles, site.settings, token)


def read_handles(settings: Settings, token: str) -> dict[str, Any]:
    """Read the queues that a connection has open, as far as their structures can be reached."""
    away: Away = {}
    with opened(settings) as group:
        found = handles_of(group, token, away)
    return {
        "handles": [asdict(each) | {"options": open_options(each.mode).split(",")} for each in found[:_HANDLES]],
        "is_cut": len(found) > _HANDLES,
        "away": sorted(away),
    }
