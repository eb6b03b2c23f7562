"""The allocator of a server that the package runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

import pytest

from sharedq.redis import embedded_server
from sharedq.redis.embedded_server import SERVER_VARIABLE, server_environment
from tests.support.server import Server

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="what is preloaded is a matter of Linux' loader")


@pytest.fixture(autouse=True)
def _as_it_comes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (SERVER_VARIABLE, "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    find = embedded_server._find_allocator
    find.cache_clear()
    yield
    find.cache_clear()


@on_linux
def test_it_allocates_with_mimalloc() -> None:
    server = Server()
    try:
        pid = int(server.client().info("server")["process_id"])
        assert "/libmimalloc.so" in Path(f"/proc/{pid}/maps").read_text("utf-8")
    finally:
        server.close()


@on_linux
def test_other_preloaded_libraries_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/other.so")
    ours, other = server_environment()["LD_PRELOAD"].split(":")
    assert Path(ours).is_file()
    assert other == "/lib/other.so"


def test_a_server_of_the_users_own_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVER_VARIABLE, "redis-server")
    assert "LD_PRELOAD" not in server_environment()


def test_a_variable_that_is_set_to_nothing_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_comes = server_environment()
    monkeypatch.setenv(SERVER_VARIABLE, "")
    assert server_environment() == as_it_comes | {SERVER_VARIABLE: ""}


def test_without_the_package_the_server_runs_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(embedded_server, "distribution", distribution)
    assert "LD_PRELOAD" not in server_environment()


@on_linux
@pytest.mark.parametrize("directory", ["a b", "a:b", "a\tb"])
def test_a_path_that_the_loader_would_split_is_not_preloaded(tmp_path: Path, directory: str) -> None:
    library = embedded_server._find_allocator()
    assert library is not None
    (tmp_path / directory).mkdir()
    copy = Path(shutil.copy(library, tmp_path / directory))
    assert not embedded_server._can_be_preloaded(copy)
    # The path before the blank must not be loaded either.
    assert embedded_server._can_be_preloaded(Path(shutil.copy(library, tmp_path)))


@on_linux
def test_a_library_that_lacks_another_one_is_not_preloaded(tmp_path: Path) -> None:
    library = embedded_server._find_allocator()
    assert library is not None
    # Its entry for libatomic.so.1 names a missing library: a program that preloads it does not start.
    torn = tmp_path / library.name
    torn.write_bytes(library.read_bytes().replace(b"libatomic.so.1", b"libnowhere.so1"))
    assert not embedded_server._can_be_preloaded(torn)
    torn.write_bytes(b"no library")
    assert not embedded_server._can_be_preloaded(torn)
