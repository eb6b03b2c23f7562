"""The view of units of work: what is open or in doubt, and its resolution by an operator."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.cli.conftest import ROOT, Shell
from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console, add_users
from tests.web.views.conftest import act, planned, run_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Prepares units of work with one put each.
PREPARES = """
import sys, sharedq
from sharedq.mqi.constants import PutOption
with sharedq.connect("QM1", appl_name=sys.argv[1]) as connection:
    for xid in sys.argv[2:]:
        connection.put1("UNITS", xid.encode(), options=PutOption.SYNCPOINT)
        connection.prepare(xid.encode())
"""
#: Puts three messages in a unit of work, or gets one, and waits.
OPENS = """
import sys, sharedq
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
with sharedq.connect("QM1", appl_name=sys.argv[1]) as connection:
    if sys.argv[2] == "get":
        connection.put1("UNITS", b"to be got")
        connection.open("UNITS", OpenOption.INPUT_SHARED).get(GetOption.SYNCPOINT)
    else:
        for number in range(3):
            connection.put1("UNITS", b"not yet", options=PutOption.SYNCPOINT)
    print("open", flush=True)
    sys.stdin.read()
    connection.backout()
"""


@pytest.fixture(scope="module", autouse=True)
def _queue(console: Console) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(UNITS) QSGDISP(SHARED) CFSTRUCT(APPL1)")


@contextmanager
def opened(console: Console, appl_name: str, verb: str = "put") -> Iterator[None]:
    """A program with an open unit of work."""
    arguments = [sys.executable, "-c", OPENS, appl_name, verb]
    program = subprocess.Popen(
        arguments, cwd=ROOT, env=console.shell.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        yield
        program.communicate()
    assert program.returncode == 0


def in_doubt(client: httpx.Client, appl_name: str) -> list[dict[str, Any]]:
    units = client.get("/console/api/units").json()["in_doubt"]
    return [each for each in units if each["appl_name"] == appl_name]


def resolve(client: httpx.Client, unit: dict[str, Any], action: str) -> httpx.Response:
    return act(client, action, nid=unit["nid"])


@pytest.mark.share
def test_an_operator_commits_or_backs_out_what_is_in_doubt(console: Console) -> None:
    run_program(console, PREPARES, "sink", "first", "second")
    with console.signed_in("vera") as vera, console.signed_in("otto") as otto:
        units = {bytes.fromhex(each["xid"]).decode(): each for each in in_doubt(vera, "sink")}
        assert sorted(units) == ["first", "second"]
        assert (units["first"]["messages"], units["first"]["queues"], units["first"]["qmgr"]) == (1, ["UNITS"], "QM1")
        assert resolve(vera, units["first"], "commit").status_code == 403
        text, question = planned(otto, "commit", nid=units["first"]["nid"])
        assert text == f"RESOLVE INDOUBT(*) ACTION(COMMIT) NID({units['first']['nid']})"
        assert "is final" in question
        token = otto.headers["ibm-mq-rest-csrf-token"]
        otto.headers["ibm-mq-rest-csrf-token"] = "x"
        assert resolve(otto, units["first"], "commit").status_code == 403
        otto.headers["ibm-mq-rest-csrf-token"] = token
        assert len(in_doubt(vera, "sink")) == 2

        (done,) = resolve(otto, units["first"], "commit").json()["answers"]
        assert done["lines"][0] == f"CSQV414I: Thread NID({units['first']['nid']}) committed."
        assert resolve(otto, units["second"], "backout").json()["answers"][0]["is_done"]
        assert resolve(otto, units["first"], "commit").status_code == 404
        assert in_doubt(vera, "sink") == []
        nid = units["second"]["nid"]
        assert "otto" in console.logged(f"QM1: RESOLVE INDOUBT(*) ACTION(BACKOUT) NID({nid}): done")
    assert console.shell.out("get", "QM1", "UNITS", "--wait", "0") == "first\n"


def test_open_units_are_there_with_their_ages_while_they_are_open(console: Console) -> None:
    with console.signed_in("vera") as vera:

        def found() -> list[dict[str, Any]]:
            units = vera.get("/console/api/units").json()["open"]
            return [each for each in units if each["appl_name"] == "opener"]

        with opened(console, "opener"):
            (unit,) = found()
            assert (unit["qmgr"], unit["messages"], unit["queues"], unit["state"]) == ("QM1", 3, ["UNITS"], "ACTIVE")
            assert 0 <= unit["age_s"] < 600
            assert unit["structures"] == ["APPL1"]
        assert found() == []
        with opened(console, "opener", "get"):
            (unit,) = found()
            assert (unit["messages"], unit["age_s"]) == (1, None)


def test_what_a_dead_manager_left_in_doubt_is_resolved_at_another(shell: Shell) -> None:
    # A busy machine must not cost a manager its place.
    shell.environment["IGQ_LEASE_MS"] = "15000"
    add_users(shell)
    peer, victim = shell.start_manager("QM2"), shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(UNITS) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    with Console.start(shell) as own, own.signed_in("otto") as otto:
        run_program(own, PREPARES, "sink", "left")
        victim.end(signal.SIGKILL)
        peer.wait_for("CSQR004I QM2 1 unit")

        (unit,) = in_doubt(otto, "sink")
        (answer,) = resolve(otto, unit, "commit").json()["answers"]

        assert answer["is_done"], answer
        assert "QMNAME(QM1)" in own.logged("QM2: RESOLVE INDOUBT(*) ACTION(COMMIT)")
        assert in_doubt(otto, "sink") == []
    assert shell.out("get", "QM2", "UNITS", "--wait", "0") == "left\n"


def test_a_browser_resolves_a_unit_in_doubt(console: Console, browser: Browser) -> None:
    name = HOSTILE[:28]
    run_program(console, PREPARES, name, "<b>xid</b>")
    with opened(console, name), looking(browser, console, "otto", "units") as page:
        page.wait_for_selector("h2:has-text('Open') + div tbody tr")
        assert name.strip() in page.locator("tbody tr").first.inner_text()
        picture(page, "units")
        page.get_by_role("button", name="Back out").press("Enter")
        page.wait_for_selector(".question:has-text('is final')")
        page.locator("dialog").get_by_role("button", name="Back out", exact=True).click()
        page.wait_for_selector("#notice:has-text('CSQV415I')")
        page.wait_for_selector("text=Nothing is in doubt.")
