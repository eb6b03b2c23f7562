"""The console in Chromium: each view against a live group, with hostile text, dark and light, on a phone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.cli.conftest import Shell
from tests.support.console import PASSWORD, Console, add_users
from tests.web.test_queue_view import LOOKS
from tests.web.views.conftest import run_program

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium here")
#: Where to leave pictures of the views, for a person to look at; unset: nowhere.
PICTURES = os.environ.get("CONSOLE_PICTURES", "")
HOSTILE = "<img src=x onerror=alert(1)>\u202e"
#: As many queues as a large group has.
MANY = 2_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, console: Console) -> Iterator[Page]:
    """A page of its own browser context, which must run without an error and ask no other host."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.on("dialog", lambda dialog: troubles.append(f"dialog {dialog.message}"))
    page.on("request", lambda asked: None if asked.url.startswith(console.url) else troubles.append(asked.url))
    yield page
    context.close()
    # Tests ask for what is refused, too, and the browser says so. Any other error is one of a script.
    assert [each for each in troubles if "Failed to load resource" not in each] == []


@pytest.fixture
def page(browser: Browser, console: Console) -> Iterator[Page]:
    """A page that nobody has signed in to."""
    with opened(browser, console) as page:
        yield page


def sign_in(page: Page, console: Console, user: str = "vera") -> None:
    page.goto(f"{console.url}/console/")
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation")).to_be_visible()


def picture(page: Page, name: str) -> None:
    if PICTURES:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=f"{PICTURES}/{name}-{scheme}.png", full_page=True)


def test_signing_in_and_out(page: Page, console: Console) -> None:
    page.goto(f"{console.url}/console/")
    page.get_by_label("User").fill("vera")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("user or password is wrong")).to_be_visible()
    picture(page, "sign-in")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Group")).to_be_visible()
    page.reload()
    expect(page.get_by_role("cell", name="QM1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_group_shows_a_manager_killed_and_recovered(browser: Browser, shell: Shell) -> None:
    add_users(shell)
    shell.start_manager("QM1")
    doomed = shell.start_manager("QM2")
    with Console.start(shell) as own, opened(browser, own) as page:
        sign_in(page, own)
        row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="QM2", exact=True))
        expect(row).to_contain_text("RUNNING")
        page.set_viewport_size({"width": 390, "height": 844})
        picture(page, "group-phone")
        page.set_viewport_size({"width": 1280, "height": 800})
        doomed.end(signal.SIGKILL)
        expect(row).to_contain_text("FAILED", timeout=60_000)
        expect(page.locator(".timeline li").filter(has_text="QM2.1 by QM1").first).to_be_visible(timeout=60_000)
        picture(page, "group")


def test_queues_are_filtered_sorted_and_stay_few_rows(page: Page, console: Console) -> None:
    lines = "\n".join(f"DEFINE QLOCAL(MANY.{at:04}) REPLACE" for at in range(MANY))
    console.shell.out("mqsc", "QM1", text=lines)
    console.shell.out("put", "QM1", "MANY.0007", "a", "b", "c")
    sign_in(page, console)
    page.get_by_role("link", name="Queues").click()
    rows = page.locator(".inner > .grid")
    expect(page.get_by_text(f"of {MANY}").or_(page.locator(".bar [role=status]"))).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("many.*")
    expect(page.locator(".bar [role=status]")).to_contain_text(f"{MANY} of ")
    assert rows.count() < 60
    page.get_by_role("button", name="Depth", exact=True).click()
    expect(rows.first).to_contain_text("MANY.0007")
    expect(rows.first.locator(".c-depth")).to_have_text("3")
    console.shell.out("put", "QM1", "MANY.0007", "d")
    expect(rows.first.locator(".c-depth")).to_have_text("4", timeout=60_000)
    picture(page, "queues")
    page.set_viewport_size({"width": 390, "height": 844})
    picture(page, "queues-phone")
    page.set_viewport_size({"width": 1280, "height": 800})
    rows.first.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="MANY.0007")).to_be_visible()


def test_graphs_of_hours_and_the_time_line_are_shown(page: Page, console: Console) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(GRAPHED)")
    console.shell.out("put", "QM1", "GRAPHED", "a", "b")
    run_program(console, LOOKS)
    sign_in(page, console)
    page.goto(f"{console.url}/console/#/queue/GRAPHED/QM1")
    expect(page.get_by_text("Depth, last hour: least 2, most 2, now 2")).to_be_visible()
    expect(page.get_by_text("Oldest message, last hour")).to_be_visible()
    page.get_by_label("Graphs of").select_option("last six hours")
    expect(page.get_by_text("Depth, last six hours").or_(page.get_by_text("Graphs begin when"))).to_be_visible()
    page.get_by_label("Graphs of").select_option("last hour")
    page.get_by_role("link", name="Group").click()
    expect(page.get_by_text("Recoveries, last hour: least 0")).to_be_visible()
    expect(page.get_by_text("Retries of the agent of QM1, last hour")).to_be_visible()
    expect(page.get_by_role("heading", name="Time line of a day")).to_be_visible()


def test_messages_are_shown_page_by_page_and_none_is_removed(page: Page, console: Console) -> None:
    shell = console.shell
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(SHOWN)")
    shell.out("put", "QM1", "SHOWN", HOSTILE, '{"amount": 17, "to": ["a"]}', *map(str, range(30)))
    with console.program("otto") as otto:
        where = "/ibmmq/rest/v3/messaging/qmgr/QM1/queue/SHOWN/message"
        headers = {"Content-Type": "text/plain", "ibm-mq-usr": "colour;red;string"}
        assert otto.post(where, content="with properties", headers=headers).status_code == 201
    sign_in(page, console)
    page.goto(f"{console.url}/console/#/queue/SHOWN/QM1")
    lines = page.locator("table.messages tbody tr")
    expect(lines).to_have_count(25)
    expect(page.get_by_text("33 messages")).to_be_visible()
    expect(lines.nth(0)).to_contain_text("<img src=x onerror=alert(1)>\\u202e")
    lines.nth(0).get_by_role("button").click()
    body = page.locator(".message pre").first
    expect(body).to_have_text("<img src=x onerror=alert(1)>\\u202e")
    page.get_by_role("button", name="Hex", exact=True).click()
    expect(body).to_contain_text("3c 69 6d 67")
    lines.nth(1).get_by_role("button").click()
    expect(body).to_contain_text('"amount": 17')
    picture(page, "queue")
    page.get_by_role("button", name="Next").click()
    expect(lines).to_have_count(8)
    expect(lines.last).to_contain_text("MQRFH2")
    lines.last.get_by_role("button").click()
    expect(page.get_by_text("<usr><colour>red</colour></usr>")).to_be_visible()
    expect(body).to_have_text("with properties")
    page.set_viewport_size({"width": 390, "height": 844})
    picture(page, "queue-phone")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="Previous").click()
    expect(lines).to_have_count(25)
    assert "33 messages on SHOWN" in shell.run("browse", "QM1", "SHOWN").stderr


def test_a_queue_that_is_not_there_says_so(page: Page, console: Console) -> None:
    sign_in(page, console)
    page.goto(f"{console.url}/console/#/queue/{'%3Cb%3E'}/QM1")
    expect(page.get_by_role("alert")).to_contain_text("MQRC_UNKNOWN_OBJECT_NAME")


def test_a_session_that_is_over_leads_to_the_sign_in(page: Page, console: Console) -> None:
    console.shell.out("console", "user", "add", "kurz", text=PASSWORD)
    sign_in(page, console, "kurz")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    console.shell.out("console", "user", "remove", "kurz")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible(timeout=60_000)


def test_a_selection_outlives_the_news_and_every_trouble_is_named(page: Page, console: Console) -> None:
    shell = console.shell
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(TINY) MAXDEPTH(1)")
    shell.out("put", "QM1", "TINY", "x")
    sign_in(page, console)
    expect(page.locator(".troubles")).to_contain_text("queue TINY at QM1: full, 1 message")
    page.evaluate("""() => getSelection().selectAllChildren(document.querySelector("tbody td"))""")
    selected = page.evaluate("getSelection().toString()")

    shell.out("mqsc", "QM1", "-c", "DELETE QLOCAL(TINY) PURGE")

    # By now the page was drawn anew.
    expect(page.locator("main")).not_to_contain_text("TINY")
    assert page.evaluate("getSelection().toString()") == selected == "QM1"
