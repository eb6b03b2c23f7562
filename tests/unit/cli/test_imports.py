"""A command imports what it needs: the modules of all commands together take longer to import than a put takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_group

from igq.cli.app import HOMES, build_app

#: Runs a command, which finds no server, and shows every module that it has imported by then.
_RUN = "import sys; from igq.cli import main; main(sys.argv[1:]); print(*sys.modules)"
#: Parts of igq, and libraries, that a put does not need.
_NEVER = {
    "igq.agent", "igq.definitions", "igq.events", "igq.manager", "igq.monitoring", "igq.mqsc", "igq.pcf",
    "igq.pipeline", "igq.rehearsal", "igq.tools", "igq.triggers", "igq.web",
    "sharedq.mqi.conversion.messages", "sharedq.pymqi", "sharedq.reading", "sharedq.tracing.connections",
    "apscheduler", "ebcdic", "prometheus_client", "pyspark", "rich", "structlog",
}  # fmt: skip


def imported_by(arguments: list[str], tmp_path: Path) -> set[str]:
    """Return the modules that a command has imported when it finds that there is no server."""
    nowhere = {"IGQ_REDIS_URL": f"unix://{tmp_path}/none.sock", "IGQ_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments], env=nowhere, capture_output=True, text=True, check=True
    )
    assert "2059" in done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("arguments", [["put", "QM1", "Q", "x"], ["get", "QM1", "Q"], ["browse", "QM1", "Q"]])
def test_a_call_from_the_shell_imports_no_other_part(arguments: list[str], tmp_path: Path) -> None:
    found = imported_by(arguments, tmp_path)

    assert {each for each in _NEVER if each in found} == set()
    assert {each for each in found if each.startswith("igq.cli.")} <= {
        "igq.cli.app",
        "igq.cli.help",
        "igq.cli.messages",
        "igq.cli.runner",
        "igq.cli.shown",
        "igq.cli.standard_input",
        "igq.cli.shown.browse",
        "igq.cli.shown.message_table",
    }


def test_help_imports_nothing_that_a_command_does() -> None:
    """The list of all commands is made of their signatures."""
    done = subprocess.run([sys.executable, "-c", _RUN, "--help"], capture_output=True, text=True, check=True)
    found = set(done.stdout.split())

    assert "igq.cli.tools.dead_letters" in found
    assert {each for each in {*_NEVER, "redis"} if each in found} <= {"igq.pipeline"}
    assert {each for each in found if each.startswith("igq.pipeline.")} == {
        "igq.pipeline.cli",
        "igq.pipeline.cli.option_groups",
    }


def test_every_command_is_where_its_name_is_looked_up() -> None:
    whole = get_group(build_app())

    assert set(whole.commands) == set(HOMES)
    for name in HOMES:
        alone = get_group(build_app([name, "--help"]))
        assert {each for each, home in HOMES.items() if home == HOMES[name]} == set(alone.commands), name


def test_a_list_of_commands_has_whole_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    """Click cuts a line off that is too long for a terminal of 80 columns."""
    groups = [get_group(build_app())]
    for group in groups:
        groups += [each for each in group.commands.values() if isinstance(each, TyperGroup)]
        with pytest.raises(SystemExit):
            group(["--help"], terminal_width=80)
        assert [
            line for line in capsys.readouterr().out.splitlines() if line.startswith("  ") and line.endswith("...")
        ] == []


def test_other_first_arguments_get_every_command() -> None:
    for arguments in ([], ["--help"], ["nope"]):
        assert set(get_group(build_app(arguments)).commands) == set(HOMES)


def test_a_start_is_not_spent_on_garbage_that_is_not_there(tmp_path: Path) -> None:
    code = (
        "import gc; from igq.cli import main; main(['put', 'QM1', 'Q', 'x']); print(gc.get_stats()[0]['collections'])"
    )
    nowhere = {"IGQ_REDIS_URL": f"unix://{tmp_path}/none.sock", "IGQ_DATA_DIR": str(tmp_path)}

    done = subprocess.run([sys.executable, "-c", code], env=nowhere, capture_output=True, text=True, check=True)

    assert int(done.stdout) < 20
