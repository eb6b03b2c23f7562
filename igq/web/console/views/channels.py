"""Channels and listeners: how they stand, and the clients that have come by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.operations.listeners import (
    ChannelFigures,
    ConnectionFigures,
    channel_figures,
    connection_figures,
    is_channel_stopped,
    listener_states,
)
from igq.operations.shutdown import UP, state_now
from igq.web.access.gate import Identity
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.members.group import Group, Member
from sharedq.objects.definitions.server_channels import Channel, Listener
from sharedq.objects.repository import Repository
from sharedq.objects.store.connections import told_connections
from sharedq.settings.values import Settings

#: Clients to show.
_SHOWN = 500
_SUMS = ("current", "clients", "calls", "received", "sent", "waiting")


def routes() -> Sequence[BaseRoute]:
    """Listeners, channels and clients."""
    return [data_route("/channels", _channels)]


async def _channels(site: Site, _: Identity, _request: Request) -> Any:
    return await site.work(read_channels, site.settings)


def read_channels(settings: Settings) -> dict[str, Any]:
    """Read all listeners and channels of the group, and clients. Figures are about a second old."""
    group = Group(settings)
    try:
        running = [each for each in group.members() if state_now(group, each) in UP]
        repository = Repository(group, None)
        figures = channel_figures(group, running)
        clients = [client for each in running for client in _clients(group, each)]
        return {
            "listeners": [_listener(each, running) for each in repository.listeners.all()],
            "channels": [_channel(each, running, figures) for each in repository.channels.all()],
            "clients": clients[:_SHOWN],
            "is_cut": len(clients) > _SHOWN,
        }
    finally:
        group.leave()


def _listener(listener: Listener, running: Iterable[Member]) -> dict[str, Any]:
    states = {each.name: state for each in running if (state := listener_states(each).get(listener.name))}
    return {
        "name": listener.name,
        "description": listener.description,
        "port": listener.port,
        "control": listener.control,
        "at": [
            {"qmgr": qmgr, **{name: state.get(name, "") for name in ("state", "address", "port", "since", "error")}}
            for qmgr, state in sorted(states.items())
        ],
    }


def _channel(channel: Channel, running: Iterable[Member], figures: Iterable[ChannelFigures]) -> dict[str, Any]:
    own = [each for each in figures if each.channel == channel.name]
    return {
        "name": channel.name,
        "description": channel.description,
        "user": channel.user,
        "stopped_at": sorted(each.name for each in running if is_channel_stopped(each.details, channel.name)),
        **{name: sum(getattr(each, name) for each in own) for name in _SUMS},
    }


def _clients(group: Group, member: Member) -> list[dict[str, Any]]:
    figures = connection_figures(group, member)
    return [
        {
            "qmgr": member.name,
            "channel": each.channel,
            "program": each.appl_name,
            "user": each.user,
            "address": each.address,
            "calls": its.calls,
            "received": its.received,
            "sent": its.sent,
        }
        for each in told_connections(group, member.name)
        if each.channel
        for its in (figures.get(each.token, ConnectionFigures()),)
    ]
