"""Structures: what each stores, where, and its latest backup here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.web.access.gate import Identity
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.admin.backup.glance import latest_backup, messages_in
from sharedq.members.group import Group
from sharedq.objects.repository import Repository
from sharedq.settings.values import Settings


def routes() -> Sequence[BaseRoute]:
    """Definitions, use and backups. The stream of events tells states and servers."""
    return [data_route("/structures", _structures)]


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
