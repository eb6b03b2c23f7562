"""`igq pipeline pack`: the archive for spark-submit --py-files."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from igq.pipeline.cli.app import build_app
from tests.support.wheels import ROOT

pytestmark = pytest.mark.share


def test_the_archive_has_the_code_and_is_the_same_each_time(tmp_path: Path) -> None:
    archives = []
    for name in ("one", "other"):
        done = CliRunner().invoke(build_app(), ["pack", str(tmp_path / name)], env={"IGQ_DATA_DIR": str(tmp_path)})
        assert done.exit_code == 0, done.output
        archives.append(Path(done.output.strip()))
        assert archives[-1] == tmp_path / name / "igq.zip"
    assert archives[0].read_bytes() == archives[1].read_bytes()
    names = zipfile.ZipFile(archives[0]).namelist()
    assert {"sharedq/lua/structure/read_range.lua", "igq/pipeline/datasource/queue/source.py"} <= {*names}
    assert {path.name for path in ROOT.glob("pyspark_igq*.py")} <= {*names}
    assert [name for name in names if "__pycache__" in name or name.startswith(("tests", "docs"))] == []


def test_igq_runs_from_it_and_says_that_it_cannot_pack_itself(tmp_path: Path) -> None:
    CliRunner().invoke(build_app(), ["pack", str(tmp_path)], env={"IGQ_DATA_DIR": str(tmp_path)})
    program = (
        "import sys; sys.path.insert(0, 'igq.zip')\n"
        "from igq.pipeline.spark.archive_of_code import build_archive\n"
        "from igq.pipeline.errors import PipelineError\n"
        "from sharedq.redis.script_source import script_text\n"
        "assert script_text('structure/read_range')\n"
        "try: build_archive('.')\n"
        "except PipelineError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.startswith("igq runs from ")
