"""A walk through the actions in Chromium: forms, the command that each shows, and the questions before a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.browser import HOSTILE, looking, picture
from tests.support.console import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


def dialog(page: Page, command: str, question: str = "") -> Locator:
    """The open dialog, as soon as it shows this command, and this question."""
    found = page.locator("dialog[open]")
    found.locator("pre", has_text=command).wait_for()
    if question:
        found.locator(".question", has_text=question).wait_for()
    else:
        assert found.locator(".question").is_hidden()
    return found


def run(page: Page, found: Locator, name: str, answer: str = "CSQ9022I") -> None:
    """Run the action of a dialog, which is done."""
    found.get_by_role("button", name=name, exact=True).click()
    page.locator("#notice", has_text=answer).wait_for()
    assert page.locator("dialog").count() == 0
    page.locator("#notice").get_by_role("button").click()


def test_a_walk_through_the_actions_on_a_queue(console: Console, browser: Browser) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(WALKED.TO) REPLACE")
    with looking(browser, console, "anna", "queues") as page:
        page.get_by_role("button", name="Define a queue").click()
        form = page.locator("dialog[open]")
        form.get_by_label("Name", exact=True).fill("WALKED")
        form.get_by_label("At manager").select_option("QM1")
        form.get_by_label("DESCR", exact=True).fill(HOSTILE)
        form.locator("summary").click()
        form.get_by_label("TRIGDATA").fill("it's data")
        command = f"DEFINE QLOCAL(WALKED) DESCR('{HOSTILE.replace(chr(39), chr(39) * 2)}') TRIGDATA('it''s data')"
        found = dialog(page, command)
        picture(page, "define")
        run(page, found, "Define a queue")
        page.locator(".inner > .grid").filter(has_text="WALKED").first.wait_for()

        page.goto(f"{console.url}/console/#/queue/WALKED/QM1")
        page.get_by_role("button", name="Put a test message").click()
        page.locator("dialog").get_by_label("Text").fill(f"{HOSTILE}\nsecond line")
        run(page, dialog(page, "igq put QM1 WALKED -- '<img"), "Put a test message", "1 message put on WALKED")
        rows = page.locator("table.messages tbody tr")
        rows.filter(has_text="<img").wait_for()

        page.get_by_role("button", name="Alter WALKED").click()
        page.locator("dialog").get_by_label("MAXDEPTH").fill("8")
        run(page, dialog(page, "ALTER QLOCAL(WALKED) MAXDEPTH(8)"), "Alter")
        page.locator(".facts", has_text="12 % of MAXDEPTH(8)").wait_for()

        console.shell.out("put", "QM1", "WALKED", *(f"order {number}" for number in range(5)))
        page.get_by_label("Text to search").fill("ORDER 3")
        page.get_by_role("button", name="Search").click()
        page.locator("[role=status]", has_text="1 found in 6 messages, that is all").wait_for()
        assert rows.count() == 1
        rows.locator("input").check()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert download.value.path().read_bytes() == b"order 3"
        page.get_by_role("button", name="Move", exact=True).click()
        page.locator("dialog").get_by_label("To queue").fill("WALKED.TO")
        run(page, dialog(page, "igq dlq move QM1 --to WALKED.TO --queue WALKED --msg-id"), "Move", "1 done")
        rows.nth(4).wait_for()
        picture(page, "chosen")

        page.get_by_role("button", name="Clear WALKED").click()
        asked = dialog(page, "CLEAR QLOCAL(WALKED)", "CLEAR WALKED: 5 messages are deleted")
        picture(page, "question")
        asked.get_by_role("button", name="Cancel").click()
        assert "CURDEPTH(5)" in console.shell.out("mqsc", "QM1", "-c", "DIS QL(WALKED) CURDEPTH")
        page.get_by_role("button", name="Move all messages WALKED").click()
        page.locator("dialog").get_by_label("To queue").fill("WALKED.TO")
        page.locator("dialog").get_by_label("Add").select_option("YES")
        run(page, dialog(page, "MOVE QLOCAL(WALKED) TOQLOCAL(WALKED.TO) TYPE(ADD)"), "Move all messages", "CSQ")
        page.get_by_text("No message can be read now.").wait_for()

        page.goto(f"{console.url}/console/#/queue/WALKED.TO/QM1")
        page.get_by_role("button", name="Clear WALKED.TO").click()
        run(page, dialog(page, "CLEAR QLOCAL(WALKED.TO)", "CLEAR WALKED.TO: 6 messages are deleted"), "Clear")
        page.get_by_role("button", name="Delete WALKED.TO").click()
        page.locator("dialog").get_by_label("PURGE").select_option("YES")
        question = "DELETE WALKED.TO: the queue is deleted; 0 messages are deleted with it"
        run(page, dialog(page, "DELETE QLOCAL(WALKED.TO) PURGE", question), "Delete")
        page.locator(".facts", has_text="The queue is not there.").wait_for()


def test_a_command_is_copied_and_a_refused_one_leaves_the_form(console: Console, browser: Browser) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(COPIED) REPLACE")
    with looking(
        browser, console, "anna", "queue/COPIED/QM1", permissions=["clipboard-read", "clipboard-write"]
    ) as page:
        page.get_by_role("button", name="Alter COPIED").click()
        page.locator("dialog").get_by_label("MAXDEPTH").fill("many")
        found = dialog(page, "MAXDEPTH('many')")
        found.get_by_role("button", name="Copy").click()
        found.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == "ALTER QLOCAL(COPIED) MAXDEPTH('many')"
        found.get_by_role("button", name="Alter", exact=True).click()
        found.locator(".problem", has_text="MAXDEPTH").wait_for()
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")


def test_managers_are_stopped_and_started_from_the_group(console: Console, browser: Browser) -> None:
    with looking(browser, console, "anna", "group") as page:
        row = page.locator("tbody tr").filter(has_text="QM2")
        row.get_by_role("button", name="Stop agent QM2").click()
        run(page, dialog(page, "ALTER QMGR IGQ(DISABLED)", "the IGQ agent of QM2"), "Stop agent")
        row.locator(".badge", has_text="DISABLED").wait_for()
        row.get_by_role("button", name="Start agent QM2").click()
        run(page, dialog(page, "ALTER QMGR IGQ(ENABLED)"), "Start agent")
        row.locator(".badge", has_text="DISABLED").wait_for(state="detached")
        row.get_by_role("button", name="Quiesce QM2").click()
        dialog(page, "STOP QMGR MODE(QUIESCE)", "QM2 stops").get_by_role("button", name="Cancel").click()


def test_a_viewer_sees_no_buttons_that_act(console: Console, browser: Browser) -> None:
    console.shell.out(
        "mqsc", "QM1", "-c", "DEFINE QLOCAL(VIEWED) REPLACE", "-c", "DEFINE TOPIC(VIEWED) REPLACE TOPICSTR(v)"
    )
    with looking(browser, console, "vera", "queue/VIEWED/QM1") as page:
        for view in ("queue/VIEWED/QM1", "queues", "group", "structures", "units", "connections", "topics", "channels"):
            page.goto(f"{console.url}/console/#/{view}")
            page.locator("h1 + section > *").first.wait_for()
            assert page.locator("button[data-action]").count() == 0


def test_queues_show_how_full_they_are_and_hide_empty_ones(console: Console, browser: Browser) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(FILLED) MAXDEPTH(4)", "-c", "DEFINE QLOCAL(FILLED.NOT)")
    console.shell.out("put", "QM1", "FILLED", "x")
    with looking(browser, console, "vera", "queues") as page:
        page.get_by_label("Filter").fill("FILLED*")
        page.locator(".inner > .grid").nth(1).wait_for()
        page.locator(".inner > .grid").first.locator(".c-full", has_text="25 %").wait_for()
        assert page.locator(".inner > .grid").nth(1).locator(".c-full").inner_text() == ""
        page.get_by_label("hide empty ones").check()
        page.locator("[role=status]", has_text="1 of").wait_for()
        assert page.locator(".inner > .grid").count() == 1
