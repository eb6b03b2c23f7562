"""Answers of calls that wait for replicas if something else is wrong, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq import MQIError
from sharedq.api import Queue
from sharedq.mqi.constants import MQRC, OpenOption
from tests.support.members import TestGroup
from tests.support.server import Server

pytestmark = pytest.mark.faults


class Site:
    """A server without a replica, and a program that waits for one."""

    def __init__(self, data_dir: Path) -> None:
        self.server = Server()
        self.group = TestGroup(self.server.url, data_dir)
        self.group.add_member("QM1")
        self.group.define_structure()
        self.group.define_shared("Q")

    def open_carefully(self) -> Queue:
        # It connected and opened while no call waited for replicas.
        connection = self.group.connect()
        queue = connection.open("Q", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
        connection.connection._link._wait = (1, 1)
        return queue

    def close(self) -> None:
        self.group.close()
        self.server.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.close()


def reason_of(queue: Queue) -> int:
    with pytest.raises(MQIError) as caught:
        queue.put(b"body")
    return int(caught.value.reason)


def test_no_replica_has_the_change(site: Site) -> None:
    assert reason_of(site.open_carefully()) == MQRC.CONNECTION_BROKEN


def test_a_refusal_keeps_its_own_reason(site: Site) -> None:
    """Nothing was done, so no replica could have it."""
    queue = site.open_carefully()
    site.server.client().config_set("maxmemory", 1)
    assert reason_of(queue) == MQRC.STORAGE_MEDIUM_FULL


def test_a_primary_that_has_become_a_replica_breaks_the_connection(site: Site) -> None:
    """It accepts no writes, and refuses to wait for replicas as well."""
    queue = site.open_carefully()
    site.server.client().replicaof("127.0.0.1", "1")
    assert reason_of(queue) == MQRC.CONNECTION_BROKEN


def test_waiting_that_is_not_permitted_leaves_it_unknown(site: Site) -> None:
    """The put was done."""
    queue = site.open_carefully()
    client = site.server.client()
    client.execute_command("ACL", "SETUSER", "default", "-wait")
    assert reason_of(queue) == MQRC.CONNECTION_BROKEN
    assert client.hlen(site.group.group.structure("APPL1").messages) == 1
