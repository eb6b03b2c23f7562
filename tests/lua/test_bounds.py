"""Every loop of a script has a stated bound, and the worst topic strings of a program do not hold Redis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.store.topics import Matcher, Topics
from tests.lua.redis_time import Meter
from tests.support.members import TestGroup
from tests.support.server import Server

ROOT = Path(__file__).parents[2]
LUA = ROOT / "sharedq" / "lua"
PAGE = ROOT / "docs" / "reference" / "script-bounds.md"
LOOP = re.compile(r"\b(?:for|while)\b[^\n]*\bdo\b|^\s*repeat\b|\bgsub\(|\btable\.sort\(", re.MULTILINE)


def with_loops() -> set[str]:
    """Scripts and pieces whose own text has a loop."""
    found = set()
    for path in LUA.rglob("*.lua"):
        code = re.sub(r"--\[\[.*?\]\]|--[^\n]*", "", path.read_text("utf-8"), flags=re.DOTALL)
        if LOOP.search(code):
            found.add(str(path.relative_to(LUA).with_suffix("")))
    return found


@pytest.mark.invariant(4)
def test_every_script_with_a_loop_has_a_stated_bound() -> None:
    listed = re.findall(r"^\| `([\w/]+)` \| \S", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(set(listed)) == listed
    assert set(listed) == with_loops()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server("--appendonly", "no")
    yield server
    server.close()


@pytest.fixture(scope="module")
def group(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestGroup]:
    """A group on a server without other callers."""
    group = TestGroup(server.url, tmp_path_factory.mktemp("bounds"))
    group.add_member("QM1")
    yield group
    group.close()


PATTERNS: dict[str, tuple[list[str], str]] = {
    "levels": (["/" * 10239], "/" * 10239),
    "plain": (["/".join("a" * 5000)], "/".join("a" * 5000)),
    "one level each": (["/".join("+" * 5120)], "/".join("a" * 5120)),
    "any levels": (["/".join(["#/a"] * 2560)], "/".join("a" * 5120)),
    "any levels in a row": (["/".join("#" * 5120)], "/".join("a" * 5120)),
    "branches": (["/".join(["#/a"] * count) + "/b" for count in range(1, 60)], "/".join("a" * 300)),
    "long levels": ([f"#/{'a' * 10000}/+", f"{'a' * 10000}/#"], f"{'a' * 10000}/b"),
    "many": (["a/b"] * 600, "a/b"),
}


@pytest.mark.slow
@pytest.mark.invariant(4)
@pytest.mark.parametrize("kind", PATTERNS)
def test_topic_strings_do_not_hold_redis(group: TestGroup, server: Server, kind: str) -> None:
    patterns, topic_string = PATTERNS[kind]
    topics = Topics(group.group, lambda: datetime.now(UTC))

    def act() -> None:
        made = [
            topics.create(Subscription(number=f"{number:048X}", topic_string=pattern, user_data="u" * 10240))
            for number, pattern in enumerate(patterns)
        ]
        Matcher(group.group).match(topic_string, topics, group.group)
        for each in made:
            topics.remove(each.number)

    Meter(server).check(act)
