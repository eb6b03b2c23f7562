"""``igq diff``: what applying a file would change."""

from __future__ import annotations

from pathlib import Path

import pytest

from igq.cli import main
from tests.igq.definitions.test_export import exported, load
from tests.support.members import TestGroup

pytestmark = pytest.mark.share


@pytest.fixture(autouse=True)
def _settings(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGQ_GROUP", group.group.name)
    monkeypatch.setenv("IGQ_REDIS_URL", str(group.settings.redis_url))


def diff(tmp_path: Path, text: str, *options: str) -> int:
    file = tmp_path / "wanted.mqsc"
    file.write_text(text, encoding="utf-8")
    return main(["diff", str(file), *options])


def test_an_export_differs_in_nothing(group: TestGroup, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group.add_member("QM2")
    load(group, "DEFINE QL(A) DESCR('é ''x''')\nALTER QMGR DEADQ(A)\nDEFINE QL(G) QSGDISP(GROUP)\n")

    assert diff(tmp_path, exported(group), "--prune") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("group")
def test_a_display_in_a_file_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(tmp_path, "DIS QMGR\nDIS QL(*)\n") == 0
    assert capsys.readouterr() == ("", "")


def test_each_changed_attribute_is_named(group: TestGroup, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(group, "DEFINE QL(A) MAXDEPTH(5)\n")
    before = exported(group)

    assert diff(tmp_path, "DEFINE QL(A) GET(DISABLED) REPLACE\nDEFINE QA(B) TARGET(A)\n") == 1

    assert capsys.readouterr().out.splitlines() == [
        "alter QLOCAL(A) QSGDISP(QMGR) of QM1",
        "   GET(ENABLED) -> GET(DISABLED)",
        "   MAXDEPTH(5) -> MAXDEPTH(999999999)",
        "define QALIAS(B) QSGDISP(QMGR) of QM1",
        "   TARGET(A)",
    ]
    assert exported(group) == before


def test_prune_names_what_the_file_does_not_have(
    group: TestGroup, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(group, "DEFINE QL(A)\nDEFINE QL(B)\nSET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(PUT)\n")

    text = "DEFINE QL(A) REPLACE\nDEFINE CFSTRUCT(APPL1) RECOVER(YES) DESCR('Default application structure') REPLACE\n"

    assert diff(tmp_path, text, "--prune") == 1
    assert capsys.readouterr().out.splitlines() == [
        "not in wanted.mqsc: QLOCAL(B) QSGDISP(QMGR) of QM1",
        "not in wanted.mqsc: AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(u)",
    ]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("DEFINE QL(A\n", [], "CSQ9031E"),
        ("DELETE QL(NONE)\n", [], "2085"),
        ("DEFINE QL(A)\n", ["--manager", "NOPE"], "there is no queue manager NOPE"),
        ("group = 'X'\n", [], "this is TOML"),
    ],
)
def test_a_file_that_cannot_be_applied_ends_with_2(
    tmp_path: Path,
    text: str,
    options: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert diff(tmp_path, text, *options) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
