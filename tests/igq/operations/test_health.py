"""Probes of a manager on this machine: they need no Redis, and a left-over file tells of nobody."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from igq.operations.health import HealthFile, probe, quick, read_health


def of(data_dir: Path) -> dict[str, str]:
    return {"IGQ_DATA_DIR": str(data_dir)}


@pytest.fixture
def file(tmp_path: Path) -> HealthFile:
    return HealthFile(tmp_path, "QM1")


def test_no_file_is_no_manager(tmp_path: Path) -> None:
    assert probe("live", "", of(tmp_path)) == f"no queue manager runs in {tmp_path}"
    assert probe("live", "QM1", of(tmp_path)) == "queue manager QM1: no process"


def test_a_manager_without_redis_lives_and_is_not_ready(tmp_path: Path, file: HealthFile) -> None:
    file.tell("RUNNING", safe_until_s=time.monotonic() - 1, lease_s=5)

    assert probe("live", "", of(tmp_path)) == ""
    assert "Redis may be away" in probe("ready", "", of(tmp_path))


@pytest.mark.parametrize(("state", "why"), [("STARTING", "STARTING"), ("QUIESCING", "QUIESCING"), ("RUNNING", "")])
def test_ready_is_running_under_a_lease(tmp_path: Path, file: HealthFile, state: str, why: str) -> None:
    file.tell(state, safe_until_s=time.monotonic() + 3600, lease_s=5)

    assert probe("live", "QM1", of(tmp_path)) == ""
    assert why in probe("ready", "QM1", of(tmp_path))
    assert bool(probe("ready", "QM1", of(tmp_path))) == bool(why)


def test_a_manager_that_gives_no_sign_for_long_hangs(tmp_path: Path, file: HealthFile) -> None:
    file.tell("RUNNING", lease_s=5)
    health = read_health(tmp_path, "QM1")

    assert not health.why_not_live(health.beat_s + 59)
    assert health.why_not_live(health.beat_s + 61) == "queue manager QM1: hangs, no sign for 61 s"


def test_a_long_lease_is_more_patience(tmp_path: Path, file: HealthFile) -> None:
    file.tell("RUNNING", lease_s=60)
    health = read_health(tmp_path, "QM1")

    assert not health.why_not_live(health.beat_s + 599)
    assert health.why_not_live(health.beat_s + 601)


def test_a_killed_manager_leaves_a_file_that_tells_of_nobody(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal; from igq.operations.health import HealthFile\n"
        f"HealthFile(pathlib.Path({str(tmp_path)!r}), 'QM1').tell('RUNNING', lease_s=5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program], check=False, timeout=60)

    assert (tmp_path / "QM1.health").exists()
    assert probe("live", "QM1", of(tmp_path)) == "queue manager QM1: no process"
    assert "no queue manager runs" in probe("live", "", of(tmp_path))


def test_a_second_process_does_not_touch_the_file_of_the_first(tmp_path: Path, file: HealthFile) -> None:
    file.tell("RUNNING", safe_until_s=time.monotonic() + 3600, lease_s=5)
    second = HealthFile(tmp_path, "QM1")

    second.tell("STARTING")
    second.close()

    assert probe("ready", "QM1", of(tmp_path)) == ""


def test_a_manager_that_ends_in_good_order_removes_its_file(tmp_path: Path, file: HealthFile) -> None:
    file.tell("RUNNING")
    file.close()

    assert not list(tmp_path.iterdir())


def test_a_directory_that_cannot_be_written_ends_no_manager(tmp_path: Path) -> None:
    HealthFile(tmp_path / "not there", "QM1").tell("RUNNING")


def test_garbage_in_a_file_is_no_manager(tmp_path: Path, file: HealthFile) -> None:
    file.tell("RUNNING")
    (tmp_path / "QM1.health").write_bytes(b"\0" * 300)

    assert probe("live", "QM1", of(tmp_path)) == "queue manager QM1: no process"


@pytest.mark.parametrize(
    "arguments",
    [["health"], ["health", "alive"], ["health", "live", "--help"], ["status"], ["health", "live", "a", "b"]],
)
def test_other_arguments_take_the_whole_command_line(arguments: list[str]) -> None:
    assert quick(arguments) is None


def test_a_probe_imports_little() -> None:
    program = "import sys; from igq.cli import main; main(['health', 'live']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert not {"typer", "pydantic", "redis", "structlog", "tomllib"} & set(done.stdout.split())


def test_the_data_directory_is_that_of_the_settings(tmp_path: Path, file: HealthFile) -> None:
    file.tell("RUNNING")
    config = tmp_path / "igq.toml"
    config.write_text('data_dir = "."\n')

    assert probe("live", "QM1", {"IGQ_CONFIG": str(config)}) == ""
    assert probe("live", "QM1", {"XDG_DATA_HOME": str(tmp_path)}) == "queue manager QM1: no process"
