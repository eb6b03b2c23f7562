"""Wildcards of topic strings, compared with matchers that are too slow to be wrong."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq.logical.topic_strings import (
    ancestors_of,
    are_characters_matched,
    are_levels_matched,
    combined,
    literal_levels,
    node_count,
    nodes_matched,
    place_of,
)

LEVELS = st.sampled_from(["", "a", "b", "+", "#", "a+"])
TEXTS = st.sampled_from(["", "a", "b", "a+"])
PATTERNS = st.text("ab/*?%", max_size=7)


def naive_levels(pattern: list[str], levels: list[str]) -> bool:
    if not pattern:
        return not levels
    if pattern[0] == "#":
        return naive_levels(pattern[1:], levels) or (bool(levels) and naive_levels(pattern, levels[1:]))
    return bool(levels) and pattern[0] in ("+", levels[0]) and naive_levels(pattern[1:], levels[1:])


@cache
def naive_characters(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%" and pattern[1:2] in ("*", "?", "%"):
        return text[:1] == pattern[1] and naive_characters(pattern[2:], text[1:])
    if pattern[0] == "*":
        return naive_characters(pattern[1:], text) or (bool(text) and naive_characters(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and naive_characters(pattern[1:], text[1:])


@given(
    st.lists(LEVELS, min_size=1, max_size=6), st.lists(st.sampled_from(["", "a", "b", "a+"]), min_size=1, max_size=6)
)
def test_levels(pattern: list[str], levels: list[str]) -> None:
    text = "/".join(levels)
    wanted = "/".join(pattern)
    expected = naive_levels(wanted.split("/") if wanted else [], text.split("/") if text else [])
    assert are_levels_matched(wanted, text) == expected


@given(PATTERNS, st.text("ab/*?%", max_size=8))
def test_characters(pattern: str, text: str) -> None:
    assert are_characters_matched(pattern, text) == naive_characters(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("Price/#", "Price", True),
        ("#", "Price/Fruit", True),
        ("#/Apples", "Apples", True),
        ("Price/+/Apples", "Price/Fruit/Apples", True),
        ("Price/+/Apples", "Price/Apples", False),
        ("+", "/Price", False),
        ("+/Price", "/Price", True),
        ("Pri+/Fruit", "Price/Fruit", False),
    ],
)
def test_levels_of_ibms_documentation(pattern: str, text: str, expected: bool) -> None:
    assert are_levels_matched(pattern, text) == expected


def test_a_pattern_of_many_wildcards_takes_no_time() -> None:
    assert not are_characters_matched("*a" * 2000 + "b", "a" * 5000)


def test_places() -> None:
    assert place_of("a/+/#", "TOPIC") == "/=a/+/#"
    assert place_of("a/b+", "TOPIC") == "/=a/=b+"
    assert place_of("a/b*/c", "CHAR") == "/=a/~"
    assert place_of("*", "CHAR") == "/~"
    assert place_of("a/+", "CHAR") == "/=a/=+"
    assert place_of("", "TOPIC") == ""


def test_literal_levels() -> None:
    assert [literal_levels(text, "TOPIC") for text in ("a/b", "a/#", "+")] == [-1, 1, 0]
    assert [literal_levels(text, "CHAR") for text in ("a/b", "a/b?", "%*/a", "a/#")] == [-1, 1, -1, -1]


def test_ancestors_and_combinations() -> None:
    assert list(ancestors_of("a/b")) == ["a/b", "a", ""]
    assert list(ancestors_of("/a")) == ["/a", ""]
    assert list(ancestors_of("")) == [""]
    assert [combined(*pair) for pair in (("a", "b"), ("", "b"), ("a", ""))] == ["a/b", "b", "a"]


@given(st.lists(TEXTS, max_size=4).map("/".join), st.lists(st.lists(TEXTS, max_size=4).map("/".join), max_size=4))
def test_the_nodes_of_a_tree_are_found_as_one_by_one(start: str, leaves: list[str]) -> None:
    every = {node for leaf in (*leaves, "") for node in ancestors_of(leaf)}
    for pattern in (start, "#", "+", f"{start}/+", f"{start}/#", f"#/{start}", f"+/{start}", f"#/{start}/#/#/+"):
        # The root has no level that a wildcard for one could stand for.
        one_by_one = sorted(node for node in every if are_levels_matched(pattern, node) and (pattern != "+" or node))
        assert nodes_matched(pattern, leaves) == one_by_one
    assert node_count(leaves) == len(every)


def test_the_nodes_of_a_deep_tree_are_found_in_a_step_for_each_level() -> None:
    deep = "/" * 10_239
    assert nodes_matched("x/y", [deep, "x/y/z"]) == ["x/y"]
    assert nodes_matched("#/+/" * 2_000 + "z", [deep, "x/y/z"]) == []
    assert nodes_matched(deep, [deep]) == [deep]
