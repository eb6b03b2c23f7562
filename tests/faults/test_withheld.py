"""Servers that withhold something: a renamed command, or entry from another host. The error has advice."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from igq.cli import main
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import Deployment
from sharedq.redis.link import Link
from tests.support.server import Server
from tests.support.topologies import free_ports

pytestmark = pytest.mark.faults


@contextmanager
def running(*options: str) -> Iterator[Server]:
    server = Server(*options)
    try:
        yield server
    finally:
        server.close()


#: Commands that a start of a manager and `igq status` give the server, outside scripts and inside.
@pytest.mark.parametrize("command", ["EVALSHA", "SCRIPT", "HGETALL", "HGET", "HSET", "TIME", "ZADD"])
def test_a_command_that_was_renamed_is_named_with_advice(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with running("--rename-command", command, "HIDDEN") as server:
        monkeypatch.setenv("IGQ_REDIS_URL", server.url)
        monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path))

        assert main(["qmgr", "start", "QM1"]) == 1

    said = capfd.readouterr().err.splitlines()[-1]
    assert "undo its rename-command" in said
    assert command in said or "a command of a script" in said


def test_a_status_without_info_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running("--rename-command", "INFO", "HIDDEN") as server:
        monkeypatch.setenv("IGQ_REDIS_URL", server.url)
        monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path))

        assert main(["status"]) == 0


def test_protected_mode_is_explained() -> None:
    host = own_address()
    (port,) = free_ports(1)
    with running("--port", str(port), "--bind", "0.0.0.0", "--protected-mode", "yes"):
        link = Link(Deployment(f"redis://{host}:{port}"))

        with pytest.raises(MQIError, match=r"Redis is in protected mode.*password.*protected-mode no") as caught:
            link.command("{G:S}:x", "GET", "{G:S}:x")

        assert caught.value.reason == MQRC.NOT_AUTHORIZED
        link.close()


def own_address() -> str:
    """The address of this machine in its network. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        return str(probe.getsockname()[0])


def test_a_server_that_drops_messages_is_a_warning_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Strict, so that it ends after it has said so.
    options = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with running(*options) as server:
        for name, value in {"REDIS_URL": server.url, "DATA_DIR": str(tmp_path), "DURABILITY": "strict"}.items():
            monkeypatch.setenv(f"IGQ_{name}", value)
        monkeypatch.setenv("IGQ_LOG_LEVEL", "warning")

        assert main(["qmgr", "start", "QM1"]) == 1

    assert "IGQ0008W QM1 Redis needs a look: maxmemory-policy allkeys-lru" in capfd.readouterr().out
