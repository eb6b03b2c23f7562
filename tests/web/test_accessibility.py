"""axe-core finds nothing on any page of the console, on a desk in light colours and on a phone in dark ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import CHROMIUM, looking, start_browser
from tests.support.console import PASSWORD, Console
from tests.web.test_queue_view import LOOKS
from tests.web.views.conftest import run_program
from tests.web.views.test_dead_letters import LETTERS

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: The file ``axe.min.js`` of the npm package axe-core.
_AXE = Path(os.environ.get("TESTS_AXE", "node_modules/axe-core/axe.min.js"))
#: A page after its heading, and what is there as soon as it has its data.
_PAGES = {
    "group": ".graphs figure",
    "queues": ".inner > .grid",
    "queue/AXE/QM1": "table.messages tbody tr",
    "trace": "form",
    "dead_letters": "tbody tr",
    "units": "h2",
    "connections": "[role=status]:has-text('of')",
    "structures": "tbody tr",
    "topics": "tbody tr",
    "channels": "h2",
    "mqsc": "textarea",
    "audit": "tbody tr",
}
_SETTINGS: tuple[dict[str, Any], ...] = (
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium"),
    pytest.mark.skipif(not _AXE.exists(), reason="needs axe-core: npm install axe-core, TESTS_AXE names axe.min.js"),
]


def findings(page: Page, where: str) -> list[str]:
    """The findings of axe-core on a page, a line each."""
    page.evaluate(_AXE.read_text("utf-8"))
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{where}: {each['id']}, {each['help']}: {node['target']} {node['html'][:200]} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def test_axe_finds_nothing_on_any_page(console: Console) -> None:
    shell = console.shell
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(AXE) MAXDEPTH(4)", "-c", "DEFINE QLOCAL(AXE.DEAD)")
    shell.out("mqsc", "QM1", "-c", "DEFINE TOPIC(AXE) TOPICSTR('axe')", "-c", "ALTER QMGR DEADQ(AXE.DEAD)")
    shell.out("put", "QM1", "AXE", "a", "b", "c", '{"d": 1}')
    run_program(console, LETTERS, "AXE.DEAD", "AXE", "2", "shop")
    run_program(console, LOOKS)
    found = []
    with start_browser() as browser:
        for settings in _SETTINGS:
            with looking(browser, console, "anna", "group", **settings) as page:
                kind = f"{settings['color_scheme']} "
                for view, there in _PAGES.items():
                    page.goto(f"{console.url}/console/#/{view}")
                    page.locator(there).first.wait_for()
                    found += findings(page, kind + view)
                page.goto(f"{console.url}/console/#/queue/AXE/QM1")
                page.locator("table.messages tbody button").first.click()
                page.locator(".message pre").first.wait_for()
                found += findings(page, f"{kind}message")
                page.get_by_role("button", name="Clear AXE").click()
                page.locator(".question", has_text="messages are deleted").wait_for()
                found += findings(page, f"{kind}question")
                page.get_by_role("button", name="Cancel").click()
                page.get_by_role("button", name="Alter AXE").click()
                page.locator("dialog[open] summary").first.click()
                found += findings(page, f"{kind}form")
                page.get_by_role("button", name="Cancel").click()
                page.goto(f"{console.url}/console/#/mqsc")
                page.locator("textarea").fill("DISPLAY QLOCAL(AXE)\nDISPLAY NONSENSE")
                page.get_by_role("button", name="Run").click()
                page.locator(".answer.failed").wait_for()
                found += findings(page, f"{kind}answers")
                page.get_by_role("button", name="Sign out").click()
                page.get_by_label("Password").fill(f"not {PASSWORD}")
                found += findings(page, f"{kind}sign-in")
    assert found == []
