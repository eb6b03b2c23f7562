"""The view of dead letters: what it tells, who may do what, and what becomes of the letters."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console
from tests.web.views.conftest import act, planned, run_program

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


def chosen(queue: str, letters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages = {each["token"]: each["msg_id"] for each in letters}
    return [{"qmgr": "QM1", "queue": queue, "messages": messages}]


def remove(client: httpx.Client, action: str, queue: str, letters: list[dict[str, Any]]) -> dict[str, Any]:
    answer = act(client, action, places=chosen(queue, letters))
    assert answer.status_code == 200, answer.text
    (told,) = answer.json()["answers"]
    return dict(told)


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

        text, question = planned(otto, "requeue", places=chosen(queue, letters[:2]))
        commands = [f"igq dlq requeue QM1 --queue {queue} --msg-id {each['msg_id']}" for each in letters[:2]]
        assert (text.splitlines(), question) == (commands, "")
        told = remove(otto, "requeue", queue, [letters[0], letters[2], letters[5]])
        refused = "1 for NOT.THERE at QM1: MQRC_UNKNOWN_OBJECT_NAME (2085)"
        assert told == {"lines": ["2 done", refused], "is_done": False, "reason": 0}
        assert "otto at 127.0.0.1" in console.logged(f"QM1: requeue: 3 messages of {queue}: 2 done")
        logged = f"command of otto at 127.0.0.1: dlq requeue QM1 --queue {queue}: 2 of 3 messages done"
        console.shell.running[0].wait_for(logged)
        _, question = planned(otto, "discard", places=chosen(queue, [letters[1]]))
        assert question == f"DISCARD: 1 message of {queue} is deleted"
        assert remove(otto, "discard", queue, [letters[1]])["lines"] == ["1 done"]
        assert remove(otto, "discard", queue, [letters[1]])["lines"] == ["0 done", "1: gone"]
        assert [each["token"] for each in listed(otto, queue)] == [letters[at]["token"] for at in (3, 4, 5)]
    assert console.shell.out("get", "QM1", "ORDERS", "--wait", "0") == "shop 0\nshop 2\n"


def test_a_viewer_only_looks_and_no_other_site_acts(console: Console, queue: str) -> None:
    send(console, queue, "ORDERS", 1)
    with console.signed_in("vera") as vera, console.signed_in("otto") as otto:
        letters = listed(vera, queue)
        for action in ("requeue", "discard"):
            assert act(vera, action, places=chosen(queue, letters)).status_code == 403
        otto.headers["ibm-mq-rest-csrf-token"] = "x"
        assert act(otto, "discard", places=chosen(queue, letters)).status_code == 403
        assert listed(vera, queue) == letters


ID = "0" * 48


@pytest.mark.parametrize(
    "messages",
    [
        *(None, {}, [], {"0" * 31: ID}, {"x" * 32: ID}, {"0" * 32: "0"}, {"0" * 32: 1}, {"0" * 32: "X" * 48}),
        {f"{number:032x}": ID for number in range(201)},
    ],
)
def test_what_are_no_messages_is_refused(console: Console, messages: Any) -> None:
    with console.signed_in("otto") as otto:
        places = [{"qmgr": "QM1", "queue": "ANY", "messages": messages}]
        assert act(otto, "discard", places=places).status_code == 400
        assert act(otto, "discard", places=messages).status_code == 400


@pytest.mark.parametrize("action", ["discard", "requeue"])
def test_half_of_a_surrogate_pair_is_refused(console: Console, action: str) -> None:
    with console.signed_in("otto") as otto:
        body = b'{"places": [{"qmgr": "QM1", "queue": "\\ud800", "messages": {}}]}'
        headers = {"content-type": "application/json"}
        answer = otto.post(f"/console/api/actions/{action}/run", content=body, headers=headers)
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
        page.get_by_role("button", name="Discard 2").press("Enter")
        page.wait_for_selector(f".question:has-text('DISCARD: 2 messages of {queue} are deleted')")
        page.locator("dialog").get_by_role("button", name="Discard", exact=True).click()
        page.wait_for_selector("#notice:has-text('2 done')")
        assert rows.count() == 1
    with looking(browser, console, "vera", "dead_letters") as page:
        page.wait_for_selector(f"td:has-text('{queue} at QM1')")
        assert page.locator("main input[type=checkbox]").count() == 0
        assert page.get_by_role("button", name="Discard").count() == 0
