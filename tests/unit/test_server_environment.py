"""With which allocator a server of the package runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq import embedded_server
from sharedq.embedded_server import SERVER_VARIABLE, server_environment
from tests.support.server import Server

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="what is preloaded is a matter of Linux' loader")


@pytest.fixture(autouse=True)
def _as_it_comes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (SERVER_VARIABLE, "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    embedded_server._find_allocator.cache_clear()
    yield
    embedded_server._find_allocator.cache_clear()


@on_linux
def test_it_allocates_with_mimalloc() -> None:
    server = Server()
    try:
        pid = int(server.client().info("server")["process_id"])
        assert "/libmimalloc.so" in Path(f"/proc/{pid}/maps").read_text("utf-8")
    finally:
        server.close()


@on_linux
def test_what_else_is_to_be_preloaded_still_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/other.so")
    ours, other = server_environment()["LD_PRELOAD"].split(":")
    assert Path(ours).is_file()
    assert other == "/lib/other.so"


def test_a_server_of_the_users_own_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVER_VARIABLE, "redis-server")
    assert "LD_PRELOAD" not in server_environment()


def test_where_it_is_not_installed_the_server_runs_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_server, "_ALLOCATOR", "libnothing.so")
    assert "LD_PRELOAD" not in server_environment()
