"""Sentinels that ask for a password: that of the URL or their own, and the text of a refusal."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from igq.processes.child import die_with_parent
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import Deployment
from sharedq.redis.embedded_server import find_server, server_environment
from sharedq.settings.values import Settings
from tests.support.topologies import HOST, SERVICE, Node, free_ports, until

KEY = "{QSG1:CSQ_ADMIN}:members"
OPEN = ""
PASSWORD = "requirepass sentinels\n"
USER = "user default off\nuser app on >sentinels -@all +auth +sentinel|master\n"
BARE = "user app on >sentinels -@all +auth\n"
StartSentinel = Callable[[str], int]


@pytest.fixture(scope="module")
def primary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A primary; its password is set afterwards, as `Node` has none."""
    node = Node(tmp_path_factory.mktemp("primary") / "data", free_ports(1)[0])
    node.ask("ACL", "SETUSER", "app", "on", ">redis", "~*", "&*", "+@all")
    node.ask("ACL", "SETUSER", "default", "resetpass", ">redis")
    yield node
    node.kill()


@pytest.fixture(params=["redis-sentinel", "embedded"])
def start_sentinel(request: pytest.FixtureRequest, primary: Node, tmp_path: Path) -> Iterator[StartSentinel]:
    """Starts a Sentinel with some lines of configuration. Returns its port."""
    binary = shutil.which("redis-sentinel") if request.param == "redis-sentinel" else str(find_server())
    if binary is None:
        pytest.skip("there is no redis-sentinel here")
    processes: list[subprocess.Popen[bytes]] = []

    def start(lines: str) -> int:
        port = free_ports(1)[0]
        settings = tmp_path / f"{port}.conf"
        settings.write_text(
            f"port {port}\nbind {HOST}\nsentinel monitor {SERVICE} {HOST} {primary.port} 1\n"
            f"sentinel auth-pass {SERVICE} redis\n{lines}"
        )
        processes.append(
            subprocess.Popen(
                [binary, str(settings), "--sentinel"],
                env=server_environment(),
                stdout=subprocess.DEVNULL,
                preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - it does one system call
            )
        )
        until(lambda: is_listening(port), "the Sentinel answers")
        return port

    yield start
    for process in processes:
        process.kill()
        process.wait()


def is_listening(port: int) -> bool:
    with redis.Redis(host=HOST, port=port, retry=Retry(NoBackoff(), 0)) as client:
        try:
            return bool(client.ping())
        except (redis.AuthenticationError, redis.exceptions.NoPermissionError):
            return True


@pytest.mark.parametrize(
    ("lines", "who", "query"),
    [
        (OPEN, "", ""),
        (OPEN, "app:redis@", ""),
        (PASSWORD, ":sentinels@", ""),
        (PASSWORD, "", "?sentinel_password=sentinels"),
        (PASSWORD, "app:redis@", "?sentinel_password=sentinels"),
        (USER, "app:sentinels@", ""),
        (USER, "other:redis@", "?sentinel_username=app&sentinel_password=sentinels"),
    ],
)
def test_the_primary_is_found(start_sentinel: StartSentinel, primary: Node, lines: str, who: str, query: str) -> None:
    deployment = Deployment(f"redis+sentinel://{who}{HOST}:{start_sentinel(lines)}/{SERVICE}{query}")
    assert deployment.locate(KEY).port == primary.port


@pytest.mark.parametrize(
    ("lines", "who", "query", "said"),
    [
        (PASSWORD, "", "", "NOAUTH"),
        (PASSWORD, ":redis@", "", "WRONGPASS"),
        (PASSWORD, "app:redis@", "", "WRONGPASS"),
        (PASSWORD, ":redis@", "?sentinel_password=wrong", "WRONGPASS"),
        (USER, "", "", "NOAUTH"),
        (BARE + "user default off\n", "", "?sentinel_username=app&sentinel_password=sentinels", "NOPERM"),
    ],
)
def test_a_refusal_names_the_sentinel_and_why(
    start_sentinel: StartSentinel, tmp_path: Path, lines: str, who: str, query: str, said: str
) -> None:
    port = start_sentinel(lines)
    url = f"redis+sentinel://{who}{HOST}:{port}/{SERVICE}{query}"
    group = Group(Settings(redis_url=url, data_dir=tmp_path))
    with pytest.raises(MQIError) as caught:
        group.members()
    assert caught.value.reason == MQRC.NOT_AUTHORIZED
    assert f"Sentinel {HOST}:{port}: {said}" in str(caught.value)
    assert "sentinel_password=PASSWORD" in str(caught.value)
    assert "redis@" not in str(caught.value)
    group.leave()


def test_one_that_takes_us_is_enough(start_sentinel: StartSentinel, primary: Node) -> None:
    ports = start_sentinel("requirepass another\n"), free_ports(1)[0], start_sentinel(PASSWORD)
    hosts = ",".join(f"{HOST}:{port}" for port in ports)
    url = f"redis+sentinel://{hosts}/{SERVICE}?sentinel_password=sentinels"
    assert Deployment(url).locate(KEY).port == primary.port


def test_where_one_refuses_and_one_knows_no_primary_both_are_named(start_sentinel: StartSentinel) -> None:
    ports = start_sentinel(OPEN), start_sentinel(PASSWORD)
    hosts = ",".join(f"{HOST}:{port}" for port in ports)
    with pytest.raises(redis.ConnectionError, match=r"knows a primary other; Sentinel .* NOAUTH"):
        Deployment(f"redis+sentinel://{hosts}/other").locate(KEY)


def test_a_program_works_with_both_passwords(start_sentinel: StartSentinel, tmp_path: Path) -> None:
    url = f"redis+sentinel://app:redis@{HOST}:{start_sentinel(PASSWORD)}/{SERVICE}?sentinel_password=sentinels"
    group = Group(Settings(redis_url=url, data_dir=tmp_path))
    assert group.members() == []
    group.leave()
