"""docs/examples/publish_and_subscribe.py: real programs at two members, and a subscriber that is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recovery.resolution import recover
from sharedq.objects.store.orphans import orphans_of
from tests.support.members import TestGroup
from tests.support.scenes import until

EXAMPLE = str(Path(__file__).parents[3] / "docs/examples/publish_and_subscribe.py")


@pytest.fixture
def programs(pair: TestGroup, monkeypatch: pytest.MonkeyPatch) -> TestGroup:
    """The environment of programs of the group."""
    monkeypatch.setenv("IGQ_GROUP", pair.settings.group)
    monkeypatch.setenv("IGQ_REDIS_URL", str(pair.settings.redis_url))
    monkeypatch.setenv("IGQ_DATA_DIR", str(pair.settings.data_dir))
    return pair


def begin(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, EXAMPLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(*words: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLE, *words], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_publisher_and_two_subscribers(programs: TestGroup) -> None:
    subscribers = [begin("subscribe", qmgr, "price/fruit/+", "--count", "2") for qmgr in ("QM1", "QM2")]
    for each in subscribers:
        assert each.stdout is not None
        assert each.stdout.readline() == "subscribed to price/fruit/+\n"
    run("publish", "QM1", "price/fruit/apples", "1.20", "1.25")
    assert [each.communicate()[0] for each in subscribers] == ["1.20\n1.25\n"] * 2
    assert programs.repository("QM1").topics.subscriptions() == []


def test_a_durable_subscriber_and_a_retained_price(programs: TestGroup) -> None:
    run("publish", "QM1", "price/fruit/apples", "1.20", "--retain")
    durable = ("price/#", "--name", "PRICES")
    assert run("subscribe", "QM2", *durable) == "subscribed to price/#\n1.20\n"
    run("publish", "QM1", "price/fruit/pears", "2.00")
    assert run("subscribe", "QM1", *durable, "--remove") == "subscribed to price/#\n2.00\n"
    assert programs.repository("QM1").display_queues("SYSTEM.MANAGED.*") == []


@pytest.mark.rule("mqi/topics", "Subscriptions that are not durable go with the recovery of their dead program.")
def test_a_subscriber_that_is_killed(programs: TestGroup) -> None:
    topics = programs.repository("QM1").topics
    killed = begin("subscribe", "QM2", "price/#")
    durable = begin("subscribe", "QM2", "price/#", "--name", "PRICES")
    until(lambda: len(topics.subscriptions()) == 2, "both have subscribed")
    holders = {match.holder.rpartition(".")[0] for match in topics.subscriptions()}
    for each in (killed, durable):
        each.kill()
        each.communicate()
    run("publish", "QM1", "price/fruit/apples", "1.20")
    for token in holders:
        programs.group.client().zadd(programs.group.keys.leases, {token: 1})
        assert recover(programs.group, programs.connect("QM2").connection, token).is_resolved
    assert [match.subscription.name for match in topics.subscriptions()] == ["PRICES"]
    assert len(programs.repository("QM1").display_queues("SYSTEM.MANAGED.*")) == 1
    assert run("subscribe", "QM1", "price/#", "--name", "PRICES", "--remove") == "subscribed to price/#\n1.20\n"
    assert list(orphans_of(programs.group)) == []
