"""The durability statement: the facts that decide it, and the statements that a strict manager accepts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sharedq.redis.durability import Facts, judge

SYNCED = Facts(
    has_aof=True,
    appendfsync="always",
    is_unsynced_in_rewrite=False,
    is_aof_healthy=True,
    is_evicting=False,
    replicas_online=0,
    wait_replicas=0,
)


@pytest.mark.parametrize(
    ("facts", "level", "said"),
    [
        (SYNCED, "always", "synced to the server's disk before it is acknowledged"),
        (replace(SYNCED, appendfsync="everysec"), "everysec", "the last two seconds"),
        (replace(SYNCED, appendfsync="no"), "none", "appendfsync no"),
        (replace(SYNCED, appendfsync=None), "everysec", "assumed"),
        (replace(SYNCED, has_aof=False), "none", "in memory only"),
        (replace(SYNCED, is_aof_healthy=False), "none", "cannot write its append-only file"),
        (replace(SYNCED, is_unsynced_in_rewrite=True), "none", "no-appendfsync-on-rewrite"),
        (replace(SYNCED, appendfsync="everysec", is_unsynced_in_rewrite=True), "none", "no-appendfsync-on-rewrite"),
        (
            replace(SYNCED, is_unsynced_in_rewrite=True, wait_replicas=1, replicas_online=1),
            "replicated",
            "on 1 replica before",
        ),
        (replace(SYNCED, is_evicting=True), "none", "noeviction"),
        (
            replace(SYNCED, has_aof=False, wait_replicas=1, replicas_online=1),
            "replicated",
            "on 1 replica before",
        ),
        (replace(SYNCED, has_aof=False, wait_replicas=2, replicas_online=1), "none", "2 replicas must"),
        (replace(SYNCED, has_aof=False, replicas_online=2), "none", "in memory only"),
        (replace(SYNCED, wait_replicas=1, replicas_online=1), "always", "synced"),
    ],
)
def test_level_and_statement_follow_from_the_facts(facts: Facts, level: str, said: str) -> None:
    durability = judge(facts)

    assert durability.level == level
    assert durability.statement.startswith(f"{level}: ")
    assert said in durability.statement
    # The server drops or loses messages now; how it keeps others is a choice.
    assert durability.is_failing == (facts.is_evicting or not facts.is_aof_healthy)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (replace(SYNCED, is_evicting=True, dropping_policy="allkeys-lru"), "drops messages when its memory is full"),
        (replace(SYNCED, dropping_policy="allkeys-random"), "allkeys-random: .* as soon as its maxmemory is set"),
        (replace(SYNCED, is_aof_healthy=False), "cannot write its append-only file"),
    ],
)
def test_a_setting_that_loses_messages_is_a_warning(facts: Facts, said: str) -> None:
    (warning,) = judge(facts).warnings

    assert re.search(said, warning)
    assert not judge(SYNCED).warnings


@pytest.mark.invariant(7)
@pytest.mark.parametrize(
    ("facts", "is_met"),
    [
        (SYNCED, True),
        (replace(SYNCED, has_aof=False, wait_replicas=1, replicas_online=1), True),
        (replace(SYNCED, appendfsync="everysec"), False),
        (replace(SYNCED, has_aof=False), False),
    ],
)
def test_strict_asks_that_acknowledged_means_kept(facts: Facts, is_met: bool) -> None:
    assert judge(facts).meets(strict=True) is is_met
    assert judge(facts).meets(strict=False)
