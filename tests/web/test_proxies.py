"""The console behind proxies: it believes what those say that the settings name, and nobody else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from igq.web.access import failures
from igq.web.http import connections
from sharedq.settings.loader import load_settings
from sharedq.settings.values import ConfigError
from tests.cli.conftest import new_shell
from tests.support.console import PASSWORD, Console, add_users
from tests.web.test_server import raw

_FORGED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def trusting() -> Iterator[Console]:
    """A console that trusts proxies of this machine, and of a network."""
    with tempfile.TemporaryDirectory(prefix="igq", ignore_cleanup_errors=True) as path:
        shell = new_shell(Path(path))
        shell.environment["IGQ_CONSOLE_TRUSTED_PROXIES"] = "127.0.0.1 10.20.0.0/16"
        try:
            add_users(shell)
            with Console.start(shell) as console:
                yield console
        finally:
            shell.close()


def sign_in(console: Console, headers: dict[str, str], password: str = PASSWORD) -> httpx.Response:
    return httpx.post(
        f"{console.url}/console/api/sign-in", json={"user": "vera", "password": password}, headers=headers, timeout=60
    )


def test_headers_of_an_address_that_is_no_proxy_count_for_nothing(console: Console) -> None:
    with Console.start(console.shell) as own:
        answer = sign_in(own, _FORGED)
        assert answer.status_code == 200
        assert "Secure" not in answer.headers["set-cookie"]
        assert "strict-transport-security" not in answer.headers
        assert "203.0.113.9" not in own.logged("sign in")
        # Each failure is one of the address that is connected, whatever it says.
        for number in range(failures.PER_HOST):
            sign_in(own, {"X-Forwarded-For": f"198.51.100.{number}"}, "wrong")
        assert sign_in(own, {"X-Forwarded-For": "198.51.100.99"}, "wrong").status_code == 429


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.10, 10.20.0.7", "203.0.113.10"),
        ("198.51.100.1, 203.0.113.11, 10.20.3.4, 10.20.0.7", "203.0.113.11"),
        # The client forges an address of a proxy, to which the first proxy adds that of the client.
        ("10.20.0.7, 203.0.113.12", "203.0.113.12"),
        ("2001:db8::7", "2001:db8::7"),
        ("x" * 20_000, "x" * 64),
    ],
)
def test_the_last_hop_that_is_no_proxy_is_the_client(trusting: Console, forwarded: str, client: str) -> None:
    answer = sign_in(trusting, {"X-Forwarded-For": forwarded, "X-Forwarded-Proto": "https"}, "wrong")
    assert answer.status_code == 401
    assert "max-age" in answer.headers["strict-transport-security"]
    line = trusting.logged(client)
    assert "x" * 65 not in line


def test_a_cookie_is_secure_where_the_browser_came_by_tls(trusting: Console) -> None:
    by_tls, plain = (sign_in(trusting, {"X-Forwarded-Proto": each}) for each in ("https", "http"))
    assert "Secure" in by_tls.headers["set-cookie"]
    assert "Secure" not in plain.headers["set-cookie"]
    cookies = {"Cookie": by_tls.headers["set-cookie"].partition(";")[0]}
    headers = {**cookies, "X-Forwarded-Proto": "https", "ibm-mq-rest-csrf-token": by_tls.json()["csrf"]}
    ended = httpx.post(f"{trusting.url}/console/api/sign-out", headers=headers, timeout=60)
    assert ended.status_code == 204
    assert "Secure" in ended.headers["set-cookie"]


def test_failures_count_for_each_client_of_a_proxy(trusting: Console) -> None:
    one, other = {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "192.0.2.2"}
    for _ in range(failures.PER_HOST):
        assert sign_in(trusting, one, "wrong").status_code == 401
    assert sign_in(trusting, one, "wrong").status_code == 429
    assert sign_in(trusting, other, "wrong").status_code == 401


def test_a_proxy_may_have_more_connections_than_one_address(trusting: Console) -> None:
    with ExitStack() as held:
        idle = [held.enter_context(raw(trusting)) for _ in range(connections.PER_ADDRESS + 5)]
        assert httpx.get(f"{trusting.url}/console/", timeout=60).status_code == 200
        for each in idle:
            each.settimeout(0)
            with pytest.raises(BlockingIOError):
                each.recv(1)


@pytest.mark.parametrize("value", ["*", "proxy.example.com", "10.0.0.1/8", "10.0.0.1, 10.0.0.2", "300.1.1.1"])
def test_a_proxy_is_an_address_or_a_network(value: str) -> None:
    with pytest.raises(ConfigError, match="IGQ_CONSOLE_TRUSTED_PROXIES"):
        load_settings({"IGQ_CONSOLE_TRUSTED_PROXIES": value})
