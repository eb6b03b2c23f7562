"""`make test` touches every folder of the product."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import WHOLE

TESTS = Path(__file__).parents[1]


def test_each_folder_of_tests_belongs_to_the_share_or_has_some_of_it() -> None:
    missing = []
    for folder in {path.parent for path in TESTS.rglob("test_*.py")}:
        where = folder.relative_to(TESTS)
        texts = [path.read_text("utf-8") for path in folder.glob("test_*.py")]
        if where.parts[0] not in WHOLE and not any("mark.share" in text for text in texts):
            missing.append(str(where))
    assert sorted(missing) == []
