"""A browser, and programs, for the tests of the views."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import ROOT
from tests.support.browser import start_browser
from tests.support.console import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, or the test is skipped."""
    with start_browser() as browser:
        yield browser


def run_program(console: Console, text: str, *arguments: str) -> str:
    """Run a program beside the console, which must succeed. Returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        cwd=ROOT,
        env=console.shell.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
