"""Topics and subscriptions: definitions, and how many publications each subscription had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.web.access.gate import Identity
from igq.web.console.actions.places import opened
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import Repository
from sharedq.objects.store.connections import publishers_of
from sharedq.objects.store.topics import Match
from sharedq.settings.values import Settings

#: Topics, and subscriptions, to show. And characters of a topic string, which may have 10,240.
_SHOWN, _LONGEST = 1_000, 1_000


def routes() -> Sequence[BaseRoute]:
    """Both lists."""
    return [data_route("/topics", _topics)]


async def _topics(site: Site, _: Identity, _request: Request) -> Any:
    return await site.work(read_topics, site.settings)


def read_topics(settings: Settings) -> dict[str, Any]:
    """Read topic objects and subscriptions. Raises MQIError: 2009, Redis cannot be reached."""
    with opened(settings) as group:
        topics = Repository(group, None).topics
        defined, subscriptions, delivered = (
            list(topics.tree().by_name.values()),
            topics.subscriptions(),
            topics.delivered(),
        )
        publishers = Counter(each for its in publishers_of(group).values() for each in its.elements())
    subscribers = Counter(each.subscription.topic_string for each in subscriptions)
    return {
        "topics": [_topic(each, subscribers, publishers) for each in defined[:_SHOWN]],
        "subscriptions": [_subscription(each, delivered) for each in subscriptions[:_SHOWN]],
        "is_cut": max(len(defined), len(subscriptions)) > _SHOWN,
    }


def _topic(topic: Topic, subscribers: Mapping[str, int], publishers: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": topic.name,
        "description": topic.description,
        "topic_string": topic.topic_string[:_LONGEST],
        "publish": topic.publish,
        "subscribe": topic.subscribe,
        # Of this topic string alone, without those of a pattern.
        "subscribers": subscribers.get(topic.topic_string, 0),
        "publishers": publishers.get(topic.topic_string, 0),
    }


def _subscription(match: Match, delivered: Mapping[str, tuple[int, datetime]]) -> dict[str, Any]:
    subscription = match.subscription
    count, last = delivered.get(subscription.number, (0, None))
    return {
        "name": subscription.name[:_LONGEST],
        "number": subscription.number,
        "topic_string": subscription.topic_string[:_LONGEST],
        "selector": subscription.selector[:_LONGEST],
        "destination": subscription.destination,
        "destination_q_mgr": subscription.destination_q_mgr or subscription.made_at,
        "kind": subscription.subscription_type,
        "durable": subscription.durable,
        "user": subscription.user_id,
        "holder": match.holder,
        "publications": count,
        "last_at": f"{last:%Y-%m-%d %H:%M:%S}" if last else "",
    }
