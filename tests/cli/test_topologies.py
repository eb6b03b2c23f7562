"""Managers in their own processes on a Redis Cluster, and on a primary with Sentinels that fails over."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Shell
from tests.support.topologies import Cluster, SentinelPair, until

LEASE_MS = "10000"


@pytest.fixture
def cluster(shell: Shell) -> Iterator[Cluster]:
    """A Cluster of three; the shell's commands use it."""
    cluster = Cluster()
    shell.environment |= {"IGQ_REDIS_URL": cluster.url, "IGQ_LEASE_MS": LEASE_MS}
    yield cluster
    shell.close()
    cluster.close()


@pytest.fixture
def pair(shell: Shell) -> Iterator[SentinelPair]:
    """A primary and a replica; the shell's commands find the primary by way of the Sentinels."""
    pair = SentinelPair()
    shell.environment |= {"IGQ_REDIS_URL": pair.url, "IGQ_LEASE_MS": LEASE_MS}
    yield pair
    shell.close()
    pair.close()


@pytest.mark.usefixtures("cluster")
def test_a_cluster_serves_a_group_and_its_recovery(shell: Shell) -> None:
    first, second = shell.start_manager("QM1"), shell.start_manager("QM2")
    shell.out("mqsc", "QM2", "-c", "DEFINE QLOCAL(ORDERS)")
    shell.out("put", "QM1", "ORDERS", "--qmgr", "QM2", "--persistent", "one")
    assert shell.out("get", "QM2", "ORDERS", "--max", "1", "--wait", "120") == "one\n"

    first.end(signal.SIGKILL)
    second.wait_for("CSQE014I")
    shell.start_manager("QM1")

    shell.out("put", "QM1", "ORDERS", "--qmgr", "QM2", "--persistent", "two")
    assert shell.out("get", "QM2", "ORDERS", "--max", "1", "--wait", "120") == "two\n"
    assert [each["state"] for each in shell.status()["managers"]] == ["RUNNING", "RUNNING"]


def test_managers_go_on_at_the_new_primary(shell: Shell, pair: SentinelPair) -> None:
    """The manager continues if its lease outlasts the fail-over; otherwise it joins again."""
    shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(KEPT)")
    shell.out("put", "QM1", "KEPT", "--persistent", "kept")
    until(pair.is_in_step, "the replica has it all")

    pair.fail_over()

    found = []

    def is_got() -> bool:
        found.append(shell.run("get", "QM1", "KEPT").stdout)
        return found[-1] == "kept\n"

    until(is_got, "it is there", limit_s=200)
    assert "".join(found) == "kept\n"
    assert shell.manager("QM1")["state"] == "RUNNING"
