"""How scripts are put together: a program does that with those that it calls, and not with all of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sharedq.redis import script_source
from sharedq.redis.script_source import in_our_files, load_script, mark_of_all, script_names
from tests.support.each import for_each


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
    assert script_source._lines_of.cache_info().currsize == 1


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


#: Words that the loader replaces, and a comment after code.
REPLACED = re.compile(r"INLINE|CONST|MQRC|ARGV\.| --")


@pytest.mark.parametrize("name", ["structure/put_plain", "structure/get_selected", "structure/close"])
def test_an_error_names_the_line_of_the_file(name: str) -> None:
    compared = set[str]()
    for number, sent in enumerate(load_script(name).source.splitlines(), 1):
        path, _, line = in_our_files(f"user_script:{number}", name).rpartition(":")
        if path:
            text = script_source._read(path).split("\n")[int(line) - 1]
            if not REPLACED.search(text):
                assert text.strip() == sent
                compared.add(path)
    assert {f"{name}.lua", "prelude/record.lua"} <= compared


@pytest.fixture
def _made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    header = "--[[\n\n]]\n"
    texts = {
        "structure/made.lua": "--[[\nUSES        piece\n]]\nwanted(table.second) -- unwanted()\n",
        "prelude/piece.lua": header
        + """local ONE, TWO = 1, 2
local THREE = 3
local function unwanted()
    return THREE
end

-- Says "this".
local function needed(text)
    return TWO .. "a -- b" .. 'it -- "' -- more
end

local later
later = function() return needed("") end
local table = {
    second = ONE, -- one
}

local function wanted()
    return wanted
end
""",
    }
    monkeypatch.setattr(script_source, "_read", lambda path: texts[path])


@pytest.mark.usefixtures("_nothing_kept", "_made_up")
def test_a_script_gets_what_it_reaches_without_comments_and_indents() -> None:
    _, lines = script_source._lines_of.__wrapped__("structure/made")
    assert script_source._INDENT.sub("\n", "\n".join(text for text, _ in lines)).splitlines() == [
        "local ONE, TWO = 1, 2",
        "local function needed(text)",
        """return TWO .. "a -- b" .. 'it -- "'""",
        "end",
        "local later",
        'later = function() return needed("") end',
        "local table = {",
        "second = ONE,",
        "}",
        "local function wanted()",
        "return wanted",
        "end",
        "wanted(table.second)",
    ]


@for_each(script_names())
def test_no_script_has_a_function_that_it_does_not_call(name: str) -> None:
    source = load_script(name).source
    for function in re.findall(r"^local function (\w+)", source, re.MULTILINE):
        assert len(re.findall(rf"\b{function}\b", source)) > 1, function
