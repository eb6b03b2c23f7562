"""docker-compose.yml and Dockerfile, compared with the rest of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from sharedq.settings.loader import ENVIRONMENT, load_settings

ROOT = Path(__file__).parents[2]
MANAGERS = ("EWR", "JFK", "LGA")


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return loaded["services"]


def ours(services: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: service for name, service in services.items() if name != "redis"}


def test_redis_syncs_every_write_and_drops_no_key(services: dict[str, dict[str, Any]]) -> None:
    words = services["redis"]["command"]
    options = dict(zip(words[1::2], words[2::2], strict=True))

    assert options["--appendonly"] == "yes"
    assert options["--appendfsync"] == "always"
    assert options["--maxmemory-policy"] == "noeviction"
    assert services["redis"]["volumes"]


def test_everything_of_ours_is_built_here_and_only_the_audit_has_spark(services: dict[str, dict[str, Any]]) -> None:
    stages = re.findall(r"^FROM \S+ AS (\w+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert stages[-2:] == ["slim", "full"]
    for name, service in ours(services).items():
        image, target = ("igq:0.1.0", "full") if name == "audit" else ("igq:0.1.0-slim", "slim")
        assert (service["image"], service["build"]) == (image, {"context": ".", "target": target})


@pytest.mark.parametrize("name", MANAGERS)
def test_each_manager_is_started_under_its_name(services: dict[str, dict[str, Any]], name: str) -> None:
    assert services[name]["command"] == ["qmgr", "start", name]
    assert services[name]["environment"]["QMGR"] == name


def test_nothing_starts_before_what_it_needs_is_healthy(services: dict[str, dict[str, Any]]) -> None:
    for name, service in ours(services).items():
        for needed, how in service["depends_on"].items():
            assert how == {"condition": "service_healthy"}, name
            assert "healthcheck" in services[needed], needed
    for name in MANAGERS:
        assert "redis" in services[name]["depends_on"]


def test_audit_is_a_job_that_runs_when_asked_for(services: dict[str, dict[str, Any]]) -> None:
    assert services["audit"]["profiles"] == ["spark"]
    assert services["audit"]["command"][:2] == ["pipeline", "audit"]


def test_settings_of_every_service_are_settings(services: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    for service in ours(services).values():
        given = {name: value for name, value in service["environment"].items() if name != "QMGR"}
        settings = load_settings({"HOME": str(tmp_path), **given})

        assert set(given) <= set(ENVIRONMENT)
        assert settings.redis_url == "redis://redis:6379"
        assert settings.durability == "strict"


def test_a_manager_is_healthy_when_programs_can_connect_to_it(
    services: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    kind, *command = services["EWR"]["healthcheck"]["test"]
    assert kind == "CMD"
    igq = tmp_path / "igq"
    igq.write_text('#!/bin/sh\n[ "$*" = "health ready EWR" ]\n', "utf-8")
    igq.chmod(0o755)

    # For docker compose a single $ begins a variable of its own.
    done = subprocess.run(
        [word.replace("$$", "$") for word in command],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "QMGR": "EWR"},
        check=False,
    )

    assert all("$" not in word.replace("$$", "") for word in command)
    assert done.returncode == 0


def test_image_copies_what_is_there_and_every_package(services: dict[str, dict[str, Any]]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    lines = re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE)
    copied = {word for line in lines for word in line.split()[:-1]}

    assert {
        "requirements.lock",
        "requirements-slim.lock",
        "pyproject.toml",
        "config",
        "sharedq",
        "recovery",
        "igq",
        "pyspark_igq.py",
        "pyspark_igq_journal.py",
        "pyspark_igq_parquet.py",
    } <= copied
    for name in copied:
        assert (ROOT / name).exists(), name
    assert 'ENTRYPOINT ["igq"]' in dockerfile
    # The sample's path is relative to the image's working directory, into which the packages are copied.
    script = Path(services["objects"]["command"][2])
    assert (ROOT / script).is_file()
    assert script.parts[0] in copied


def test_docker_compose_takes_the_file() -> None:
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode
    ):
        pytest.skip("there is no docker with compose here")

    done = subprocess.run(
        ["docker", "compose", "--profile", "spark", "config", "-q"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
