"""The tree of subscriptions finds what a matcher that looks at each of them finds, while they come and go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharedq.logical.topic_strings import is_matched
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.store import topics as store
from sharedq.objects.store.topics import Matcher, Topics
from sharedq.scripts import objects as scripts
from tests.support.members import TestGroup

#: A level that is longer than the name of a place may be.
LONG = "long" * 30
LEVEL = st.sampled_from(["", "a", "b", "+", "#", "#", "a*", "?", LONG])
PATTERN = st.lists(LEVEL, min_size=1, max_size=7).map("/".join)
TOPIC = st.lists(st.sampled_from(["", "a", "b", "ab", LONG]), min_size=1, max_size=7).map("/".join).filter(bool)
STEP = st.one_of(
    st.tuples(st.just("subscribe"), PATTERN.filter(bool), st.sampled_from(["TOPIC", "CHAR"])),
    st.tuples(st.just("remove"), st.integers(0, 20), st.none()),
    st.tuples(st.just("match"), TOPIC, st.none()),
)


def new(number: int, topic_string: str, scheme: Any, name: str = "") -> Subscription:
    return Subscription(number=f"{number:048X}", topic_string=topic_string, scheme=scheme, name=name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(STEP, max_size=25), st.sampled_from([(1, 1), (2, 2), (1, 500), (250, 1), (250, 500)]))
def test_the_tree_agrees_with_a_look_at_each(
    group: TestGroup, steps: list[tuple[str, Any, Any]], most: tuple[int, int]
) -> None:
    """Whether a walk takes one call or many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_PLACES", most[0])
        patch.setattr(store, "_LEVELS", most[1])
        agrees_with_a_look_at_each(group, steps)


def agrees_with_a_look_at_each(group: TestGroup, steps: list[tuple[str, Any, Any]]) -> None:
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


@pytest.mark.rule("mqi/topics", "A topic string has at most 10,240 bytes (2425), and any number of levels in these.")
@pytest.mark.parametrize(
    ("pattern", "topic_string"),
    [
        ("/" * 10239, "/" * 10239),
        ("/".join(["+"] * 5120), "/".join(["a"] * 5120)),
        ("/".join(["#", "a"] * 2560), "/".join(["a"] * 5120)),
        ("/".join(["#"] * 5120), "/".join(["a"] * 5120)),
        ("#/" + "a" * 10238, "b/" + "a" * 10238),
    ],
)
def test_as_many_levels_as_fit_are_matched(group: TestGroup, pattern: str, topic_string: str) -> None:
    topics, matcher = Topics(group.group, lambda: datetime.now(UTC)), Matcher(group.group)
    made = topics.create(new(1, pattern, "TOPIC"))
    assert [each.subscription for each in matcher.match(topic_string, topics, group.group).matches] == [made]
    if "#" not in pattern:
        assert matcher.match(topic_string + "/b", topics, group.group).matches == []
    topics.remove(made.number)
    assert group.group.client().hlen(group.group.keys.subscription_tree) == 0


def test_a_walk_begins_again_when_the_subscriptions_change(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_LEVELS", 1)
    topics, matcher = Topics(group.group, lambda: datetime.now(UTC)), Matcher(group.group)
    topics.create(new(1, "a/+/c", "TOPIC"))
    calls = 0

    class Via:
        def call(self, name: str, keys: Any, args: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 2:
                topics.create(new(2, "a/b/#", "TOPIC"))
            return group.group.call(name, keys, args)

    found = matcher.match("a/b/c", topics, Via()).matches
    assert sorted(int(match.subscription.number, 16) for match in found) == [1, 2]
    assert calls > 3


def test_what_is_known_is_asked_for_in_one_call(group: TestGroup) -> None:
    topics, matcher = Topics(group.group, lambda: datetime.now(UTC)), Matcher(group.group)
    first = matcher.match("a", topics, group.group)
    assert matcher.match("a", topics, group.group) is first
    topics.create(new(1, "b", "TOPIC"))
    assert matcher.match("a", topics, group.group) is not first
