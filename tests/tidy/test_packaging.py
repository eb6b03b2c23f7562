"""The package, its locked requirements and the commands of the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import igq

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    loaded: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return loaded["project"]


def locked() -> dict[str, set[Version]]:
    """Name -> versions: several if Pythons differ."""
    found: dict[str, set[Version]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", LOCK, re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(Version(version))
    return found


def test_lock_names_no_index_and_no_host() -> None:
    assert not re.search(r"https?:", LOCK)
    assert "://" not in LOCK
    assert "index-url" not in LOCK
    assert "find-links" not in LOCK


def test_every_locked_requirement_has_a_hash() -> None:
    requirements = re.split(r"\n(?=[a-z0-9])", LOCK)

    assert len(requirements) > 30
    for requirement in requirements:
        assert "--hash=sha256:" in requirement, requirement.splitlines()[0]


def test_lock_holds_what_the_project_asks_for(project: dict[str, Any]) -> None:
    asked = [Requirement(text) for text in project["dependencies"]]
    asked += [Requirement(text) for extra in project["optional-dependencies"].values() for text in extra]
    versions = locked()

    for requirement in asked:
        if requirement.name != project["name"]:
            found = versions.get(canonicalize_name(requirement.name), set())
            assert found, f"{requirement.name} is not locked"
            assert all(version in requirement.specifier for version in found), requirement


def test_the_slim_lock_is_part_of_the_whole_one_and_has_no_spark(project: dict[str, Any]) -> None:
    """Both images must run the same versions. Conditions on the platform may differ."""

    def blocks(text: str) -> dict[str, str]:
        found = re.findall(r"^(\S+)==(\S+)[^\n]*\n((?:    --hash[^\n]*\n)+)", text, re.MULTILINE)
        return {name: version + hashes for name, version, hashes in found}

    slim, whole = blocks((ROOT / "requirements-slim.lock").read_text("utf-8")), blocks(LOCK)

    assert slim.items() <= whole.items()
    extras = project["optional-dependencies"]
    asked = [text for name in ("web", "oidc", "tracing") for text in extras[name]]
    names = {Requirement(text).name for text in (*project["dependencies"], *asked)} - {project["name"]}
    assert names <= slim.keys()
    assert not {Requirement(text).name for text in extras["spark"]} & slim.keys()


def test_package_holds_its_scripts_and_templates() -> None:
    """As setuptools sees it: files that no pattern names would be missing in an installed package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]

    for package, suffixes in {"sharedq": [".lua"], "igq": [".html", ".css", ".js", ".svg", ".properties"]}.items():
        named = {path for pattern in settings[package] for path in (ROOT / package).glob(pattern)}
        there = {path for suffix in suffixes for path in (ROOT / package).rglob(f"*{suffix}")}
        assert there
        assert there <= named


def test_every_package_says_that_it_is_typed() -> None:
    assert sorted(path.parent.name for path in ROOT.glob("*/py.typed")) == ["igq", "recovery", "sharedq"]


def test_metadata_tell_what_pip_shows(project: dict[str, Any], tmp_path: Path) -> None:
    """As setuptools writes them: the installed ones may be older."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    make = "from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel('made')"
    (tmp_path / "made").mkdir()
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, check=True, capture_output=True)
    (directory,) = (tmp_path / "made").glob("*.dist-info")
    found = Distribution.at(directory)

    assert (found.name, found.version) == ("igq", igq.__version__)
    told = {name: found.metadata[name] for name in ("Summary", "Author", "License-Expression", "Requires-Python")}
    assert told == {
        "Summary": project["description"],
        "Author": "igq contributors",
        "License-Expression": "Apache-2.0",
        "Requires-Python": ">=3.11",
    }
    assert "Typing :: Typed" in (found.metadata.get_all("Classifier") or ())
    assert set(found.metadata.get_all("Provides-Extra") or ()) == {
        *("spark", "connect", "demo", "metrics", "web", "oidc", "tracing", "dev")
    }
    assert [(each.name, each.value) for each in found.entry_points] == [("igq", "igq.cli:main")]


def test_an_old_python_is_reported_in_one_line(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    old.chmod(0o755)
    copy = tmp_path / "project"
    copy.mkdir()
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        (copy / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")

    done = subprocess.run(["make", "setup", f"PYTHON={old}"], cwd=copy, check=False, capture_output=True, text=True)

    assert done.returncode != 0
    assert f"igq needs Python 3.11 or later: none found as '{old}'" in done.stderr
    assert not (copy / ".venv").exists()


def test_a_second_setup_installs_nothing(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/.complete").touch()

    done = subprocess.run(["make", "setup"], cwd=tmp_path, check=False, capture_output=True, text=True)

    assert done.returncode == 0
    assert "Installing" not in done.stdout


def test_continuous_integration_runs_the_readmes_test_command() -> None:
    run = ROOT / ".ci/run"

    assert os.access(run, os.X_OK)
    assert run.read_text("utf-8").rstrip().endswith("make test")
