"""An embedded server that cannot be used: one line with the reason, and no process left."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharedq.redis.embedded import EmbeddedRedis, EmbeddedRedisError
from sharedq.redis.embedded_guard import ServerFiles

pytestmark = [pytest.mark.faults, pytest.mark.share]


def error_of(data_dir: Path) -> str:
    with pytest.raises(EmbeddedRedisError) as caught:
        EmbeddedRedis.start_or_join(data_dir)
    text = str(caught.value)
    assert "\n" not in text
    return text


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    path.chmod(0o755)
    return path


def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    data_dir = file / "data"
    allowed = "allowed: a directory that can be written, or created"
    assert error_of(data_dir) == f"IGQ_DATA_DIR={data_dir}: {data_dir}: Not a directory; {allowed}"


def test_server_program_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGQ_REDIS_SERVER", "no-such-server")

    assert error_of(tmp_path) == (
        "IGQ_REDIS_SERVER=no-such-server: no such program; allowed: a path, or a name on PATH"
    )


def test_server_that_ends_at_once_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = program(tmp_path / "server", "echo first; echo 'no luck today'; exit 3")
    monkeypatch.setenv("IGQ_REDIS_SERVER", str(server))

    text = error_of(tmp_path / "data")

    assert text == f"embedded server in {tmp_path / 'data'}: the server did not start: no luck today"


def test_server_that_ends_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGQ_REDIS_SERVER", str(program(tmp_path / "server", "exit 1")))

    assert error_of(tmp_path / "data").endswith("the server did not start: it said nothing")


def test_foreign_data_is_reported_in_the_servers_words_and_left(tmp_path: Path) -> None:
    with EmbeddedRedis.start_or_join(tmp_path):
        pass
    (manifest,) = (ServerFiles(tmp_path).redis_dir / "appendonlydir").glob("*.manifest")
    manifest.write_text("nonsense\n", encoding="ascii")

    text = error_of(tmp_path)

    assert "the server did not start: " in text
    assert "manifest" in text.lower()
    assert manifest.read_text(encoding="ascii") == "nonsense\n"


def test_after_an_error_the_next_start_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGQ_REDIS_SERVER", str(program(tmp_path / "server", "exit 1")))
    error_of(tmp_path / "data")
    monkeypatch.delenv("IGQ_REDIS_SERVER")

    with EmbeddedRedis.start_or_join(tmp_path / "data") as held:
        assert held.url.startswith("unix://")
