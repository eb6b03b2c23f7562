"""The view of MQSC: commands by role, what completes them, and the box in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from igq.mqsc.language.words import TAKES
from igq.web.console.views.mqsc import keywords_of
from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog

#: Keywords of DISPLAY QSTATUS TYPE(QUEUE); the others are of TYPE(HANDLE).
STATUS = (
    "ALL",
    "QUEUE",
    "CURDEPTH",
    "IPPROCS",
    "OPPROCS",
    "UNCOM",
    "MONQ",
    "QTIME",
    *("MSGAGE", "LGETDATE", "LGETTIME"),
    *("LPUTDATE", "LPUTTIME"),
)


def run(client: httpx.Client, commands: str, qmgr: str = "QM1") -> list[dict[str, Any]]:
    answer = client.post("/console/api/mqsc", json={"qmgr": qmgr, "commands": commands})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["answers"])


def test_commands_run_as_the_user_that_gave_them(console: Console) -> None:
    with console.signed_in("anna") as anna:
        done, shown, wrong = run(anna, "DEFINE QLOCAL(BY.ANNA) DESCR('<b>')\nDIS QL(BY.ANNA) DESCR\nDEFINE NONSENSE(X)")
    assert done["is_done"]
    assert any("DESCR(<b>)" in line for line in shown["lines"])
    assert not wrong["is_done"]
    logged = console.shell.running[0].wait_for("DEFINE QLOCAL(BY.ANNA)")
    assert "IGQ0031I" in logged
    assert "anna" in logged
    assert "QM1: DEFINE QLOCAL(BY.ANNA)" in console.logged("failed, 3008")


def test_a_role_runs_no_more_than_it_may(console: Console) -> None:
    least = {"DISPLAY QMGR": 1, "CLEAR QLOCAL(NONE)": 2, "DEFINE QLOCAL(BY.ROLE) REPLACE": 3}
    for rank, user in enumerate(("vera", "otto", "anna"), start=1):
        with console.signed_in(user) as client:
            for command, needed in least.items():
                (answer,) = run(client, command)
                assert (answer["reason"] == 2035) == (rank < needed), answer


def test_a_command_without_the_token_of_its_session_is_refused(console: Console) -> None:
    with console.signed_in("anna") as anna:
        for token in ("", "x" * 43):
            anna.headers["ibm-mq-rest-csrf-token"] = token
            body = {"qmgr": "QM1", "commands": "DEFINE QLOCAL(NO.TOKEN)"}
            assert anna.post("/console/api/mqsc", json=body).status_code == 403
    assert "NO.TOKEN" not in console.shell.out("mqsc", "QM1", "-c", "DISPLAY QLOCAL(*)")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ([], 400),
        ({"qmgr": "QM1"}, 400),
        ({"qmgr": 1, "commands": "DISPLAY QMGR"}, 400),
        ({"qmgr": "QM1", "commands": " "}, 400),
        ({"qmgr": "NONE", "commands": "DISPLAY QMGR"}, 503),
    ],
)
def test_a_body_that_is_no_command_is_told_so(console: Console, body: Any, status: int) -> None:
    with console.signed_in("anna") as anna:
        answer = anna.post("/console/api/mqsc", json=body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}


def test_words_are_those_that_the_role_may_use(console: Console) -> None:
    with console.signed_in("vera") as vera:
        told = vera.get("/console/api/mqsc/words").json()
    assert [each["name"] for each in told["verbs"]] == ["DISPLAY"]
    assert told["keywords"]["DISPLAY"]["QLOCAL"]["GET"] == ["ENABLED", "DISABLED"]


def test_every_keyword_that_is_offered_is_known(console: Console) -> None:
    commands = []
    for kind in TAKES["DISPLAY"]:
        subject = kind if kind in ("QMGR", "QMSTATUS", "PUBSUB", "GROUP", "AUTHREC", "CMDSERV") else f"{kind}(*)"
        for keyword, words in keywords_of("DISPLAY", kind).items():
            is_option = keyword in ("TYPE", "OPENTYPE", "QSGDISP", "OBJTYPE")
            kinds = {"QSTATUS": "" if keyword in STATUS else " TYPE(HANDLE)", "CONN": " TYPE(ALL)"}
            handle = "" if is_option else kinds.get(kind, "")
            if keyword not in ("WHERE", "QMNAME", "PROFILE", "PRINCIPAL"):
                values = [f"({word})" for word in words] if is_option else [""]
                commands += [f"DISPLAY {subject} {keyword}{value}{handle}" for value in values]
    with console.signed_in("vera") as vera:
        answers = run(vera, "\n".join(commands))
    assert len(answers) == len(commands)
    assert [each for each, answer in zip(commands, answers, strict=True) if not answer["is_done"]] == []


def test_a_browser_completes_runs_and_recalls_commands(console: Console, browser: Browser) -> None:
    with looking(browser, console, "anna", "mqsc") as page:
        box = page.locator("#command")
        page.wait_for_selector("option[value=QM2]", state="attached")
        box.press_sequentially("dEF")
        page.wait_for_selector(".offered button:has-text('DEFINE')")
        box.press("Tab")
        box.press_sequentially(" qloc")
        box.press("Tab")
        box.press_sequentially("(HOSTILE) maxd")
        box.press("Tab")
        assert box.input_value() == "DEFINE QLOCAL(HOSTILE) MAXDEPTH"
        box.press_sequentially(f"(7) DESCR('{HOSTILE.replace(chr(39), chr(39) * 2)}')")
        box.press("Enter")
        page.wait_for_selector(".answer:has-text('AMQ8006I'), .answer:has-text('CSQ9022I')")
        assert box.input_value() == ""
        box.fill("DIS QL(HOSTILE) DESCR")
        box.press("Enter")
        page.wait_for_selector(f'.answer:has-text("{HOSTILE}")')
        box.press("ArrowUp")
        box.press("ArrowUp")
        assert box.input_value().startswith("DEFINE QLOCAL(HOSTILE)")
        box.press_sequentially(" m")
        picture(page, "mqsc")
        page.reload()
        page.wait_for_selector("option[value=QM1]", state="attached")
        page.locator("#command").press("ArrowUp")
        assert page.locator("#command").input_value() == "DIS QL(HOSTILE) DESCR"


def test_the_box_is_told_what_commands_delete(console: Console) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(TO.CLEAR) REPLACE")
    console.shell.out("put", "QM1", "TO.CLEAR", "a", "b")
    commands = (
        "CLEAR QL(TO.CLEAR)\nDIS QL(*)\nNONSENSE\ndel ql(to.clear) purge; DELETE QR(X)\n"
        "ALTER QLOCAL(TO.CLEAR) DESCR('PURGE')\nREC CFSTRUCT(APPL1) +\n  TYPE(PURGE)\nCLEAR QLOCAL(GONE)\n"
        "CLEAR QLOCAL(TO.CLEAR) CMDSCOPE(QM2)\nCLEAR QLOCAL(TO.CLEAR) CMDSCOPE(NONE)"
    )
    with console.signed_in("vera") as vera:
        answer = vera.post("/console/api/mqsc/questions", json={"qmgr": "QM1", "commands": commands})
    assert answer.json()["questions"] == [
        "CLEAR TO.CLEAR: 2 messages are deleted",
        "DELETE TO.CLEAR: the queue is deleted; 2 messages are deleted with it",
        "DELETE X: the queue is deleted",
        "RECOVER APPL1: the structure becomes empty, all of its messages are deleted",
        "CLEAR GONE: its messages are deleted",
        "CLEAR TO.CLEAR: its messages are deleted",
        "CLEAR TO.CLEAR: its messages are deleted",
    ]


def test_the_box_asks_before_messages_are_deleted(console: Console, browser: Browser) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(ASKED) REPLACE")
    console.shell.out("put", "QM1", "ASKED", "a")
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        if len(asked) == 1:
            dialog.dismiss()
        else:
            dialog.accept()

    with looking(browser, console, "otto", "mqsc") as page:
        page.wait_for_selector("option[value=QM1]", state="attached")
        page.locator("form.command select").select_option("QM1")
        page.on("dialog", answer)
        box = page.locator("#command")
        box.fill("CLE QL(ASKED)")
        box.press("Enter")
        page.wait_for_selector("form.command button.primary:not([disabled])")
        assert console.shell.out("mqsc", "QM1", "-c", "DIS QL(ASKED) CURDEPTH").count("CURDEPTH(1)") == 1
        box.press("Enter")
        page.wait_for_selector(".answer:has-text('CSQ9022I')")
    assert asked == ["CLEAR ASKED: 1 message is deleted\nRun?"] * 2
