"""The folders: few modules in each, each folder named where a reader looks for it, plain words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sharedq", "recovery", "igq")
#: The most modules in a folder.
MOST_MODULES = 15
#: IBM's constants, under the names that programs import.
CONSTANTS = re.compile(r"CMQ\w*\.py")
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
#: Pages on the code. A path that they name in full begins with one of the folders; NAME stands for any name.
PAGES = [ROOT / "README.md", PAGE, *sorted((ROOT / "docs" / "contributing").glob("*.md"))]
#: Files of these kinds are read for their words. "": a script, the Makefile, the Dockerfile.
TEXTS = {
    *("", ".acl", ".conf", ".css", ".html", ".js", ".json", ".lua", ".md"),
    *(".mqsc", ".properties", ".py", ".service", ".toml", ".yaml", ".yml"),
}
#: With a capital it begins a sentence, a heading, or a cell of a table. No name in the code is one of these words.
#: At the beginning of a sentence, or of a table cell.
QUESTION = re.compile(r"\bWh(?:o|at)(?:ever)?\b|\| wh(?:o|at)(?:ever)?\b")
NAMED = re.compile(r"`((?:sharedq|recovery|igq|config|bench|tests|docs)/[\w./-]*)`")


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_no_folder_has_more_modules_than_a_reader_can_choose_from() -> None:
    around = [path for folder in ("bench", "docs") for path in (ROOT / folder).rglob("*.py")]
    modules = [
        path for path in (*sources(), *around) if path.name != "__init__.py" and not CONSTANTS.fullmatch(path.name)
    ]
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_the_page_on_the_architecture_names_every_folder() -> None:
    text = PAGE.read_text("utf-8")
    there = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and path.name in (*PACKAGES, "config", "bench", "tests", "docs")
    }
    there |= {str(path.parent.relative_to(ROOT)) for path in sources() if path.parent.parent.parent == ROOT}
    named = set(re.findall(r"^\| `([\w/]+)/` \|", text, re.MULTILINE))
    assert there - named == set()
    assert [name for name in named if not (ROOT / name).is_dir()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_a_page_on_the_code_names_is_there(page: Path) -> None:
    named = NAMED.findall(page.read_text("utf-8"))
    assert [name for name in named if not any(ROOT.glob(name.rstrip("/").replace("NAME", "*")))] == []


def texts() -> Iterator[Path]:
    """All files that people write, data and locks of packages apart."""
    for folder in (*PACKAGES, "config", "bench", "tests", "docs", ".ci"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix in TEXTS)
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.suffix in TEXTS)


def test_no_sentence_or_cell_begins_with_who_or_what() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if QUESTION.search(line)
    ]
    assert found == []
