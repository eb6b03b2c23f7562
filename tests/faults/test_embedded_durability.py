"""The durability that a real server reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from sharedq.redis.durability import read_durability
from sharedq.redis.embedded import EmbeddedRedis

pytestmark = pytest.mark.faults


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with EmbeddedRedis.start_or_join(tmp_path) as held:
        yield held.url


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as made:
        yield made


def test_embedded_server_meets_strict(client: redis.Redis) -> None:
    durability = read_durability(client)

    assert durability.level == "always"
    assert durability.meets(strict=True)


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({"appendfsync": "everysec"}, "everysec"),
        ({"appendfsync": "no"}, "none"),
        ({"appendonly": "no"}, "none"),
        ({"no-appendfsync-on-rewrite": "yes"}, "none"),
        ({"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, "none"),
        ({"maxmemory": "100mb", "maxmemory-policy": "noeviction"}, "always"),
    ],
)
def test_level_is_what_the_server_is_configured_to(client: redis.Redis, changes: dict[str, str], level: str) -> None:
    for name, value in changes.items():
        client.config_set(name, value)

    assert read_durability(client).level == level


def test_missing_replicas_are_reported(client: redis.Redis) -> None:
    client.config_set("appendonly", "no")

    durability = read_durability(client, wait_replicas=2)

    assert durability.level == "none"
    assert durability.statement == "none: 2 replicas must have a message, but 0 online"


def test_server_that_refuses_config_is_not_promised_for(client: redis.Redis, url: str) -> None:
    client.acl_setuser(
        "careful", enabled=True, passwords=["+pw"], keys=["*"], categories=["+@all"], commands=["-config"]
    )

    with redis.Redis.from_url(url, username="careful", password="pw") as careful:
        durability = read_durability(careful)

    assert durability.level == "everysec"
    assert "CONFIG is refused" in durability.statement
