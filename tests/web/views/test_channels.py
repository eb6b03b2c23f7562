"""The view of channels: listeners where they run, channels with their figures, and clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import HOSTILE, looking, picture
from tests.support.channel_client import RawClient
from tests.support.console import Console
from tests.support.scenes import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module", autouse=True)
def _client(console: Console) -> Iterator[None]:
    """A client that has come by the channel APP, whose description is hostile, at the listener L."""
    description = HOSTILE.replace("'", "''")[:64]
    commands = (
        f"DEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MCAUSER('app') DESCR('{description}')",
        "DEFINE LISTENER(L) TRPTYPE(TCP) PORT(0)",
        "START LISTENER(L)",
    )
    console.shell.out("mqsc", "QM1", *(word for command in commands for word in ("-c", command)))
    until(lambda: read(console)["listeners"][0]["at"] != [], "the listener runs", 60)
    client = RawClient(read(console)["listeners"][0]["at"][0]["port"])
    assert client.connect(channel="APP", program=HOSTILE[:20]).numbers[:2] == (0, 0)
    yield
    client.close()


def read(console: Console) -> dict[str, Any]:
    with console.signed_in("vera") as vera:
        return dict(vera.get("/console/api/channels").json())


def test_a_viewer_sees_listeners_channels_and_clients(console: Console) -> None:
    until(lambda: read(console)["channels"][0]["calls"] == 1, "the call is told", 60)
    found = read(console)
    (listener,), (channel,), (client,) = found["listeners"], found["channels"], found["clients"]
    assert (listener["name"], listener["at"][0]["qmgr"], listener["at"][0]["state"]) == ("L", "QM1", "RUNNING")
    assert (channel["name"], channel["user"], channel["current"], channel["stopped_at"]) == ("APP", "app", 1, [])
    assert (client["channel"], client["user"], client["calls"]) == ("APP", "app", 1)
    assert client["address"].startswith("127.0.0.1(")


def test_the_view_shows_hostile_text_as_text(console: Console, browser: Browser) -> None:
    with looking(browser, console, "vera", "channels") as page:
        page.get_by_text("L", exact=True).first.wait_for()
        assert page.locator("tbody tr").count() == 3
        picture(page, "channels")
