"""The audit trail: who signed in, gave a command by which way, added a user or a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from igq.web.console.views.audit import PAGE
from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import PASSWORD, Console
from tests.support.scenes import until
from tests.web.views.conftest import done

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def trail(console: Console, **asked: str) -> list[dict[str, Any]]:
    with console.signed_in("anna") as anna:
        return list(anna.get("/console/api/audit", params=asked).json()["deeds"])


def entries(console: Console, what: str) -> list[tuple[str, str, str, str]]:
    """User, way, manager and result of each deed whose text contains *what*."""
    return [
        (each["user"], each["way"], each["qmgr"], each["result"]) for each in trail(console) if what in each["what"]
    ]


def test_the_trail_names_who_gave_a_command_and_how(console: Console) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(AUDITED) REPLACE", "-c", "DISPLAY QLOCAL(AUDITED)")
    with console.signed_in("otto") as otto, console.program("otto") as program:
        done(otto, "put", qmgr="QM1", queue="AUDITED", body="x")
        done(otto, "clear", qmgr="QM1", queue="AUDITED")
        otto.post("/console/api/mqsc", json={"qmgr": "QM1", "commands": "DELETE QLOCAL(AUDITED)"})
        body = {"type": "runCommand", "parameters": {"command": "CLEAR QLOCAL(AUDITED) QSGDISP(PRIVATE)"}}
        program.post("/ibmmq/rest/v3/admin/action/qmgr/QM1/mqsc", json=body)
    ((_, way, qmgr, result),) = entries(console, "DEFINE QLOCAL(AUDITED)")
    assert (way, qmgr, result) == ("command line", "QM1", "done")
    assert entries(console, "put QM1 AUDITED") == [("otto", "console", "QM1", "done")]
    assert ("otto", "console", "QM1", "done") in entries(console, "CLEAR QLOCAL(AUDITED)")
    assert entries(console, "QSGDISP(PRIVATE)") == [("otto", "REST", "QM1", "done")]
    ((user, way, _, result),) = entries(console, "DELETE QLOCAL(AUDITED)")
    assert (user, way) == ("otto", "console")
    assert result.startswith("failed: ")
    assert entries(console, "DISPLAY") == []
    times = [each["at_ms"] for each in trail(console)]
    assert times == sorted(times, reverse=True)


def test_nobody_pushes_out_of_the_trail_what_others_did(console: Console) -> None:
    console.shell.out("console", "user", "add", "flood", "--role", "viewer", text=PASSWORD)
    with console.program("flood") as client:
        for _ in range(30):
            client.post("/ibmmq/rest/v3/login", json={"username": "flood", "password": PASSWORD})
        commands = "DELETE QLOCAL(FLOODED)\nNONSENSE\n" * 30
        answer = client.post("/console/api/mqsc", json={"qmgr": "QM1", "commands": commands})
        assert len(answer.json()["answers"]) == 60
    assert len([each for each in trail(console) if each["user"] == "flood"]) <= 20
    console.logged("DELETE QLOCAL(FLOODED)")
    with console.signed_in("otto") as otto:
        otto.post("/console/api/mqsc", json={"qmgr": "QM1", "commands": "CLEAR QLOCAL(FLOODED)\n" * 30})
    assert len(entries(console, "CLEAR QLOCAL(FLOODED)")) == 30


def test_the_trail_has_sign_ins_users_and_tokens(console: Console) -> None:
    shell = console.shell
    shell.out("console", "user", "add", "zoe", "--role", "operator", text="correct horse")
    token = shell.out("console", "token", "add", "zoe")
    with console.signed_in("zoe") as zoe:
        assert zoe.get("/console/api/me").status_code == 200
        zoe.post("/console/api/sign-out")
    shell.out("console", "user", "remove", "zoe")
    until(lambda: ("zoe", "console", "", "done") in entries(console, "sign out"), "the sign-out is noted", 60)
    assert ("zoe", "console", "", "done") in entries(console, "sign in")
    assert [way for _, way, _, _ in entries(console, "user zoe added, operator")] == ["command line"]
    assert len(entries(console, "of zoe added")) == len(entries(console, "user zoe removed")) == 1
    assert token.strip() not in str(trail(console))


def test_only_an_administrator_looks_at_the_trail(console: Console) -> None:
    for user in ("vera", "otto"):
        with console.signed_in(user) as client:
            assert client.get("/console/api/audit").status_code == 403
    with console.signed_in("anna") as anna:
        for before in ("x", "1", "1-2-3", "-1-0", "1-0\n", "(1-0"):
            assert anna.get("/console/api/audit", params={"before": before}).status_code == 400


def test_pages_of_the_trail_follow_one_another(console: Console) -> None:
    lines = "\n".join(f"CLEAR QLOCAL(PAGE.{number})" for number in range(PAGE + 20))
    console.shell.run("mqsc", "QM1", text=lines)
    with console.signed_in("anna") as anna:
        first = anna.get("/console/api/audit").json()
        assert len(first["deeds"]) == PAGE
        second = anna.get("/console/api/audit", params={"before": first["next"]}).json()
    seen = [each["what"] for each in (*first["deeds"], *second["deeds"]) if "PAGE." in each["what"]]
    assert seen == [f"CLEAR QLOCAL(PAGE.{number})" for number in reversed(range(PAGE + 20))]


def test_a_browser_shows_hostile_commands_as_text(console: Console, browser: Browser) -> None:
    text = HOSTILE.replace("'", "''")
    console.shell.run("mqsc", "QM1", "-c", f"DEFINE QLOCAL(HOSTILE) DESCR('{text}')")
    with looking(browser, console, "anna", "audit") as page:
        page.locator("tbody tr").filter(has_text="<img").first.wait_for()
        picture(page, "audit")
    with looking(browser, console, "otto", "group") as page:
        page.get_by_role("link", name="Queues").wait_for()
        assert page.get_by_role("link", name="Audit").count() == 0
