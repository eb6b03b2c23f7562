"""A browser, and programs, for the tests of the views."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
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


def act(client: httpx.Client, action: str, what: str = "run", /, **asked: Any) -> httpx.Response:
    """Ask for the form or the plan of an action, or run it."""
    return client.post(f"/console/api/actions/{action}/{what}", json=asked)


def done(client: httpx.Client, action: str, /, **asked: Any) -> list[str]:
    """Run an action, which must be done. Returns the lines of its answer."""
    answer = act(client, action, **asked)
    assert answer.status_code == 200, answer.text
    (told,) = answer.json()["answers"]
    assert told["is_done"], told
    return list(told["lines"])


def planned(client: httpx.Client, action: str, /, **asked: Any) -> tuple[str, str]:
    """Return the command that an action will run, and the question before it."""
    answer = act(client, action, "plan", **asked)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    return told["text"], told["question"]
