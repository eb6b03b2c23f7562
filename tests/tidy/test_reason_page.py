"""The page of reason codes: each code has its own name, and a call can end with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sharedq.mqi.constants import MQRC

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (\d{4}) \| (\w+) \|", (ROOT / "docs" / "reference" / "reasons.md").read_text(), re.MULTILINE)


def the_product() -> str:
    """The Python and Lua of the product, without the modules that only list all of IBM's numbers."""
    texts = []
    for package in ("sharedq", "recovery", "igq"):
        for path in (ROOT / package).rglob("*"):
            is_list = "constants" in path.parts or path.name.startswith("CMQ") or path.name == "errors.py"
            if path.suffix in (".py", ".lua") and not is_list:
                texts.append(path.read_text())
    return "\n".join(texts)


PRODUCT = the_product()


@pytest.mark.parametrize(("code", "name"), ROWS)
def test_a_reason_of_the_page_has_its_name_and_is_given(code: str, name: str) -> None:
    assert MQRC[name] == int(code)
    assert re.search(rf"\bMQRC\.{name}\b", PRODUCT)


def test_the_page_has_reasons() -> None:
    assert len(ROWS) == len(set(ROWS)) > 30
