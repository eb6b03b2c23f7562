"""Files of a user with the names of modules of the product, or of modules that it uses."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from igq.processes.child import leave_current_folder
from tests.cli.conftest import ROOT, Running, Shell

#: Modules of this package, former ones, and modules that it uses.
NAMES = ("config", "pipeline", "recovery", "typer", "redis", "pydantic", "rich", "pyspark", "pandas", "sharedq", "igq")
#: A file that records each program that imports it.
TELLS = """
import sys
from pathlib import Path
with Path(__file__).with_name("imported").open("a") as file:
    print(__name__, sys.orig_argv, file=file)
raise SystemExit(f"{__name__} was imported from the current folder")
"""
#: A program with its own config.py, pipeline.py and recovery.py.
PROGRAM = """
import config, pipeline, recovery
import sharedq
from sharedq import pymqi
from sharedq.mqi.constants import OpenOption
with sharedq.connect(config.QMGR) as manager:
    with manager.open(config.QUEUE, OpenOption.OUTPUT | OpenOption.INPUT_SHARED) as queue:
        queue.put(pipeline.BODY)
        print(queue.get().body.decode())
manager = pymqi.connect(config.QMGR)
pymqi.Queue(manager, config.QUEUE).put(recovery.BODY)
print(pymqi.Queue(manager, config.QUEUE).get().decode())
manager.disconnect()
"""
SPARK_PROGRAM = """
import config, pipeline, recovery
from pathlib import Path
from igq.pipeline.spark.session import spark_session
with spark_session(Path("spark"), master="local[1]", is_small=True) as spark:
    rows = spark.read.format("igq").option("queue", config.QUEUE).option("qmgr", config.QMGR).load()
    print("rows", rows.count())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder from which no process may import."""
    made = tmp_path / "work"
    made.mkdir()
    for name in NAMES:
        (made / f"{name}.py").write_text(TELLS, "utf-8")
    return made


@pytest.fixture
def environment(shell: Shell) -> dict[str, str]:
    """The shell's environment without the path to the modules: they are installed."""
    for name in [name for name in shell.environment if name.startswith("PYTHON")]:
        del shell.environment[name]
    return shell.environment


@pytest.fixture
def own_files(tmp_path: Path) -> Path:
    """A folder of a program with modules of its own."""
    made = tmp_path / "program"
    made.mkdir()
    (made / "config.py").write_text('QMGR, QUEUE = "QM1", "SYSTEM.DEFAULT.LOCAL.QUEUE"\n', "utf-8")
    (made / "pipeline.py").write_text('BODY = b"one"\n', "utf-8")
    (made / "recovery.py").write_text('BODY = b"two"\n', "utf-8")
    return made


def console_script() -> str:
    """The `igq` that is installed here."""
    script = shutil.which("igq", path=str(Path(sys.executable).parent))
    assert script
    return script


def run(command: list[str], folder: Path, environment: dict[str, str], text: str = "") -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=600, check=False
    )
    assert not (folder / "imported").exists(), (folder / "imported").read_text("utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("way", ["script", "module"])
def test_a_group_never_imports_from_the_current_folder(
    shell: Shell, folder: Path, environment: dict[str, str], way: str
) -> None:
    """The supervisor, its managers, their agents and every command; a message that an agent moves."""
    igq = [console_script()]
    if way == "module":
        igq = [sys.executable, "-m", "igq"]
        # Python itself would take that for the module to run, unless -P forbids it.
        (folder / "igq.py").unlink()
    group = Running(shell, ("group", "start", "-m", "QM1", "-m", "QM2"), igq=igq, cwd=folder)
    shell.running.append(group)
    group.wait_for("CSQM050I", 2)
    run([*igq, "mqsc", "QM2"], folder, environment, "DEFINE QLOCAL(THERE)\n")
    run([*igq, "put", "QM1", "THERE", "--qmgr", "QM2", "hello"], folder, environment)
    assert "hello" in run([*igq, "get", "QM2", "THERE", "--wait", "60"], folder, environment)
    assert "QM2" in run([*igq, "status"], folder, environment)
    run([*igq, "fsck"], folder, environment)
    run([*igq, "pipeline", "--help"], folder, environment)
    run([sys.executable, "-P", "-m", "igq", "--version"], folder, environment)
    assert group.end() == 0
    assert not (folder / "imported").exists(), (folder / "imported").read_text("utf-8")


@pytest.mark.parametrize("is_checkout", [True, False])
def test_the_folder_that_holds_the_package_stays_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_checkout: bool
) -> None:
    """`python -m igq` runs in a checkout that is installed nowhere."""
    first = str(ROOT if is_checkout else tmp_path)
    monkeypatch.setattr(sys, "path", [first, "/somewhere"])
    leave_current_folder()
    assert sys.path == [*([first] if is_checkout else []), "/somewhere"]


def test_a_program_has_modules_of_its_own(shell: Shell, own_files: Path) -> None:
    shell.start_manager("QM1")
    (own_files / "main.py").write_text(PROGRAM, "utf-8")
    assert run([sys.executable, "main.py"], own_files, shell.environment).split() == ["one", "two"]


@pytest.mark.spark
@pytest.mark.slow
def test_a_spark_program_has_modules_of_its_own(shell: Shell, own_files: Path) -> None:
    shell.start_manager("QM1")
    shell.out("put", "QM1", "SYSTEM.DEFAULT.LOCAL.QUEUE", "hello")
    (own_files / "main.py").write_text(SPARK_PROGRAM, "utf-8")
    assert "rows 1" in run([sys.executable, "main.py"], own_files, shell.environment)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_drill_and_its_audit_never_import_from_the_current_folder(folder: Path, environment: dict[str, str]) -> None:
    """The nursery and its programs, the audit's process, Java and the workers that it starts."""
    run([console_script(), "drill", "kill-agent", "--seed", "1"], folder, environment)
