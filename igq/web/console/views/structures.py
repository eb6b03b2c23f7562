"""Structures: what each stores, where, its latest backup here, and BACKUP and RECOVER."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.mqsc.language.parser import Command, Parameter
from igq.web.access.gate import Identity, Refused
from igq.web.console.views.mqsc import run_command
from igq.web.console.views.view import action_route, data_route, json_body, text_of
from igq.web.site import Site
from sharedq.admin.backup.status import latest_backup, messages_in
from sharedq.members.group import Group
from sharedq.objects.repository import Repository
from sharedq.settings.values import Settings

_ACTIONS = {"BACKUP": (), "RECOVER": (Parameter("TYPE", ("NORMAL",), ""),)}


def routes() -> Sequence[BaseRoute]:
    """Definitions, use and backups, and the commands. The stream of events tells states and servers."""
    return [data_route("/structures", _structures), action_route("/structures/run", _run)]


async def _structures(site: Site, _: Identity, _request: Request) -> Any:
    return await site.work(read_structures, site.settings)


def read_structures(settings: Settings) -> list[dict[str, Any]]:
    """Read definitions, use and backups. ``messages`` is None if the server of the structure does not answer."""
    group = Group(settings)
    try:
        return [
            {
                "name": each.name,
                "description": each.description,
                "recover": each.recover,
                "messages": messages_in(group, each.name) if group.can_reach(each.name) else None,
                "backup": _backup(group, each.name),
            }
            for each in Repository(group, None).structures()
        ]
    finally:
        group.leave()


def _backup(group: Group, structure: str) -> dict[str, Any] | None:
    found = latest_backup(group, structure)
    if found is None:
        return None
    return {
        "begun": f"{found.begun.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "messages": found.messages,
        "bytes": found.bytes,
        "age_s": max(0.0, (datetime.now(UTC) - found.begun).total_seconds()),
    }


async def _run(site: Site, identity: Identity, request: Request) -> dict[str, Any]:
    """BACKUP or RECOVER CFSTRUCT at a manager."""
    told = await json_body(request)
    action = text_of(told, "action")
    if action not in _ACTIONS:
        raise Refused(400, "action is BACKUP or RECOVER")
    command = Command(1, action, "CFSTRUCT", text_of(told, "structure"), _ACTIONS[action])
    return {"answers": await run_command(site, identity, text_of(told, "qmgr"), command)}
