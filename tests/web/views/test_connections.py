"""The view of connections: programs with their handles and units of work, and the end of one by an operator."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.cli.conftest import ROOT
from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console
from tests.web.views.conftest import act, done, planned

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Opens a queue, puts in a unit of work, and waits; then tells how its commit ended.
PROGRAM = """
import sys, sharedq
from sharedq.mqi.constants import OpenOption, PutOption
with sharedq.connect("QM1", appl_name=sys.argv[1]) as connection:
    queue = connection.open("CONNECTED", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
    queue.put(b"one", options=PutOption.SYNCPOINT)
    print("open", flush=True)
    sys.stdin.read()
    try:
        connection.commit()
    except sharedq.MQIError as error:
        print(int(error.reason))
"""


@pytest.fixture(scope="module", autouse=True)
def _queue(console: Console) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(CONNECTED)")


@contextmanager
def connected(console: Console, name: str) -> Iterator[subprocess.Popen[str]]:
    """A program with an open queue and a unit of work."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, name],
        cwd=ROOT,
        env=console.shell.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout
    assert program.stdout.readline() == "open\n"
    try:
        yield program
    finally:
        if program.poll() is None:
            program.communicate(timeout=60)


def of_program(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    found = client.get("/console/api/connections").json()
    return [each for each in found["connections"] if each["appl_name"] == name]


def test_a_connection_is_shown_with_its_unit_and_handles(console: Console) -> None:
    with console.signed_in("vera") as vera, connected(console, "looker"):
        (found,) = of_program(vera, "looker")
        assert (found["qmgr"], found["is_own"], found["has_unit_of_work"]) == ("QM1", False, True)
        assert (found["unit"]["state"], found["unit"]["messages"], found["unit"]["queues"]) == (
            "ACTIVE",
            1,
            ["CONNECTED"],
        )
        told = vera.get("/console/api/connections/handles", params={"token": found["token"]}).json()
        (handle,) = told["handles"]
        assert (handle["queue"], handle["structure"]) == ("CONNECTED", "@QM1")
        assert handle["options"] == ["MQOO_INPUT_SHARED", "MQOO_OUTPUT"]
        assert of_program(vera, "nobody") == []
    with console.signed_in("vera") as vera:
        assert of_program(vera, "looker") == []
        for token in ("", "x", "QM1.1.1.1 ", "*"):
            assert vera.get("/console/api/connections/handles", params={"token": token}).status_code == 400


def test_an_operator_ends_a_connection(console: Console) -> None:
    with console.signed_in("vera") as vera, console.signed_in("otto") as otto:
        with connected(console, "ended") as program:
            (found,) = of_program(otto, "ended")
            asked = {"qmgr": "QM1", "connection": found["token"]}
            assert act(vera, "stop-connection", **asked).status_code == 403
            text, question = planned(otto, "stop-connection", **asked)
            assert text == f"STOP CONN({found['token']})"
            assert "is backed out" in question
            done(otto, "stop-connection", **asked)
            assert program.communicate(timeout=60)[0] == "2009\n"
        (own, *_) = [each for each in otto.get("/console/api/connections").json()["connections"] if each["is_own"]]
        (refused,) = act(otto, "stop-connection", qmgr=own["qmgr"], connection=own["token"]).json()["answers"]
        assert (refused["is_done"], refused["reason"]) == (False, 2042)


def test_a_browser_shows_a_program_with_a_hostile_name(console: Console, browser: Browser) -> None:
    name = HOSTILE[:28]
    with connected(console, name), looking(browser, console, "vera", "connections") as page:
        row = page.locator("tbody tr").filter(has_text=name.strip())
        row.wait_for()
        assert page.get_by_role("button", name="Stop").count() == 0
        row.get_by_role("button", name="Handles of").press("Enter")
        page.wait_for_selector("td:has-text('MQOO_OUTPUT')")
        picture(page, "connections")
