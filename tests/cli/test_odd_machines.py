"""Machines that few have: each does one put, one get and one status, and says in one line what it cannot do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from igq.cli import main
from igq.cli.app import HOMES
from sharedq.settings.machine_limits import LEAST_FILES
from tests.cli.conftest import ROOT, Running, Shell, new_shell
from tests.support.scenes import until

IGQ = (sys.executable, "-m", "igq")
#: Python's own remedies are off: it neither takes UTF-8 for the C locale nor coerces that.
STRICT_ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
TEXT = "Grüße"
ESCAPED = r"Gr\xc3\xbc\xc3\x9fe"
FOREIGN_USER = 4711


@dataclass(frozen=True)
class Machine:
    """A machine.

    Attributes:
        before: words before each command.
        folder: name of the data directory.
        user: that the commands run as.
        shown: `TEXT` as the machine shows it.
    """

    name: str
    before: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "data"
    user: int = 0
    shown: str = TEXT

    def why_not(self) -> str:
        """Why there cannot be such a machine here. Empty: there can."""
        if self.before and shutil.which(self.before[0]) is None:
            return f"there is no program {self.before[0]}"
        if self.user and os.geteuid():
            return "only root can be another user"
        # By a shell: what root starts as another user may be a program that the user cannot start again.
        command = [*self.before, "sh", "-c", '"$@"', "-", *IGQ, "--version"]
        tried = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return "" if tried.returncode == 0 else f"igq cannot be run so: {tried.stderr}"

    @contextmanager
    def shell(self) -> Iterator[OddShell]:
        """A shell on it."""
        with tempfile.TemporaryDirectory(prefix="igq", ignore_cleanup_errors=True) as path:
            data = Path(path) / self.folder
            data.mkdir(parents=True)
            if self.user:
                for each in (Path(path), data):
                    os.chown(each, self.user, self.user)
            shell = OddShell(
                new_shell(data).environment | dict(self.environment), owns_directory=True, before=self.before
            )
            try:
                yield shell
            finally:
                shell.close()


@dataclass
class OddShell(Shell):
    """A shell with words before each command."""

    before: tuple[str, ...] = ()

    def run(self, *arguments: str, text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """One command to its end."""
        return subprocess.run(
            [*self.before, *IGQ, *arguments],
            cwd=ROOT,
            env=self.environment | environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def start(self, *arguments: str) -> Running:
        """A command in the background."""
        running = Running(self, arguments, igq=(*self.before, *IGQ))
        self.running.append(running)
        return running


def closed(*streams: int) -> tuple[str, ...]:
    """Words before a command whose standard streams of these numbers are closed."""
    return ("sh", "-c", 'exec "$@" ' + " ".join(f"{number}{'<' if number == 0 else '>'}&-" for number in streams), "-")


MACHINES = (
    Machine("C locale", environment=STRICT_ASCII, shown=ESCAPED),
    # Each command here begins a session without a terminal.
    Machine("no terminal", environment={"TERM": "dumb"}),
    Machine("closed input", before=closed(0)),
    Machine("odd path", folder=f"two words/ümläut 100% #x {'y' * 120}"),
    Machine(
        "foreign user",
        before=("setpriv", f"--reuid={FOREIGN_USER}", f"--regid={FOREIGN_USER}", "--clear-groups"),
        environment={"HOME": "/nowhere"},
        user=FOREIGN_USER,
    ),
    Machine("few files", before=("sh", "-c", f'ulimit -n {LEAST_FILES}; exec "$@"', "-")),
    Machine("one core", before=("taskset", "-c", "0")),
)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_each_machine_puts_gets_and_tells_its_status(machine: Machine) -> None:
    if why := machine.why_not():
        pytest.skip(why)
    with machine.shell() as shell:
        manager = shell.start("qmgr", "start", "QM1")
        manager.wait_for("CSQ9022I")
        shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(Q)")

        shell.out("put", "QM1", "Q", TEXT)

        assert shell.out("status", "--check") == "all is well\n"
        assert shell.out("get", "QM1", "Q") == f"{machine.shown}\n"
        assert manager.end() == 0


# -- standard streams -----------------------------------------------------------------------------------------------

#: Commands that read standard input.
READERS = (
    ("put", "QM1", "Q"),
    ("put", "QM1", "Q", "--raw"),
    ("mqsc", "QM1"),
    ("mqsc", "QM1", "--dry-run"),
    ("load", "-", "Q"),
    ("put", "QM1", "Q", "--file", "-"),
    ("mqsc", "QM1", "-"),
    ("diff", "-"),
    ("dlq", "handle", "-"),
    ("console", "user", "add", "new"),
)


@pytest.mark.parametrize("arguments", READERS, ids=" ".join)
def test_a_command_says_that_standard_input_is_closed(arguments: tuple[str, ...], tmp_path: Path) -> None:
    shell = OddShell(new_shell(tmp_path).environment, before=closed(0))

    done = shell.run(*arguments)

    assert done.returncode not in (0, -6)
    assert done.stdout == ""
    assert done.stderr.startswith("igq: standard input is closed; give ")
    assert done.stderr.count("\n") == 1


def test_every_reader_of_standard_input_is_in_the_list() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "igq/cli").rglob("*.py")}
    readers = {
        path.stem for path, text in sources.items() if "standard_input(" in text and "def standard_input" not in text
    }

    assert readers == {"messages", "mqsc", "unload", "users"}
    assert not [path for path, text in sources.items() if "stdin.buffer" in text and path.stem != "standard_input"]


@pytest.mark.parametrize("streams", [(0,), (2,), (0, 2), (0, 1, 2)], ids=str)
def test_the_embedded_server_starts_with_closed_streams(streams: tuple[int, ...]) -> None:
    with Machine("closed", before=closed(*streams)).shell() as shell:
        done = shell.run("status")
        status = shell.run("put", "QM1", "Q", "text")

        assert done.returncode == (1 if 1 in streams else 0)
        assert status.returncode == 1
        assert (
            "standard output is closed" if 1 in streams else "MQRC_Q_MGR_NAME_ERROR"
        ) in status.stderr or 2 in streams


# -- characters -----------------------------------------------------------------------------------------------------

#: An example of each command, with the exit status. Those that go on for long only show their help.
EXAMPLES: Mapping[str, tuple[tuple[str, ...], int]] = {
    "demo": (("--help",), 0),
    "group": (("show",), 0),
    "upgrade": (("--dry-run",), 0),
    "qmgr": (("start", "--help"), 0),
    "mqsc": (("QM1", "-c", "DISPLAY QLOCAL(Q) ALL"), 0),
    "export": ((), 0),
    "diff": (("{file}",), 0),
    "put": (("QM1", "Q", TEXT), 0),
    "browse": (("QM1", "Q", "--short"), 0),
    "dlq": (("list", "QM1"), 0),
    "unload": (("Q", "{new}", "-m", "QM1"), 0),
    "load": (("{new}", "Q", "-m", "QM1"), 0),
    "get": (("QM1", "Q"), 0),
    "trace": (("--help",), 0),
    "events": (("--help",), 0),
    "trigger-monitor": (("--help",), 0),
    "status": ((), 0),
    "metrics": (("--help",), 0),
    "health": (("ready",), 0),
    "doctor": ((), 1),
    "fsck": ((), 0),
    "drill": ((), 0),
    "console": (("user", "list"), 0),
    "mqm": (("--help",), 0),
    "pipeline": (("--help",), 0),
}


@pytest.fixture(scope="module")
def ascii_shell() -> Iterator[Shell]:
    """A group whose queue has a description that is not ASCII, seen from a narrow terminal of strict ASCII."""
    machine = Machine("strict ASCII", environment=STRICT_ASCII | {"COLUMNS": "40"})
    with machine.shell() as shell:
        shell.start("qmgr", "start", "QM1").wait_for("CSQ9022I")
        shell.out("mqsc", "QM1", text=f"DEFINE QLOCAL(Q) DESCR('{TEXT}')\n")
        shell.out("put", "QM1", "Q", TEXT, 60 * "ö")
        yield shell


def test_a_command_of_mqsc_on_the_command_line_is_utf_8_in_any_locale(ascii_shell: Shell) -> None:
    ascii_shell.out("mqsc", "QM1", "-c", f"DEFINE QLOCAL(OTHER) DESCR('{TEXT}')")

    assert f"DESCR('{TEXT}')" in ascii_shell.run("export", "-n", "OTHER").stdout


def test_an_argument_that_is_no_text_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["put", "QM1", "Q", "x", "--reply-to", "a\udcff"]) == 1
    assert capsys.readouterr().err == "igq: 'a\\udcff' is not UTF-8 text\n"


def test_each_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(HOMES)


@pytest.mark.parametrize("command", EXAMPLES)
def test_each_command_writes_to_a_terminal_of_strict_ascii(command: str, ascii_shell: Shell, tmp_path: Path) -> None:
    words, status = EXAMPLES[command]
    file, new = tmp_path / "igq.mqsc", tmp_path / "new"
    file.write_text(f"DEFINE QLOCAL(Q) DESCR('{TEXT}') REPLACE\n", encoding="utf-8")
    if command == "load":
        ascii_shell.out("unload", "Q", str(new), "-m", "QM1")

    done = ascii_shell.run(command, *(word.format(file=file, new=new) for word in words))

    assert done.returncode == status, done.stderr + done.stdout
    if command != "export":
        # `export` writes a file, which is UTF-8 everywhere.
        assert done.stdout.isascii()
    assert done.stderr.isascii()
    assert "codec" not in done.stderr


# -- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("qmgr", "start", "QM1"), ("put", "QM1", "Q", "text"), ("status", "--check")])
def test_too_few_open_files_are_told_with_the_number_that_is_needed(arguments: tuple[str, ...]) -> None:
    with Machine("32 files", before=("sh", "-c", 'ulimit -n 32; exec "$@"', "-")).shell() as shell:
        # As if a server had been there before.
        Path(shell.environment["IGQ_DATA_DIR"], "redis").mkdir()

        done = shell.run(*arguments)

    assert done.returncode in (1, 2)
    assert f"ulimit -n allows 32 open files, and {LEAST_FILES} are needed" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 32 MiB."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=32m", "igq", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False) if os.geteuid() == 0 else None
    if done is None or done.returncode:
        pytest.skip("a small disk cannot be mounted here" if done is None else done.stderr)
    yield path
    subprocess.run(["umount", "-l", str(path)], check=False)


@pytest.mark.invariant(7)
def test_a_full_disk_is_named_everywhere_and_loses_nothing(small_disk: Path) -> None:
    shell = new_shell(small_disk / "data")
    shell.environment["IGQ_LEASE_MS"] = "2000"
    said = f"the disk is full: {small_disk / 'data'}"
    try:
        manager = shell.start_manager("QM1")
        shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(Q)")
        shell.out("put", "QM1", "Q", "kept", "--persistent")
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file:
            until(lambda: not _grows(file), "the disk is full")

        refused = shell.run("put", "QM1", "Q", 100_000 * "x", "--persistent")
        again = shell.run("put", "QM1", "Q", 100_000 * "x", "--persistent")

        assert (refused.returncode, again.returncode) == (1, 1)
        assert said in refused.stderr
        assert said in again.stderr
        assert said in manager.wait_for("the disk is full")
        for arguments in (("status",), ("status", "--check"), ("doctor",)):
            told = shell.run(*arguments)
            # A table folds a long path.
            assert "".join(said.split()) in "".join((told.stdout + told.stderr).split()), arguments
            assert told.returncode or arguments == ("status",)

        filler.unlink()

        until(lambda: shell.run("put", "QM1", "Q", "later").returncode == 0, "the manager is back", 120)
        assert shell.out("get", "QM1", "Q", "--wait", "5") == "kept\nlater\n"
        assert shell.run("fsck").stdout == "Everything is accounted for.\n"
    finally:
        shell.close()


def _grows(file: object) -> bool:
    try:
        file.write(bytes(1 << 12))  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
