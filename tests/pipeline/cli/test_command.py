"""`python -m igq.pipeline`: its output, and its failures. Spark is not started here."""

from __future__ import annotations

import fcntl
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from igq.pipeline.__main__ import main
from igq.pipeline.audit.audit import EXAMPLES
from igq.pipeline.audit.recovery_timeline import recoveries
from igq.pipeline.audit.series import Series
from igq.pipeline.audit.verdict import MEANINGS, Finding, JournalFacts, PathFigures, PeerWork, Verdict
from igq.pipeline.cli.app import build_app
from igq.pipeline.cli.audit import FINDINGS_MAX
from igq.pipeline.cli.options import new_directory
from igq.pipeline.errors import PipelineError
from igq.pipeline.reports import plots
from igq.pipeline.reports.report import headline, print_summary, write_report
from igq.pipeline.tables import print_rows
from sharedq.display.terminal import Terminal

pytestmark = pytest.mark.share

#: Jobs with an output, except replay, which looks at its archive first.
WRITING = ("journal", "flow", "trace --correl-id 00", "recovery", "deadletter QM1", "audit", "archive NEW --queue Q")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def verdict() -> Verdict:
    counts = dict.fromkeys(MEANINGS, 0) | {"expected": 3, "sent": 3, "delivered": 2, "lost": 1}
    events = [
        {"t_ms": 1_000, "event": "killed", "qmgr": "JFK", "by": "<demo>"},
        {"t_ms": 6_000, "event": "detected", "qmgr": "JFK", "by": "LGA"},
    ]
    return Verdict(
        has_run=True,
        counts=counts,
        counts_by_path={"igq": counts},
        findings={"lost": [Finding("igq 0a", "never put")]},
        lost_because={"never put": 1},
        unknown_settled={},
        figures={"igq": PathFigures(2, 0, 2_000, 1.0, 5, 7, 9, 9)},
        recoveries=recoveries(events),
        peer_work=[PeerWork("JFK", "LGA", 1, 2, 6, 6_100, 6_900)],
        journal=JournalFacts("QSG1", 9, 0, 7_000, ("@JFK", "APPL1"), ("APPL1",)),
    )


@pytest.fixture
def series() -> Series:
    return Series(1_000, {"put": {0: 3}, "got": {1_000: 1, 2_000: 1}}, {"igq": {5: 1, 7: 1}})


def test_the_verdict_file_holds_everything_and_says_first_how_it_ended(verdict: Verdict, tmp_path: Path) -> None:
    verdict.write(tmp_path / "verdict.json")

    written = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))

    assert written["verdict"] == "failed"
    assert written["counts"]["lost"] == 1
    assert written["findings"]["lost"] == [{"copy": "igq 0a", "why": "never put", "msg_id": None}]
    assert written["recoveries"][0]["phases"][1]["duration_ms"] == 5_000
    assert [path.name for path in tmp_path.iterdir()] == ["verdict.json"]


def test_the_report_is_one_file_that_refers_to_nothing_outside(
    verdict: Verdict, series: Series, tmp_path: Path
) -> None:
    write_report(verdict, series, tmp_path / "report.html")

    html = (tmp_path / "report.html").read_text(encoding="utf-8")

    assert "Failed: of 3 message copies, 1 lost." in html
    assert "waited until it was at work again: JFK 5 s." in html
    assert html.count("data:image/png;base64,") == 3
    assert "http" not in html
    assert "$" not in html
    assert "&lt;demo&gt;" in html
    assert "<demo>" not in html
    assert "The oldest events of APPL1 are no longer kept" in html


def test_every_plot_is_a_picture_also_when_there_is_little_to_draw(verdict: Verdict, series: Series) -> None:
    one_slice = Series(100, {"put": {0: 1}})

    assert plots.throughput(series, verdict.recoveries).startswith(PNG)
    assert plots.throughput(one_slice, []).startswith(PNG)
    assert plots.latency(series, verdict.figures).startswith(PNG)
    assert plots.recovery_chart(verdict.recoveries).startswith(PNG)


def test_the_terminal_shows_the_faults_and_names_the_first_copies(verdict: Verdict) -> None:
    # The terminal is narrow, but its lines can still be searched.
    console = Terminal(width=40, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    print_summary(verdict, console)

    text = console.export_text()

    assert "lost: igq 0a: never put" in text
    assert "recovery of JFK: killed 0.0 s -> detected 5.0 s" in text
    assert text.rstrip().endswith(headline(verdict))


@pytest.mark.parametrize(("rows", "shown"), [({}, 3), ({"rows": 1}, 1), ({"rows": 20}, 5)])
def test_the_terminal_shows_as_many_findings_as_are_asked_for(
    verdict: Verdict, rows: dict[str, int], shown: int
) -> None:
    lost = [Finding(f"igq {number}", "never put") for number in range(5)]
    text = io.StringIO()
    print_summary(replace(verdict, findings={"lost": lost}), Terminal(file=text), **rows)

    assert text.getvalue().count(": never put") == shown


def test_no_more_findings_are_to_be_asked_for_than_a_verdict_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert FINDINGS_MAX == EXAMPLES
    assert main(["audit", "--rows", str(FINDINGS_MAX + 1)]) == 2
    assert "'--rows': it must be less than or equal to 20" in capsys.readouterr().err


def test_help_teaches_the_job_and_its_exit_status() -> None:
    shown = CliRunner().invoke(build_app(), ["audit", "--help"], env={"COLUMNS": "120"})

    assert shown.exit_code == 0
    assert "Exit status: 0" in " ".join(shown.stdout.split())
    assert all(option in shown.stdout for option in ("--run", "--group", "--url", "--master", "--output", "--from"))


def test_the_list_of_jobs_says_of_each_what_it_does_in_its_line() -> None:
    shown = CliRunner().invoke(build_app(), ["--help"], env={"COLUMNS": "80"})

    jobs = shown.stdout.partition("Commands:")[2].strip().splitlines()
    assert len(jobs) == 12
    assert all(line.endswith(".") and not line.endswith("...") for line in jobs)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nope"], "No such command 'nope' (see igq pipeline --help)"),
        (["flow", "--rows", "0"], "igq pipeline flow --help"),
        (["flow", "--spark-log", "loud"], "'loud' is not one of 'off', 'error', 'warn', 'info'"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n"), why in shown.err) == ("", 1, True)


@pytest.mark.parametrize(
    ("arguments", "environment", "what"),
    [
        (["--from", "yesterday"], {}, "'yesterday' is no place in the journal"),
        ([], {"IGQ_GROUP": "toolong"}, "IGQ_GROUP=toolong"),
        ([], {}, "Redis knows no group QSG1: "),
        (["--url", "redis://127.0.0.1:1"], {}, "Redis cannot be reached: "),
        (["--url", "127.0.0.1"], {}, "--url=127.0.0.1: allowed: redis://, "),
        (["--group", "toolong"], {}, "--group=toolong: allowed: 1 to 4 of "),
        ([], {"IGQ_REDSI_URL": "redis://127.0.0.1:1"}, "IGQ_REDSI_URL: unknown setting; did you mean IGQ_REDIS_URL?"),
        (["--input", "HERE/torn"], {"JAVA_HOME": "/nowhere"}, "/torn/part.parquet: is empty, its rows are lost"),
        (["--input", "HERE/whole"], {"JAVA_HOME": "/nowhere"}, "JAVA_HOME=/nowhere: no Java that runs"),
        (["--input", "/nowhere"], {"JAVA_HOME": "/nowhere"}, "input /nowhere: no such directory"),
        (["--input", "HERE/empty"], {"JAVA_HOME": "/nowhere"}, "/empty: holds no Parquet files"),
        (["--master", "yarm"], {}, "--master yarm: allowed: local[N], "),
        (["--master", "spark://127.0.0.1"], {}, "--master spark://127.0.0.1: allowed: spark://HOST:PORT"),
        (["--master", "spark://127.0.0.1:1"], {}, "no master answers there: 127.0.0.1:1: Connection refused"),
        (["--once"], {}, "--once needs --follow"),
        (["--run", "/nowhere"], {"JAVA_HOME": "/nowhere"}, "run directory /nowhere: no such directory"),
        (["--run", "/"], {"JAVA_HOME": "/nowhere"}, "run directory /: has no expected.jsonl"),
    ],
)
def test_an_impossible_request_is_one_line_and_status_2(
    arguments: list[str], environment: dict[str, str], what: str, tmp_path: Path
) -> None:
    for name in ("empty", "torn", "whole"):
        (tmp_path / name).mkdir()
    (tmp_path / "torn" / "part.parquet").touch()
    (tmp_path / "whole" / "part.parquet").write_bytes(b"PAR1")
    arguments = [each.replace("HERE", str(tmp_path)) for each in arguments]
    shown = CliRunner().invoke(build_app(), ["audit", *arguments], env={"IGQ_DATA_DIR": str(tmp_path), **environment})

    assert shown.exit_code == 2
    lines = [line for line in shown.stderr.splitlines() if not line.startswith("audit: ")]
    assert len(lines) == 1
    assert lines[0].startswith("igq pipeline audit: ")
    assert what in lines[0]


@pytest.mark.parametrize("job", WRITING)
def test_an_impossible_output_directory_is_reported_before_the_work(
    job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without Java no job gets further than this.
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "file").touch()
    output = tmp_path / "file" / "deep" / "new"

    status = main([*job.split(), "--output", str(output)])

    shown = capsys.readouterr()
    name = job.split(maxsplit=1)[0]
    assert (status, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert shown.err.startswith(f"igq pipeline {name}: output directory {output}: ")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize("job", WRITING)
def test_an_output_that_exists_is_left_alone(
    job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path / "data"))
    output = tmp_path / "there"
    output.mkdir()
    (output / "report.html").write_text("mine", "utf-8")

    assert main([*job.split(), "--output", str(output)]) == 2
    name = job.split(maxsplit=1)[0]
    told = f"igq pipeline {name}: output directory {output}: exists; name a new one\n"
    assert capsys.readouterr().err == told
    assert {path.name: path.read_text("utf-8") for path in output.iterdir()} == {"report.html": "mine"}


def test_a_directory_appears_whole_and_unfinished_ones_are_no_obstacle(tmp_path: Path) -> None:
    output = tmp_path / "new"
    (tmp_path / "new.unfinished" / "of a run that was killed").mkdir(parents=True)
    for is_finished in (False, True):
        with new_directory(output) as directory:
            assert directory is not None
            (directory.unfinished / "table").mkdir(parents=True)
            assert not output.exists()
            if is_finished:
                directory.finish()
        assert [path.name for path in tmp_path.iterdir()] == (["new"] if is_finished else [])
    assert [path.name for path in output.iterdir()] == ["table"]
    with pytest.raises(PipelineError, match="exists; name a new one"), new_directory(output):
        pass


def test_one_command_at_a_time_writes_a_directory(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "new"
    with new_directory(output) as directory:
        assert directory is not None
        (directory.unfinished / "queues").mkdir(parents=True)
        with pytest.raises(PipelineError, match=r"deep/new: another command is writing it$"), new_directory(output):
            pass
        assert [path.name for path in directory.unfinished.iterdir()] == ["queues"]
        with new_directory(tmp_path / "deep" / "other"):
            pass
        directory.finish()
        with pytest.raises(PipelineError, match="exists; name a new one"), new_directory(output):
            pass
    assert [path.name for path in output.parent.iterdir()] == ["new"]


def test_a_failed_command_leaves_no_directories(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no group"), new_directory(tmp_path / "deep" / "er" / "new"):
        raise PipelineError("no group")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_removed_by_its_holder_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening and locking it: another command that comes then would lock another file."""
    output = tmp_path / "new"
    lock, flock, calls = tmp_path / "new.unfinished.lock", fcntl.flock, 0

    def removed_before(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            lock.unlink()
        flock(*arguments)

    monkeypatch.setattr("igq.pipeline.cli.options.fcntl.flock", removed_before)
    with new_directory(output):
        assert (calls, lock.exists()) == (2, True)
        with pytest.raises(PipelineError, match="another command is writing it"), new_directory(output):
            pass
    assert list(tmp_path.iterdir()) == []


def test_an_unexpected_error_is_one_line_and_no_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("what\nthis is")

    monkeypatch.setattr("igq.pipeline.cli.streams.claims_in", fail)
    monkeypatch.setenv("IGQ_REDIS_URL", "redis://localhost:1")

    assert main(["claims"]) == 2
    assert capsys.readouterr().err == "igq pipeline: KeyError: 'what\\nthis is'\n"


COLUMNS = {"msg_id": False, "queue": False, "note": False, "messages": True}
ROWS = [["0a" * 24, "ORDERS", "", "1,234"], ["0b" * 24, "[bold]", "x", "5"]]


def test_a_table_that_fits_the_terminal_has_a_line_for_each_row() -> None:
    text = terminal(80)

    assert [line.split() for line in text.splitlines()] == [
        ["moves"],
        ["msg_id", "queue", "note", "messages"],
        ["0a" * 24, "ORDERS", "1,234"],
        ["0b" * 24, "[bold]", "x", "5"],
    ]


def test_a_table_too_wide_for_the_terminal_is_shown_as_whole_records() -> None:
    text = terminal(40)

    assert [line.split() for line in text.splitlines()] == [
        ["moves"],
        *([], ["msg_id", "0a" * 24], ["queue", "ORDERS"], ["messages", "1,234"]),
        *([], ["msg_id", "0b" * 24], ["queue", "[bold]"], ["note", "x"], ["messages", "5"]),
    ]


def test_a_program_that_reads_a_table_finds_a_row_on_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = io.StringIO()

    print_rows("moves", COLUMNS, [["0a" * 240, *ROWS[0][1:]]], Terminal(file=shown, color_system=None))

    assert [line.split() for line in shown.getvalue().splitlines()][2:] == [["0a" * 240, "ORDERS", "1,234"]]


def terminal(width: int) -> str:
    shown = io.StringIO()
    print_rows("moves", COLUMNS, ROWS, Terminal(file=shown, width=width, force_terminal=True, color_system=None))
    return shown.getvalue()
