"""The headers, written once for a run, and the compiler."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from igq.mqm.headers import write_headers


@pytest.fixture(scope="session")
def gcc() -> str:
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("needs gcc")
    return found


@pytest.fixture(scope="session")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated headers."""
    folder = tmp_path_factory.mktemp("inc")
    write_headers(folder)
    return folder
