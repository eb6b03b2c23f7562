"""How scripts are put together: a program does that with those that it calls, and not with all of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sharedq.redis import script_source
from sharedq.redis.script_source import load_script, mark_of_all


@pytest.fixture
def _nothing_kept() -> None:
    for each in vars(script_source).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


@pytest.mark.usefixtures("_nothing_kept")
def test_a_connection_puts_no_other_script_together() -> None:
    mark_of_all()
    load_script("structure/attach")

    assert load_script.cache_info().currsize == 1
    assert script_source._parts.cache_info().currsize == 1


@pytest.mark.usefixtures("_nothing_kept")
def test_the_mark_changes_with_the_code_of_any_script(monkeypatch: pytest.MonkeyPatch) -> None:
    before = mark_of_all().sha
    assert mark_of_all.__wrapped__().sha == before
    read = script_source._read

    for path in ("structure/put.lua", "prelude/fence.lua", "pasted.lua"):
        monkeypatch.setattr(script_source, "_read", lambda each, path=path: read(each) + " " * (each == path))
        assert mark_of_all.__wrapped__().sha != before


def test_scripts_are_found_in_an_archive(tmp_path: Path) -> None:
    """Workers of Spark may have the packages in an archive (docs/how-to/spark.md)."""
    archive = shutil.make_archive(str(tmp_path / "igq"), "zip", Path(script_source.__file__).parents[2], "sharedq")
    program = (
        "from sharedq.redis.script_source import *; assert '.zip' in __import__('sharedq').__file__;"
        "print(len(script_names()), mark_of_all().sha, load_script('structure/put').sha)"
    )
    found = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {archive!r}); {program}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    here = f"{len(script_source.script_names())} {mark_of_all().sha} {load_script('structure/put').sha}"
    assert (found.stdout.strip(), found.stderr) == (here, "")
