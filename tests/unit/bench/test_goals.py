"""The table of goals: what is compared with what, and what it says of lines that miss theirs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.goals import GOALS, goal_table, goals_table, has_place, refresh
from bench.picture import draw
from bench.rows import Row

PAGE = Path(__file__).parents[3] / "docs/explanation/performance.md"


def cells(rows: dict[str, list[Row]]) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in goal_table(rows).splitlines()[2:]]
    return {name: its for name, *its in lines}


def test_a_goal_that_is_missed_says_what_is_in_the_way() -> None:
    rows = {
        "always": [Row("put", 0.5, plain=1.05), Row("hop to a private queue", 12.0, plain=9.9)],
        "everysec": [
            Row("put", 2.0, plain=1.05),
            Row("hop to a private queue", 9.0),
            Row("igq --help", 100.4, "ms", is_limit=True),
            Row("memory of a message", 390.0, "B", is_limit=True),
        ],
    }
    found = cells(rows)
    assert found["put"] == [">= 1.05", "1.05", ">= 1.05", "1.05", ""]
    assert found["hop to a private queue"][:4] == [">= 10.00", "9.90", ">= 9.00", "9.00"]
    assert found["hop to a private queue"][4] == GOALS["hop to a private queue"].in_the_way
    assert found["igq --help"] == ["", "", "<= 100 ms", "100 ms", "imports"]
    assert found["memory of a message"] == ["", "", "<= 390 B", "390 B", ""]
    assert found["a drill's verdict"] == ["", "", "3.0", "not measured", ""]


def test_only_the_table_of_a_page_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Before\n\n<!-- measured: goals -->\nold\n<!-- end of goals -->\n\nAfter\n", encoding="utf-8")
    refresh(page, {"everysec": [Row("put", 1.0)]})
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Before\n\n<!-- measured: goals -->\n\n| Line |")
    assert text.endswith("|\n\n<!-- end of goals -->\n\nAfter\n")
    assert "old" not in text
    refresh(page, {"everysec": [Row("put", 1.0)]})
    assert page.read_text(encoding="utf-8") == text


def test_a_line_that_is_not_measured_keeps_its_figures(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: goals -->\n<!-- end of goals -->\n", encoding="utf-8")
    refresh(page, {"everysec": [Row("put", 1.25), Row("get without waiting", 3.5)]})
    missing = refresh(page, {"everysec": [Row("put", 1.75)]})
    assert missing == [name for name in GOALS if name != "put"]
    text = page.read_text(encoding="utf-8")
    assert "| 1.75 |" in text
    assert "| 3.50 |" in text
    assert "| 1.25 |" not in text


def test_the_same_figures_make_the_same_picture(tmp_path: Path) -> None:
    rows = [
        Row("a", 1.2, is_limit=True, growth=("queues", 20)),
        Row("b", 3.5, growth=("putters", 4)),
        Row("put", 1.0),
    ]
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    draw(rows, first)
    draw(rows, second)
    assert first.read_bytes() == second.read_bytes()
    assert all(word in first.read_text(encoding="utf-8") for word in (">queues<", ">putters<"))


def test_the_page_has_the_goals_as_they_are() -> None:
    assert has_place(PAGE)
    part = (
        PAGE.read_text(encoding="utf-8").partition("<!-- measured: goals -->")[2].partition("<!-- end of goals -->")[0]
    )
    assert [line.split(" | ")[0].removeprefix("| ") for line in part.strip().splitlines()[2:]] == [*GOALS]


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The last line about arguments that are refused."""
    monkeypatch.chdir(PAGE.parents[2])
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("option", ["--picture", "--output"])
@pytest.mark.parametrize("file", ["no/such/folder/x", "docs"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, file: str
) -> None:
    assert refused(monkeypatch, capsys, option, file).endswith(f"{file} cannot be written")


@pytest.mark.parametrize("page", ["README.md", "missing.md", "."])
def test_a_page_without_a_place_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    told = refused(monkeypatch, capsys, "--goals", page)
    assert told.endswith(f"{page} is no page with a place for the table of goals")


def test_the_printed_table_says_which_goals_are_held() -> None:
    rows = [
        Row("instructions of a put", 89.0, "k", is_limit=True),
        Row("hop to another structure", 76.0, is_limit=True),
    ]
    shown = goals_table({"everysec": rows})
    names, verdicts = ([*shown.columns[at].cells] for at in (0, 4))
    assert dict(zip(names, verdicts, strict=True)) == {
        "instructions of a put": "held",
        "hop to another structure": "[bold red]MISSED[/]",
    }
