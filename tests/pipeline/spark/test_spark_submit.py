"""spark-submit if driver and workers have PySpark and igq's requirements, but not igq: docs/how-to/spark.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyspark
import pytest

from igq.pipeline.spark.archive_of_code import build_archive
from tests.pipeline.streams import Watch, in_doubt, open_orders
from tests.support.members import TestGroup

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "spark.md").read_text(encoding="utf-8")
JOB = Path(__file__).parents[1].joinpath("submitted_job.py")
END_S = 400
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python with every installed package except igq."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "igq" not in path.name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    (site,) = (tmp_path / "bare" / "lib").glob("python3*/site-packages")
    (site / "packages.pth").write_text(str(packages))
    found = tmp_path / "bare" / "bin" / "python"
    without = subprocess.run(
        [found, "-c", "import sharedq"], env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "No module named 'sharedq'" in without.stderr
    return found


def environment() -> dict[str, str]:
    """This process' environment without the paths that Spark may have added to it."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}


def archive(directory: Path) -> Path:
    """The archive that the page says how to make."""
    assert re.search(r"^igq pipeline pack build$", PAGE, flags=re.MULTILINE)
    return build_archive(directory)


def submit(group: TestGroup, python: Path, directory: Path, *options: str, **more: str) -> str:
    """The job's output."""
    at = [str(group.settings.redis_url), group.group.name, str(directory)]
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    conf = ("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2")
    with Watch(group):
        done = subprocess.run(
            [program, *conf, *options, str(JOB), *at],
            env=environment() | {"PYSPARK_PYTHON": str(python)} | more,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=END_S,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_a_job_that_is_submitted_needs_no_installation(
    group: TestGroup, python: Path, tmp_path: Path, master: str
) -> None:
    open_orders(group)
    code = archive(tmp_path)
    told = submit(group, python, tmp_path, "--master", master, "--py-files", str(code), PYTHONPATH=str(code))
    assert told.split() == ["TABLE", "12", "SQL", "12", "JOURNAL", "True", "STREAM", "12", "EVENTS", "True"]
    assert in_doubt(group) == 0
