"""Drills: the list, one that is started, its lines as they come, and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from igq.web.console.drill_child import DrillChild, list_drills
from igq.web.console.views.view import action_route, data_route, json_body, text_of
from igq.web.site import Site

_DRILL = DrillChild()
#: The drills of this version, after the first question.
_LISTED: list[dict[str, str]] = []
#: The largest seed that a user may give.
_MOST_SEED = 10**9


def routes() -> Sequence[BaseRoute]:
    """The list, what there is to see, and the two actions."""
    return [
        data_route("/drills", _listed, Role.ADMINISTRATOR),
        data_route("/drills/run", _told, Role.ADMINISTRATOR),
        action_route("/drills/start", _start, Role.ADMINISTRATOR),
        action_route("/drills/stop", _stop, Role.ADMINISTRATOR),
    ]


async def _listed(site: Site, _: Identity, _request: Request) -> Any:
    return await _drills(site)


async def _drills(site: Site) -> list[dict[str, str]]:
    if not _LISTED:
        _LISTED[:] = await site.work(list_drills, site.settings)
    return _LISTED


async def _told(_site: Site, _: Identity, request: Request) -> Any:
    try:
        run, since = (int(request.query_params.get(name, "0")) for name in ("run", "since"))
    except ValueError:
        raise Refused(400, "run and since are numbers") from None
    return _DRILL.told(run, since)


async def _start(site: Site, identity: Identity, request: Request) -> Any:
    told = await json_body(request)
    name, seed, is_audited = text_of(told, "name"), told.get("seed"), told.get("is_audited", False)
    # Nothing but a name of the list reaches the command line.
    if name not in [each["name"] for each in await _drills(site)]:
        raise Refused(400, "there is no such drill")
    if seed is not None and (type(seed) is not int or not 0 <= seed <= _MOST_SEED):
        raise Refused(400, f"seed is a whole number from 0 to {_MOST_SEED}")
    if not isinstance(is_audited, bool):
        raise Refused(400, "is_audited is true or false")
    seeds = [] if seed is None else ["--seed", str(seed)]
    _DRILL.start(site.settings, name, [*seeds, "--audit" if is_audited else "--no-audit"])
    site.record(identity, f"start drill {name}", "done")
    return {}


async def _stop(site: Site, identity: Identity, _: Request) -> Any:
    name = _DRILL.stop()
    site.record(identity, f"stop drill {name}", "done")
    return {}
