"""``python -m tests.web.pictures``: make the pictures of the console in ``docs/pictures`` anew. Needs Chromium.

A group of two managers in a temporary directory has some traffic, and Chromium looks at it.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.conftest import ROOT, Running, Shell, new_shell
from tests.support.browser import CHROMIUM, looking, start_browser
from tests.support.console import Console, add_users
from tests.web.views.conftest import run_program
from tests.web.views.test_dead_letters import LETTERS

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = ROOT / "docs" / "pictures"
_DESK, _PHONE = {"width": 1120, "height": 580}, {"width": 390, "height": 700}
#: Queue -> messages on it.
_DEPTHS = {"ORDERS": 12, "INVOICES": 3, "PAYMENTS": 4, "REFUNDS": 0, "STOCK.UPDATES": 27, "SHIPPING": 1}
_DEFINITIONS = (
    *(f"DEFINE QLOCAL({name}) MAXDEPTH(50)" for name in _DEPTHS),
    "DEFINE QLOCAL(DEAD.LETTERS)",
    "ALTER QMGR DEADQ(DEAD.LETTERS)",
)

#: Notes an hour of figures, which come and go.
_PAST = """
from dataclasses import replace
from math import sin
from sharedq.members.group import Group
from sharedq.reading.figures import FigureReader
from sharedq.reading.history import note_figures
from sharedq.settings.loader import load_settings
group = Group(load_settings())
look = FigureReader(group).read()
for ago in range(59, 0, -1):
    now_ms = look.now_ms - ago * 60_000
    depth = max(0, round(8 + 7 * sin(ago / 7) + 3 * sin(ago / 2)))
    queues = [
        replace(each, state=replace(each.state, available=depth), oldest_ms=now_ms - depth * 11_000 if depth else None)
        for each in look.queues
    ]
    note_figures(group, replace(look, now_ms=now_ms, queues=queues))
group.leave()
"""


@contextmanager
def _group() -> Iterator[tuple[Shell, Running]]:
    """A group of QM1 and QM2; the second one is to be killed."""
    with tempfile.TemporaryDirectory(prefix="igq", ignore_cleanup_errors=True) as path:
        shell = new_shell(Path(path))
        try:
            first, second = shell.start_manager("QM1"), shell.start_manager("QM2")
            add_users(shell)
            shell.out("mqsc", "QM1", text="\n".join(_DEFINITIONS))
            yield shell, second
            # In good order, so that the embedded server does not write when its folder is removed.
            first.end()
        finally:
            shell.close()


def _send(console: Console) -> None:
    for name, depth in _DEPTHS.items():
        bodies = [f'{{"order": {4700 + number}, "amount": {17 * number + 5}}}' for number in range(depth)]
        if bodies:
            console.shell.out("put", "QM1", name, *bodies)
    run_program(console, LETTERS, "DEAD.LETTERS", "ORDERS", "3", "shop")
    run_program(console, LETTERS, "DEAD.LETTERS", "INVOICES.OLD", "2", "billing")
    run_program(console, _PAST)


def _take_queues(page: Page, console: Console) -> None:
    """Put some messages while the page looks, so that there is a trend."""
    from playwright.sync_api import expect

    depth = page.locator(".inner > .grid").filter(has_text="ORDERS").locator(".c-depth")
    for number in range(1, 4):
        console.shell.out("put", "QM1", "ORDERS", *["{}"] * number)
        expect(depth).to_have_text(str(_DEPTHS["ORDERS"] + number * (number + 1) // 2), timeout=60_000)
    _take(page, "queues")


def _take(page: Page, name: str) -> None:
    path = PICTURES / f"console-{name}.png"
    page.screenshot(path=path)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def main() -> int:
    """Make all pictures."""
    if not CHROMIUM.exists():
        print(f"there is no Chromium at {CHROMIUM}", file=sys.stderr)
        return 1
    with _group() as (shell, doomed), Console.start(shell) as console, start_browser() as browser:
        _send(console)
        with looking(browser, console, "otto", "queues", viewport=_DESK, color_scheme="light") as page:
            page.get_by_role("button", name="Depth", exact=True).click()
            _take_queues(page, console)
            page.goto(f"{console.url}/console/#/queue/INVOICES/QM1")
            page.locator("table.messages tbody button").first.click()
            page.locator(".message pre").first.wait_for()
            page.evaluate("scrollTo(0, 0)")
            page.locator(".graphs figure").first.wait_for()
            _take(page, "queue")
            page.get_by_role("button", name="Clear INVOICES").click()
            page.locator(".question", has_text="3 messages are deleted").wait_for()
            _take(page, "question")
            page.get_by_role("button", name="Cancel").click()
            page.goto(f"{console.url}/console/#/dead_letters")
            page.locator("tbody tr").filter(has_text="INVOICES.OLD").first.wait_for()
            _take(page, "dead-letters")
            doomed.end(signal.SIGKILL)
            page.goto(f"{console.url}/console/#/group")
            page.locator(".badge:has-text('FAILED')").first.wait_for()
            page.locator(".timeline li").filter(has_text="QM2.1 by QM1").first.wait_for()
            # The time line is read when the view is opened.
            page.reload()
            page.locator(".time-line li").filter(has_text="recovery of QM2.1").wait_for()
            page.locator(".badge:has-text('FAILED')").first.wait_for()
            page.set_viewport_size({"width": 1120, "height": 880})
            _take(page, "group")
        with looking(browser, console, "otto", "group", viewport=_PHONE, color_scheme="dark") as page:
            page.locator(".badge:has-text('FAILED')").first.wait_for()
            _take(page, "phone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
