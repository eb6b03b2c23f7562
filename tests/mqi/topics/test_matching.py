"""The tree of subscriptions finds what a matcher that looks at each of them finds, while they come and go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharedq.logical.topic_strings import is_matched
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.store.topics import Matcher, Topics
from sharedq.scripts import objects as scripts
from tests.support.members import TestGroup

LEVEL = st.sampled_from(["", "a", "b", "+", "#", "a*", "?"])
PATTERN = st.lists(LEVEL, min_size=1, max_size=5).map("/".join)
TOPIC = st.lists(st.sampled_from(["", "a", "b", "ab"]), min_size=1, max_size=5).map("/".join).filter(bool)
STEP = st.one_of(
    st.tuples(st.just("subscribe"), PATTERN.filter(bool), st.sampled_from(["TOPIC", "CHAR"])),
    st.tuples(st.just("remove"), st.integers(0, 20), st.none()),
    st.tuples(st.just("match"), TOPIC, st.none()),
)


def new(number: int, topic_string: str, scheme: Any, name: str = "") -> Subscription:
    return Subscription(number=f"{number:048X}", topic_string=topic_string, scheme=scheme, name=name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(STEP, max_size=25))
def test_the_tree_agrees_with_a_look_at_each(group: TestGroup, steps: list[tuple[str, Any, Any]]) -> None:
    topics, matcher = Topics(group.group, lambda: datetime.now(UTC)), Matcher(group.group)
    there: dict[int, Subscription] = {}
    for position, (act, what, scheme) in enumerate(steps):
        if act == "subscribe":
            there[position] = topics.create(new(position, what, scheme))
        elif act == "remove" and there:
            number = sorted(there)[what % len(there)]
            topics.remove(there.pop(number).number)
        elif act == "match":
            found = matcher.match(what, topics, group.group)
            fitting = {each.number for each in there.values() if is_matched(each.topic_string, each.scheme, what)}
            assert [match.subscription.number for match in found.matches].count("") == 0
            assert sorted(match.subscription.number for match in found.matches) == sorted(fitting)
    for each in there.values():
        topics.remove(each.number)
    client = group.group.client()
    keys = group.group.keys
    assert client.hlen(keys.subscription_tree) == client.hlen(keys.subscriptions) == 0


def test_many_subscriptions_come_in_pages(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "MATCHES_PER_CALL", 3)
    topics, matcher = Topics(group.group, lambda: datetime.now(UTC)), Matcher(group.group)
    patterns = ["a/b"] * 4 + ["a/+"] * 3 + ["#"] * 2 + ["a/b/#"]
    for number, pattern in enumerate(patterns):
        topics.create(new(number, pattern, "TOPIC"))
    found = matcher.match("a/b", topics, group.group).matches
    assert sorted(int(match.subscription.number, 16) for match in found) == list(range(10))


def test_what_is_known_is_asked_for_in_one_call(group: TestGroup) -> None:
    topics, matcher = Topics(group.group, lambda: datetime.now(UTC)), Matcher(group.group)
    first = matcher.match("a", topics, group.group)
    assert matcher.match("a", topics, group.group) is first
    topics.create(new(1, "b", "TOPIC"))
    assert matcher.match("a", topics, group.group) is not first
