"""``python -m tests.web.frames``: how smooth the console's page of 2,000 queues is, in Chromium.

For each thing that a person does there it prints the longest task of the page's main thread: by the clock, which other
load on the machine lengthens too, and in processor time of that thread, which it does not. A task without a pause is
at least as long as its frame. The exit status is 1 if a task had more than 50 ms of processor time.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cli.conftest import new_shell
from tests.support.browser import looking, start_browser
from tests.support.console import Console, add_users
from tests.web.views.conftest import run_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

QUEUES, CHANGED = 2_000, 400
LIMIT_MS = 50.0
#: Time for the page to take news of the group, ms: it comes each two seconds.
_NEWS_MS = 9_000
_CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
_DEFINE = f"""
from sharedq.members.group import Group
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.settings.loader import load_settings
group = Group(load_settings())
repository = Repository(group, "QM1")
for number in range({QUEUES}):
    repository.define(QueueLocal(name=f"MANY.{{number:04}}", disposition="SHARED", structure="APPL1"))
group.leave()
"""
_CHANGE = f"""
import sharedq
from sharedq.settings.loader import load_settings
with sharedq.connect("QM1", settings=load_settings()) as connection:
    for number in range({CHANGED}):
        connection.put1(f"MANY.{{number:04}}", b"x")
"""
_COLUMNS = ("Depth", "Of MAXDEPTH", "Oldest", "Per second", "Open in/out", "Queue")


def main() -> int:
    """Measure and print."""
    worst_ms = 0.0
    print(f"{'step':<28} {'tasks':>6} {'by the clock, ms':>17} {'processor time, ms':>19}")
    with _console() as console, start_browser() as browser:
        for name, tasks in _steps(console, browser):
            clock_ms, thread_ms = (max((task[at] for task in tasks), default=0.0) for at in (0, 1))
            worst_ms = max(worst_ms, thread_ms)
            print(f"{name:<28} {len(tasks):>6} {clock_ms:>17.1f} {thread_ms:>19.1f}", flush=True)
    print(f"longest task: {worst_ms:.1f} ms of processor time, allowed: {LIMIT_MS:.0f} ms")
    return int(worst_ms > LIMIT_MS)


@contextmanager
def _console() -> Iterator[Console]:
    with tempfile.TemporaryDirectory(prefix="igq", ignore_cleanup_errors=True) as path:
        shell = new_shell(Path(path))
        shell.environment["IGQ_LEASE_MS"] = "60000"
        try:
            managers = shell.start("group", "start", "-m", "QM1", "-m", "QM2")
            managers.wait_for("CSQ9022I", 2)
            add_users(shell)
            with Console.start(shell) as console:
                run_program(console, _DEFINE)
                yield console
            managers.end()
        finally:
            shell.close()


def _steps(console: Console, browser: Browser) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    with looking(browser, console, "otto", "group", viewport={"width": 1280, "height": 800}) as page:

        def open_page() -> None:
            page.get_by_role("link", name="Queues").click()
            page.wait_for_timeout(_NEWS_MS)

        def sort() -> None:
            for name in _COLUMNS:
                page.get_by_role("button", name=name, exact=True).click()
                page.wait_for_timeout(300)

        def type_filter() -> None:
            page.keyboard.press("/")
            page.keyboard.type("many.1*", delay=100)
            for _ in "many.1*":
                page.keyboard.press("Backspace", delay=100)

        def scroll() -> None:
            page.locator(".virtual").hover()
            for _ in range(60):
                page.mouse.wheel(0, 900)
                page.wait_for_timeout(30)

        def take_news() -> None:
            run_program(console, _CHANGE)
            page.wait_for_timeout(_NEWS_MS)

        def reload() -> None:
            page.reload()
            page.wait_for_timeout(_NEWS_MS)

        steps: dict[str, Callable[[], None]] = {
            "open the page": open_page,
            "sort by six columns": sort,
            "type and clear a filter": type_filter,
            "scroll": scroll,
            f"{CHANGED} queues change": take_news,
            "load the page anew": reload,
        }
        for name, step in steps.items():
            browser.start_tracing(page=page, categories=_CATEGORIES)
            step()
            yield name, _tasks(page, json.loads(browser.stop_tracing()))


def _tasks(page: Page, trace: dict[str, Any]) -> list[tuple[float, float]]:
    """Milliseconds of each task of the page's main thread: by the clock, and of the processor."""
    events = trace["traceEvents"]
    mains = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    tasks = [each for each in events if each["name"] == "RunTask" and (each["pid"], each["tid"]) in mains]
    assert tasks, f"no task of {page.url} was traced"
    return [(each.get("dur", 0) / 1000, each.get("tdur", 0) / 1000) for each in tasks]


if __name__ == "__main__":
    raise SystemExit(main())
