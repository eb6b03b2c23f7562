"""Texts of a drill that others wrote: names of drills and managers, lines, verdicts and errors, shown as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.cli.conftest import Shell
from tests.support.browser import HOSTILE, looking
from tests.support.console import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

#: It turns what follows it around, and a person would read another text.
_TURNED = "\u202e"
_SHOWN = "\\u202e"


def answering(status: int, answer: Any) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status, json=answer)


def test_hostile_texts_of_a_drill_are_shown_as_text(console: Console, browser: Browser) -> None:
    """The server answers as if it were taken over: the page trusts none of its texts."""
    lines = [
        f"Drill {HOSTILE}, seed 1: managers {HOSTILE}{_TURNED}, </pre><script>document.title='taken'</script>",
        "&lt;b&gt; <b>bold</b> <svg onload=document.title='taken'> javascript:document.title='taken'",
    ]
    run = {"run": 1, "name": HOSTILE, "verdict": HOSTILE + _TURNED, "is_running": False, "lines": lines, "next": 2}
    answers: dict[str, tuple[int, Any]] = {
        "drills": (200, [{"name": HOSTILE, "summary": f"<i>{HOSTILE}</i>"}, {"name": '"><img src=x>', "summary": ""}]),
        "drills/run*": (200, run),
        "drills/start": (400, {"error": f"<u>{HOSTILE}</u>{_TURNED}"}),
    }
    with looking(browser, console, "anna", "group") as page:
        for path, (status, answer) in answers.items():
            page.route(f"**/console/api/{path}", answering(status, answer))
        page.evaluate("location.hash = '#/drills'")
        page.wait_for_selector("main pre:has-text('javascript:')")
        assert page.locator("main pre").inner_text().splitlines()[:2] == [
            line.replace(_TURNED, _SHOWN) for line in lines
        ]
        assert page.locator("main option").all_inner_texts() == [HOSTILE, '"><img src=x>']
        assert page.locator("main p.muted").inner_text() == f"<i>{HOSTILE}</i>"
        assert page.locator("main .badge").inner_text() == HOSTILE + _SHOWN
        page.get_by_role("button", name="Start").press("Enter")
        page.wait_for_selector("text=<u>")
        assert f"<u>{HOSTILE}</u>{_SHOWN}" in page.locator("body").inner_text()
        assert page.locator("body img, main b, main i, main svg, body u, main script").count() == 0


def test_the_error_of_a_drill_is_shown_as_text(console: Console, browser: Browser) -> None:
    """A drill inherits the program of the embedded server: one that is not there stands in the drill's error."""
    server = f"/{HOSTILE}{_TURNED}"
    own = Shell(console.shell.environment | {"IGQ_REDIS_SERVER": server})
    with Console.start(own) as other, looking(browser, other, "anna", "drills") as page:
        page.locator("main select").select_option("kill-agent")
        page.get_by_role("button", name="Start").press("Enter")
        page.wait_for_selector("main .badge:has-text('FAILED')")
        assert server.replace(_TURNED, _SHOWN) in page.locator("main pre").inner_text()
