"""A real browser that looks at the console."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.console import PASSWORD, Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
#: Where to leave pictures of the views, for a person to look at; unset: nowhere.
PICTURES = os.environ.get("CONSOLE_PICTURES", "")
#: A browser on a machine that is busy, ms.
_PATIENCE_MS = 60_000
#: Text of others that would run, if any of it became HTML.
HOSTILE = "<img src=x onerror=document.title='taken'>"


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Chromium. Skips the test where there is none."""
    if not CHROMIUM.exists():
        pytest.skip("there is no Chromium")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=flags)
        yield browser
        browser.close()


@contextmanager
def looking(browser: Browser, console: Console, user: str, view: str, **context: Any) -> Iterator[Page]:
    """A page of a signed-in user, at a view. It must not have taken text for HTML, or met an error in its scripts.

    Args:
        context: of the browser, such as its width.
    """
    errors: list[str] = []
    own = browser.new_context(**context)
    page = own.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    page.on("pageerror", lambda error: errors.append(str(error)))
    # A request that is refused is no error of a script.
    page.on("console", lambda message: errors.append(message.text) if "Content Security" in message.text else None)
    page.goto(f"{console.url}/console/#/{view}")
    page.fill("input[name=user]", user)
    page.fill("input[name=password]", PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_selector("h1 + section")
    yield page
    assert page.locator("main img").count() == 0
    assert "taken" not in page.title()
    assert errors == []
    own.close()


def picture(page: Page, name: str) -> None:
    """Leave two pictures: of a desk in light colours, and of a phone in dark ones."""
    for kind, scheme, size in (("desk", "light", (1280, 800)), ("phone", "dark", (390, 800))):
        if PICTURES:
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.screenshot(path=f"{PICTURES}/{name}-{kind}.png")
