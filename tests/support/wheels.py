"""The wheel of this checkout, and environments with it and its extras, without a network."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
#: The packages, and what stands beside them in a checkout. Nothing of the last line belongs in a wheel.
SOURCES = (
    *(
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "igq",
        "sharedq",
        "recovery",
        "pyspark_igq.py",
        "pyspark_igq_journal.py",
        "pyspark_igq_parquet.py",
    ),
    *("bench", "config", "docs", "tests", "CHANGELOG.md", "requirements.lock", "Makefile"),
)


def build_wheel(directory: Path) -> Path:
    """A wheel of a copy of the checkout, which stays clean."""
    copy = directory / "checkout"
    copy.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(directory), str(copy)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,) = directory.glob("igq-*.whl")
    return wheel


def install(wheel: Path, directory: Path, *extras: str) -> Path:
    """A virtual environment with the wheel and its requirements, and nothing else. Returns its bin folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    python = directory / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(directory), "platbase": str(directory)}))
    for name in required(["igq"], extras):
        for entry in entries_of(name):
            if not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    options = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(wheel)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return python.parent


def required(names: Iterable[str], extras: Iterable[str] = ()) -> set[str]:
    """The installed distributions that these need, with the extras of the first ones."""
    found: set[str] = set()
    left = [(name, tuple(extras)) for name in names]
    while left:
        name, wanted = left.pop()
        for text in importlib.metadata.requires(name) or ():
            requirement = Requirement(text)
            environments = [{"extra": extra} for extra in (*wanted, "")]
            if requirement.marker and not any(map(requirement.marker.evaluate, environments)):
                continue
            key = canonicalize_name(requirement.name)
            if key not in found or requirement.extras:
                # The same one with other extras, or a new distribution.
                left.append((key, tuple(requirement.extras)))
            found.add(key)
    return found - {"igq"}


def entries_of(name: str) -> set[Path]:
    """The files and folders of a distribution in the folder of packages."""
    distribution = importlib.metadata.distribution(name)
    root = Path(str(distribution.locate_file("")))
    tops = {path.parts[0] for path in distribution.files or ()} - {"..", "__pycache__"}
    return {root / top for top in tops}
