"""The view of a message's way: what the journals tell of an identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = "<b>order 1</b>"


@pytest.fixture(scope="module", autouse=True)
def _message(console: Console) -> None:
    """A message that went through a queue, and one that is still there."""
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(WAY) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    for body in ("one", "two"):
        console.shell.out("put", "QM1", "WAY", body, "--correl-id", TEXT)
    console.shell.out("get", "QM2", "WAY", "--max", "1")


def test_the_way_of_messages_is_told(console: Console) -> None:
    with console.signed_in("vera") as vera:

        def way(**asked: str) -> dict[str, Any]:
            return dict(vera.get("/console/api/trace", params=asked).json())

        found = way(kind="correl_id", id=TEXT)
        events = [(each["event"], each["qmgr"], each["queue"]) for each in found["steps"]]
        assert events == [("put", "QM1", "WAY"), ("put", "QM1", "WAY"), ("get", "QM2", "WAY")]
        assert [each["queue"] for each in found["stored"]] == ["WAY"]
        msg_id = found["steps"][0]["msg_id"]
        assert [each["event"] for each in way(kind="msg_id", id=msg_id)["steps"]] == ["put", "get"]
        assert way(kind="msg_id", id=msg_id, queue="OTHER")["steps"] == []
        assert way(kind="msg_id", id=msg_id, to="2001-01-01T00:00:00")["steps"] == []


@pytest.mark.parametrize(
    "asked",
    [
        *({}, {"kind": "x", "id": "y"}, {"kind": "msg_id", "id": " "}),
        *({"kind": "msg_id", "id": "x" * 25}, {"kind": "msg_id", "id": "x", "from": HOSTILE}),
        {"kind": "msg_id", "id": "x", "from": "2002-01-01T00:00:00", "to": "2001-01-01T00:00:00"},
    ],
)
def test_what_names_no_message_is_refused(console: Console, asked: dict[str, str]) -> None:
    with console.signed_in("vera") as vera:
        assert vera.get("/console/api/trace", params=asked).status_code == 400


def broken_words(page: Page) -> list[str]:
    """Short words in cells that have more than one line."""
    return list(
        page.evaluate("""() => [...document.querySelectorAll("td")].filter((cell) => {
          const text = cell.textContent;
          if (/\\s/.test(text) || text.length > 25 || cell.querySelector(".badge")) return false;
          const range = document.createRange();
          range.selectNodeContents(cell);
          return new Set([...range.getClientRects()].map((each) => Math.round(each.top))).size > 1;
        }).map((cell) => cell.textContent)""")
    )


def test_a_browser_shows_a_way_and_an_address_leads_to_it(console: Console, browser: Browser) -> None:
    with looking(browser, console, "vera", "trace") as page:
        page.get_by_label("Kind of identifier").select_option("correl_id")
        page.get_by_label("Identifier", exact=True).fill(TEXT)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=is still there; it came to WAY")
        rows = page.locator("tbody tr")
        assert rows.count() == 3
        picture(page, "trace")
        msg_id = rows.first.locator("code").inner_text()
        page.goto(f"{console.url}/console/#/trace/msg_id/{msg_id}")
        page.wait_for_selector("tbody tr:nth-child(2):has-text('get')")
        assert rows.count() == 2
        assert broken_words(page) == []
        page.get_by_label("Identifier", exact=True).fill(HOSTILE[:24])
        page.keyboard.press("Enter")
        page.wait_for_selector("text=No such message was put")
