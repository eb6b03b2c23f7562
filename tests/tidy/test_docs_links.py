"""The pages of the documentation lead to each other, and the site builds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
PAGES = sorted(DOCS.rglob("*.md"))
#: A fenced block, or code in a line: a link in it does not count.
_CODE = re.compile(r"^```.*?^```$|``.+?``|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")


def linked_from(page: Path) -> list[Path]:
    """The files that the links of a page name, whether they exist or not."""
    text = _CODE.sub("", page.read_text("utf-8"))
    return [(page.parent / target).resolve() for target, _ in _LINK.findall(text)]


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *PAGES], ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    assert [str(target.relative_to(ROOT)) for target in linked_from(page) if not target.exists()] == []


def test_every_page_is_reached_in_two_clicks() -> None:
    one_click = {INDEX, *linked_from(INDEX)}
    two_clicks = one_click.union(*(linked_from(page) for page in one_click if page.suffix == ".md"))
    assert [str(page.relative_to(DOCS)) for page in PAGES if page not in two_clicks] == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    assert (tmp_path / "search.html").is_file()
