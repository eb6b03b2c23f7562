"""config/igq@.service, held against systemd where there is one, and against what igq does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from igq.operations.shutdown import STOP_TIMEOUT_S

UNIT = (Path(__file__).parents[2] / "config/igq@.service").read_text("utf-8")


def value(name: str) -> str:
    (found,) = re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)
    return str(found)


def test_the_unit_waits_for_what_a_manager_tells_and_for_its_quiesce() -> None:
    assert value("Type") == "notify"
    assert value("TimeoutStartSec") == "infinity"
    assert int(value("TimeoutStopSec")) > STOP_TIMEOUT_S
    assert value("ExecStart").endswith("igq qmgr start %i")


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    # It looks for the program, which need not be installed there.
    program = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", UNIT, flags=re.MULTILINE)
    (tmp_path / "igq@.service").write_text(program, "utf-8")

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "igq@.service")],
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
