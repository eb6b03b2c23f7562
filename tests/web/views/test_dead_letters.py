"""The view of dead letters: what it tells, who may do what, and what becomes of the letters."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console
from tests.web.views.conftest import run_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NUMBERS = count(1)
#: Puts letters on a queue: its name, where they were meant to go, their number, and the text of their bodies.
LETTERS = """
import sys, sharedq
from sharedq.messages.dead_letter import dead_lettered
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.mqi.structures import MQMD
name, target, count, appl = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]), sys.argv[4].encode()[:28]
with sharedq.connect("QM1") as connection:
    queue = connection.open(name, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
    for number in range(count):
        md = MQMD(version=2, format=b"MQSTR", put_appl_name=appl, put_date=b"20260101", put_time=b"12000000")
        body = sys.argv[4].encode() + b" %d" % number
        letter, data = dead_lettered(md, body, target, b"QM1", 2053, b"CSQM AGENT", b"20260102", b"12000000")
        queue.put(data, letter, options=PutOption.SET_ALL_CONTEXT)
"""


def send(console: Console, queue: str, target: str, number: int, text: str = "shop") -> None:
    run_program(console, LETTERS, queue, target, str(number), text)


@pytest.fixture
def queue(console: Console) -> str:
    """A dead-letter queue of the test's own: that of QM1."""
    name = f"DEAD.{next(_NUMBERS)}"
    commands = (f"DEFINE QLOCAL({name})", f"ALTER QMGR DEADQ({name})", "DEFINE QLOCAL(ORDERS) REPLACE MAXDEPTH(3)")
    console.shell.out("mqsc", "QM1", *(word for command in commands for word in ("-c", command)))
    return name


def listed(client: httpx.Client, queue: str, **asked: str) -> list[dict[str, Any]]:
    answer = client.get("/console/api/dead-letters", params={"qmgr": "QM1", "queue": queue, **asked})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["letters"])


def act(client: httpx.Client, action: str, queue: str, letters: list[dict[str, Any]]) -> httpx.Response:
    body = {"qmgr": "QM1", "queue": queue, "tokens": [each["token"] for each in letters]}
    return client.post(f"/console/api/dead-letters/{action}", json=body)


def test_letters_are_put_back_or_discarded_as_chosen(console: Console, queue: str) -> None:
    send(console, queue, "ORDERS", 5)
    send(console, queue, "NOT.THERE", 1)
    with console.signed_in("otto") as otto:
        assert {"qmgr": "QM1", "queue": queue, "depth": 6} in otto.get("/console/api/dead-letters/queues").json()
        letters = listed(otto, queue)
        first = letters[0]
        assert (first["reason"], first["reason_name"]) == (2053, "Q_FULL")
        assert (first["destination"], first["destination_qmgr"], first["source"]) == ("ORDERS", "QM1", "shop")
        assert first["dead_since"] == "2026-01-02T12:00:00Z"
        whole = otto.get("/console/api/queue/message", params={"qmgr": "QM1", "queue": queue, "at": first["at"]}).json()
        assert [each["name"] for each in whole["decoded"]] == ["MQDLH"]
        assert whole["text"] == "shop 0"
        assert len(listed(otto, queue, reason="Q_FULL", destination="ORD*")) == 5
        assert listed(otto, queue, reason="2035") == []

        told = act(otto, "requeue", queue, [letters[0], letters[2], letters[5]]).json()
        refused = {"count": 1, "outcome": "MQRC_UNKNOWN_OBJECT_NAME (2085)"}
        assert told == {"done": 2, "left": [refused | {"destination": "NOT.THERE", "destination_qmgr": "QM1"}]}
        assert "otto at 127.0.0.1" in console.logged(f"QM1: requeue 3 dead letters of {queue}: 2 done")
        logged = f"command of otto at 127.0.0.1: dlq requeue QM1 --queue {queue}: 2 of 3 messages done"
        console.shell.running[0].wait_for(logged)
        assert act(otto, "discard", queue, [letters[1]]).json() == {"done": 1, "left": []}
        gone = act(otto, "discard", queue, [letters[1]]).json()
        assert (gone["done"], gone["left"][0]["outcome"]) == (0, "gone")
        assert [each["token"] for each in listed(otto, queue)] == [letters[at]["token"] for at in (3, 4, 5)]
    assert console.shell.out("get", "QM1", "ORDERS", "--wait", "0") == "shop 0\nshop 2\n"


def test_a_viewer_only_looks_and_no_other_site_acts(console: Console, queue: str) -> None:
    send(console, queue, "ORDERS", 1)
    with console.signed_in("vera") as vera, console.signed_in("otto") as otto:
        letters = listed(vera, queue)
        for action in ("requeue", "discard"):
            assert act(vera, action, queue, letters).status_code == 403
        otto.headers["ibm-mq-rest-csrf-token"] = "x"
        assert act(otto, "discard", queue, letters).status_code == 403
        assert listed(vera, queue) == letters


@pytest.mark.parametrize("tokens", [None, [], [1], ["x" * 32], ["0" * 31], ["0" * 32] * 201, {"0" * 32: 1}])
def test_what_are_no_tokens_is_refused(console: Console, tokens: Any) -> None:
    with console.signed_in("otto") as otto:
        body = {"qmgr": "QM1", "queue": "ANY", "tokens": tokens}
        assert otto.post("/console/api/dead-letters/discard", json=body).status_code == 400


@pytest.mark.parametrize("action", ["discard", "requeue"])
def test_half_of_a_surrogate_pair_is_refused(console: Console, action: str) -> None:
    with console.signed_in("otto") as otto:
        body = b'{"qmgr": "QM1", "queue": "\\ud800", "tokens": []}'
        headers = {"content-type": "application/json"}
        answer = otto.post(f"/console/api/dead-letters/{action}", content=body, headers=headers)
        assert (answer.status_code, answer.json()) == (400, {"error": "send a JSON object"})


def test_a_queue_that_is_not_there_is_told_in_one_line(console: Console) -> None:
    with console.signed_in("otto") as otto:
        answer = otto.get("/console/api/dead-letters", params={"qmgr": "QM1", "queue": HOSTILE})
        assert answer.status_code == 404
        assert "2085" in answer.json()["error"]


def test_a_browser_shows_letters_and_discards_a_selection(console: Console, queue: str, browser: Browser) -> None:
    send(console, queue, HOSTILE[:48], 3, HOSTILE)
    with looking(browser, console, "otto", "dead_letters") as page:
        # At first the letters of all queues are shown.
        page.wait_for_selector(f"td:has-text('{queue} at QM1')")
        page.locator("select").select_option(label=f"{queue} at QM1 (3)")
        rows = page.locator("tbody tr")
        # A key that is pressed while the list of all queues is replaced reaches nothing.
        page.wait_for_selector("[aria-busy='false'] td:has-text('2053 Q_FULL')")
        assert HOSTILE[:28].strip() in rows.first.inner_text()
        rows.first.locator("button.link").press("Enter")
        page.wait_for_selector("section.message h2:has-text('MQDLH')")
        assert page.locator("section.message pre").first.inner_text() == f"{HOSTILE} 0"
        picture(page, "dead_letters")
        for number in (0, 2):
            rows.nth(number).locator("input").press("Space")
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Discard 2").press("Enter")
        page.wait_for_selector("#notice:has-text('2 done')")
        assert rows.count() == 1
    with looking(browser, console, "vera", "dead_letters") as page:
        page.get_by_role("button", name="Choose all").click()
        assert page.get_by_role("button", name="Discard 1").is_disabled()
