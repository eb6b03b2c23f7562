"""``igq`` with arguments that it cannot use: one line that names them, and status 2."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from igq.cli import main
from igq.cli.mqsc import COULD_NOT_RUN
from igq.cli.runner import run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("nope", "No such command 'nope' (see igq --help)"),
        ("--nope", "No such option: --nope (see igq --help)"),
        ("get", "Missing argument 'QMGR' (see igq get --help)"),
        ("get QM1", "Missing argument 'QUEUE' (see igq get --help)"),
        ("get QM1 Q --max x", "Invalid value for '--max': "),
        ("get QM1 Q --max 0", "Invalid value for '--max': "),
        ("get QM1 Q --wait nan", "Invalid value for '--wait': "),
        ("get QM1 Q --wait inf", "Invalid value for '--wait': "),
        ("get QM1 Q --wait -2", "Invalid value for '--wait': "),
        ("put QM1 Q --priority 10 text", "Invalid value for '--priority': "),
        ("put QM1 Q --report coa text", "--report needs --reply-to"),
        ("put QM1 Q --raw text", "MESSAGE, --file and --raw exclude each other"),
        ("put QM1 Q text --correl-id " + 25 * "x", f"'{25 * 'x'}' has 25 bytes: an identifier has 24"),
        ("qmgr stop QM1 --timeout inf", "Invalid value for '--timeout': "),
        ("qmgr stop QM1 --timeout nan", "Invalid value for '--timeout': "),
        ("qmgr stop QM1 --timeout -1", "Invalid value for '--timeout': "),
        ("group start", "Missing option '-m' / '--manager'"),
        ("group nope", "No such command 'nope' (see igq group --help)"),
        ("demo --messages none", "--messages none: give a number of at least 1, or all"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(arguments.split())

    shown = capsys.readouterr()
    assert (status, shown.out) == (2, "")
    assert shown.err.startswith(f"igq: {said}")
    assert shown.err.count("\n") == 1


def test_a_run_directory_that_is_a_file_is_named_as_it_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    status = main(["demo", "--data-dir", str(tmp_path / "file")])

    shown = capsys.readouterr()
    assert (status, shown.out) == (1, "")
    assert shown.err.startswith(f"igq: --data-dir={tmp_path}/file: it is not a directory; allowed: ")


@pytest.mark.parametrize("command", ["", "group", "qmgr"])
def test_without_a_subcommand_the_help_is_shown(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(command.split())

    shown = capsys.readouterr()
    assert (status, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: igq {command}".rstrip())
    assert len(shown.out.splitlines()) > 5


@pytest.mark.parametrize("command", ["igq", "igq.pipeline"])
def test_ctrl_c_while_a_command_is_loaded_is_no_traceback(command: str, tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n", encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])])

    done = subprocess.run(
        [sys.executable, "-m", command, "--help"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_toml_file_given_as_commands_is_recognized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "igq.toml"
    file.write_text('group = "QSG1"\n', encoding="utf-8")

    assert run(["mqsc", "QM1", str(file)]) == COULD_NOT_RUN
    assert "this is TOML, not MQSC; IGQ_CONFIG names a file of settings" in capsys.readouterr().err


def test_a_password_in_an_argument_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "redis://u:S3CRET@h"]) != 0

    assert "redis://u:***@h" in (said := capsys.readouterr().err)
    assert "S3CRET" not in said


def test_after_a_command_that_logs_nothing_its_process_logs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("IGQ_REDIS_URL", f"unix://{tmp_path}/nobody")

    assert run(["get", "QM1", "Q"]) == 1
    logging.getLogger("tests").warning("after the command")

    assert "after the command" in caplog.text
