"""The folders: few modules in each, each folder named where a reader looks for it, plain words."""

from __future__ import annotations

import re
from collections import Counter
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
NAMED = re.compile(r"`((?:sharedq|recovery|igq|config|bench|tests|docs)/[\w./-]*)`")


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_no_folder_has_more_modules_than_a_reader_can_choose_from() -> None:
    modules = [path for path in sources() if path.name != "__init__.py" and not CONSTANTS.fullmatch(path.name)]
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


def test_no_docstring_begins_with_who_or_what() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in sources()
        if re.search(r'"""(Who|What|Whoever|Whatever) (?!if\b)[a-z]', path.read_text("utf-8"))
    ]
    assert found == []
