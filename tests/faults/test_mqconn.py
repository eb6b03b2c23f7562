"""MQCONN when Redis cannot be reached: the queue manager is not available, by whichever face, whatever the cause.

A connection that never was cannot be broken: 2009 is for calls on one that is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq import pymqi, verbs
from sharedq.api import connect, group_for
from sharedq.members.group import Group
from sharedq.mqi.constants import MQCC, MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQCNO
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings
from tests.support.members import TestGroup
from tests.support.proxy import Proxy
from tests.support.server import Server

NOBODY_THERE = {
    "refused": "redis://127.0.0.1:1",
    "no such host": "redis://nowhere.invalid",
    "no such socket": "unix:///nonexistent/socket",
    "refused, TLS": "rediss://127.0.0.1:1",
    "no node of the Cluster": "redis+cluster://127.0.0.1:1",
    "no Sentinel": "redis+sentinel://127.0.0.1:1/service",
}


@pytest.mark.rule("mqi/reasons", "MQCONN ends with 2059 if Redis is not there.")
@pytest.mark.parametrize("name", ["QM1", "QSG1", "*QSG1", ""])
@pytest.mark.parametrize("where", NOBODY_THERE)
def test_no_redis_at_the_address(where: str, name: str, tmp_path: Path) -> None:
    settings = Settings(redis_url=NOBODY_THERE[where], data_dir=tmp_path)
    with pytest.raises((MQIError, DeploymentError)) as caught:
        connect(name, settings=settings)
    assert "\n" not in str(caught.value)
    if isinstance(caught.value, MQIError):
        assert caught.value.reason == MQRC.Q_MGR_NOT_AVAILABLE
    refused = (None, MQCC.FAILED, MQRC.Q_MGR_NOT_AVAILABLE)
    assert verbs.mqconn(Group(settings), name) == verbs.mqconnx(Group(settings), name, MQCNO()) == refused


def test_pymqi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGQ_REDIS_URL", NOBODY_THERE["refused"])
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path))
    with pytest.raises(pymqi.MQMIError, match="MQRC_Q_MGR_NOT_AVAILABLE"):
        pymqi.connect("QM1")
    group_for().leave()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[tuple[TestGroup, Server]]:
    server = Server(fsync="always")
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_shared("Q")
    yield group, server
    group.close()
    server.close()


def test_after_redis_goes_away_only_old_connections_are_broken(alone: tuple[TestGroup, Server]) -> None:
    group, server = alone
    queue = connect("QM1", settings=group.settings).open("Q", OpenOption.OUTPUT)
    server.kill()
    with pytest.raises(MQIError) as caught:
        connect("QM1", settings=group.settings)
    assert caught.value.reason == MQRC.Q_MGR_NOT_AVAILABLE
    with pytest.raises(MQIError) as caught:
        queue.put(b"x")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    server.start()
    connect("QM1", settings=group.settings).disconnect()


@pytest.mark.parametrize("script", ["admin/register_process", "admin/connect"])
def test_redis_that_goes_away_meanwhile(alone: tuple[TestGroup, Server], script: str) -> None:
    group, server = alone
    proxy = Proxy(server.socket, server.path)
    settings = group.settings.model_copy(update={"redis_url": proxy.url})
    proxy.lose_reply(script)
    with pytest.raises(MQIError) as caught:
        connect("QM1", settings=settings)
    assert caught.value.reason == MQRC.Q_MGR_NOT_AVAILABLE
    connect("QM1", settings=settings).disconnect()
    proxy.close()


def test_a_refused_user_learns_of_the_refusal(tmp_path: Path) -> None:
    server = Server("--requirepass", "secret")
    try:
        with pytest.raises(MQIError) as caught:
            connect("QM1", settings=Settings(redis_url=server.url, data_dir=tmp_path))
        assert caught.value.reason == MQRC.NOT_AUTHORIZED
    finally:
        server.close()
