"""The view of drills: an administrator starts one, watches it, stops it; the live group is not touched."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from igq.web.console.drill_child import own_environment
from sharedq.settings.loader import load_settings
from tests.cli.conftest import Shell
from tests.support.browser import looking, picture
from tests.support.console import Console, add_users
from tests.support.scenes import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: A drill that needs no right and takes some seconds.
SHORT = "kill-agent"
#: The most that it takes on a machine that is busy.
LONG_S = 240.0


def start(client: httpx.Client, name: object = SHORT, **more: object) -> httpx.Response:
    return client.post("/console/api/drills/start", json={"name": name, **more})


def stop(client: httpx.Client) -> httpx.Response:
    return client.post("/console/api/drills/stop", json={})


def told(client: httpx.Client) -> dict[str, Any]:
    answer = client.get("/console/api/drills/run")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def wait_for_load(client: httpx.Client) -> None:
    until(lambda: any("load started" in line for line in told(client)["lines"]), "load", LONG_S, pause_s=0.2)


def processes_of_drills(shell: Shell) -> list[str]:
    """The processes whose data directory is one of a drill."""
    wanted, found = f"IGQ_DATA_DIR={shell.environment['IGQ_DATA_DIR']}/drills".encode(), []
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in each.read_bytes():
                found.append(each.parent.name)
        except OSError:
            continue
    return found


def test_only_an_administrator_of_this_page_may_start_a_drill(console: Console) -> None:
    for user in ("vera", "otto"):
        with console.signed_in(user) as client:
            assert start(client).status_code == 403
            assert stop(client).status_code == 403
            assert client.get("/console/api/drills").status_code == 403
            assert client.get("/console/api/drills/run").status_code == 403
    with httpx.Client(base_url=console.url) as anonymous:
        assert anonymous.get("/console/api/drills/run").status_code == 401
    with console.signed_in("anna") as anna:
        for wrong in ("no-such-drill", "--all", "", 7, None):
            assert start(anna, wrong).status_code == 400, wrong
        for seed in (-1, "1", True, 1.5, 10**10):
            assert start(anna, seed=seed).status_code == 400, seed
        assert start(anna, is_audited="yes").status_code == 400
        assert anna.get("/console/api/drills/run", params={"since": "x"}).status_code == 400
        assert stop(anna).status_code == 409
        anna.headers["ibm-mq-rest-csrf-token"] = "x"
        assert start(anna).status_code == 403
        assert stop(anna).status_code == 403
        assert told(anna)["is_running"] is False


def test_nothing_of_the_live_group_reaches_a_drill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "igq.toml"
    config.write_text('redis_url = "redis://live:6379"\n', "utf-8")
    live = {"IGQ_CONFIG": config, "IGQ_DATA_DIR": tmp_path / "live", "IGQ_GROUP": "LIVE", "REDIS_URL": "redis://live"}
    for name, value in live.items():
        monkeypatch.setenv(name, str(value))
    settings = load_settings()
    assert (settings.redis_url, settings.group) == ("redis://live:6379", "LIVE")
    own = load_settings(own_environment(settings))
    assert own.is_embedded
    assert own.data_dir == tmp_path / "live" / "drills"
    assert own.group != "LIVE"


def test_a_drill_is_watched_to_its_verdict(console: Console) -> None:
    before = {each["name"]: each["pid"] for each in console.shell.status()["managers"]}
    with console.signed_in("anna") as anna:
        names = [each["name"] for each in anna.get("/console/api/drills").json()]
        assert {SHORT, "kill-manager", "random"} <= set(names)
        assert start(anna, seed=1).status_code == 200
        assert start(anna).status_code == 409
        assert f"start drill {SHORT}" in console.logged(f"start drill {SHORT}")
        lines: list[str] = []
        asked = {"run": 0, "since": 0}

        def has_ended() -> bool:
            found = anna.get("/console/api/drills/run", params=asked).json()
            asked.update(run=found["run"], since=found["next"])
            lines.extend(found["lines"])
            return not found["is_running"]

        until(has_ended, "a verdict", LONG_S, pause_s=0.2)
        assert told(anna)["verdict"] == "PASSED", "\n".join(lines)
    assert sum(f"Drill {SHORT}, seed 1:" in line for line in lines) == 1
    assert f"Passed: drill {SHORT}, seed 1." in lines[-1]
    assert {each["name"]: each["pid"] for each in console.shell.status()["managers"]} == before
    assert processes_of_drills(console.shell) == []


def test_a_drill_is_stopped_and_leaves_no_process(console: Console) -> None:
    with console.signed_in("anna") as anna:
        assert start(anna).status_code == 200
        wait_for_load(anna)
        assert processes_of_drills(console.shell)
        assert stop(anna).status_code == 200
        until(lambda: not told(anna)["is_running"], "an end", LONG_S, pause_s=0.2)
        assert told(anna)["verdict"] == "STOPPED"
        assert "Ended by the user" in told(anna)["lines"][-1]
        assert processes_of_drills(console.shell) == []
        assert stop(anna).status_code == 409


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_drill_ends_with_the_console(shell: Shell, number: int) -> None:
    add_users(shell)
    with Console.start(shell) as own:
        with own.signed_in("anna") as anna:
            assert start(anna).status_code == 200
            wait_for_load(anna)
        own.running.end(number)
        until(lambda: not processes_of_drills(shell), "an end of all processes", LONG_S, pause_s=0.2)


def test_a_browser_starts_and_watches_and_stops_a_drill(console: Console, browser: Browser) -> None:
    with looking(browser, console, "anna", "drills") as page:
        page.locator("main select").select_option(SHORT)
        page.get_by_role("button", name="Start").press("Enter")
        page.wait_for_selector("main .badge:has-text('RUNNING')")
        page.wait_for_selector("pre:has-text('load started')")
        picture(page, "drills")
        page.get_by_role("button", name="Stop").press("Enter")
        page.wait_for_selector("main .badge:has-text('STOPPED')")
        assert page.get_by_role("button", name="Start").is_enabled()
    with looking(browser, console, "otto", "drills") as page:
        page.wait_for_selector("main:has-text('An administrator may start drills.')")
        assert page.get_by_role("button", name="Start").count() == 0
