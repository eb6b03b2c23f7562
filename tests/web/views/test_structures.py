"""The view of structures: their state and use, and BACKUP and RECOVER by an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console
from tests.web.views.conftest import act, planned, run_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Loses the structure, as if its server had lost it.
LOSES = """
from sharedq.members.group import Group
from sharedq.settings.loader import load_settings
group = Group(load_settings())
client = group.client()
for key in client.keys(group.structure("KEPT").tag + ":*"):
    client.unlink(key)
group.leave()
"""


@pytest.fixture(scope="module", autouse=True)
def _structure(console: Console) -> None:
    description = HOSTILE.replace("'", "''")
    commands = (
        f"DEFINE CFSTRUCT(KEPT) CFLEVEL(5) RECOVER(YES) DESCR('{description}')",
        "DEFINE QLOCAL(KEPT) QSGDISP(SHARED) CFSTRUCT(KEPT) DEFPSIST(YES)",
    )
    console.shell.out("mqsc", "QM1", *(word for command in commands for word in ("-c", command)))
    console.shell.out("put", "QM1", "KEPT", "one")


def structure(client: httpx.Client) -> dict[str, Any]:
    (found,) = [each for each in client.get("/console/api/structures").json() if each["name"] == "KEPT"]
    return dict(found)


def run(client: httpx.Client, action: str, name: str = "KEPT") -> httpx.Response:
    return act(client, action, qmgr="QM1", structure=name)


def test_an_operator_backs_up_and_recovers(console: Console) -> None:
    with console.signed_in("vera") as vera, console.signed_in("otto") as otto:
        before = structure(vera)
        assert (before["recover"], before["messages"]) == ("YES", 1)
        for action in ("backup", "recover"):
            assert run(vera, action).status_code == 403
        assert run(otto, "explode").status_code == 404
        assert run(otto, "backup", "KEPT) ; DELETE QLOCAL(KEPT").json()["answers"][0]["is_done"] is False
        assert planned(otto, "backup", structure="KEPT") == ("BACKUP CFSTRUCT(KEPT)", "")
        text, question = planned(otto, "recover", qmgr="QM2", structure="KEPT")
        assert text == "RECOVER CFSTRUCT(KEPT) TYPE(NORMAL)"
        assert question == "RECOVER KEPT: its messages become those of its latest backup and log"

        (done,) = run(otto, "backup").json()["answers"]
        assert done["is_done"], done
        after = structure(vera)
        assert after["backup"]["messages"] == 1
        assert "otto" in console.logged("QM1: BACKUP CFSTRUCT(KEPT): done")
        (refused,) = run(otto, "recover").json()["answers"]
        assert not refused["is_done"]
        assert "it is not lost" in refused["lines"][0]
        run_program(console, LOSES)
        (recovered,) = run(otto, "recover").json()["answers"]
        assert recovered["is_done"], recovered
        assert structure(vera)["messages"] == 1
        otto.headers["ibm-mq-rest-csrf-token"] = "x"
        assert run(otto, "backup").status_code == 403


def test_a_browser_backs_up_a_structure(console: Console, browser: Browser) -> None:
    with looking(browser, console, "otto", "structures") as page:
        row = page.locator("tbody tr", has_text="KEPT")
        # The first row that is shown is complete, whichever of the two answers came first.
        row.wait_for()
        assert HOSTILE in row.inner_text()
        page.wait_for_selector("tbody .badge:has-text('ACTIVE')")
        page.wait_for_selector("option[value=QM1]", state="attached")
        row.get_by_role("button", name="Back up").press("Enter")
        page.wait_for_selector("dialog pre:has-text('BACKUP CFSTRUCT(KEPT)')")
        page.locator("dialog").get_by_role("button", name="Back up", exact=True).click()
        page.wait_for_selector("#notice:has-text('CSQ9022I')")
        page.wait_for_selector("td:has-text('1 messages')")
        picture(page, "structures")
    with looking(browser, console, "vera", "structures") as page:
        page.locator("tbody tr", has_text="KEPT").wait_for()
        assert page.locator("tbody").get_by_role("button").count() == 0
