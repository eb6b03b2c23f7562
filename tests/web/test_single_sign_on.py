"""Signing in by an identity provider: who gets in, with which role, and everybody who does not."""

from __future__ import annotations

import asyncio
import itertools
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import expect
from starlette.requests import Request

from igq.errors import CommandError
from igq.web.access import failures
from igq.web.access.gate import Refused
from igq.web.access.oidc import provider_of
from sharedq.settings.loader import load_settings
from sharedq.settings.values import ConfigError
from tests.cli.conftest import Shell, new_shell
from tests.support.browser import HOSTILE, start_browser
from tests.support.console import PASSWORD, Console, add_users
from tests.support.identity_provider import CLIENT, SECRET, IdentityProvider, started
from tests.support.scenes import until

_numbers = itertools.count(1)
ROLES = "mq-viewers=viewer; mq-operators=operator; CN=admins,OU=mq=administrator; mq-programs=messaging"


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    """A provider in a process of its own."""
    with started() as provider:
        yield provider


@pytest.fixture(autouse=True)
def well_behaved(provider: IdentityProvider) -> None:
    """Each test says itself in what the provider misbehaves."""
    provider.tell()


@pytest.fixture(scope="module")
def shell(provider: IdentityProvider) -> Iterator[Shell]:
    """Settings of a console that knows the provider, beside a manager."""
    with tempfile.TemporaryDirectory(prefix="igq", ignore_cleanup_errors=True) as path:
        shell = new_shell(Path(path))
        secret = Path(path) / "secret"
        secret.write_text(f"{SECRET}\n")
        shell.environment |= settings_for(provider, secret)
        try:
            manager = shell.start_manager("QM1")
            add_users(shell)
            yield shell
            manager.end()
        finally:
            shell.close()


def settings_for(provider: IdentityProvider, secret: Path) -> dict[str, str]:
    return {
        "IGQ_LEASE_MS": "60000",
        "IGQ_CONSOLE_TRUSTED_PROXIES": "127.0.0.1",
        "IGQ_CONSOLE_OIDC_ISSUER": provider.issuer,
        "IGQ_CONSOLE_OIDC_NAME": "Key <b>Cloak</b>",
        "IGQ_CONSOLE_OIDC_CLIENT_ID": CLIENT,
        "IGQ_CONSOLE_OIDC_CLIENT_SECRET_FILE": str(secret),
        "IGQ_CONSOLE_OIDC_ROLES": ROLES,
    }


@pytest.fixture(scope="module")
def console(shell: Shell) -> Iterator[Console]:
    """The console of nearly all tests."""
    with Console.start(shell) as console:
        yield console


@pytest.fixture
def browser(console: Console) -> Iterator[httpx.Client]:
    """A client that keeps cookies and follows nothing by itself, at an address of its own: failures are counted."""
    with new_client(console) as client:
        yield client


def new_client(console: Console) -> httpx.Client:
    number = next(_numbers)
    headers = {"X-Forwarded-For": f"192.0.{number // 250}.{number % 250}"}
    return httpx.Client(base_url=console.url, timeout=60, headers=headers)


def back_from_provider(browser: httpx.Client, **asked: str) -> str:
    """Begin, let the provider approve, and return the URL at which it sends the browser back."""
    begun = browser.get("/console/oidc/start", params=asked)
    assert begun.status_code == 303, begun.text
    approved = httpx.get(begun.headers["location"], timeout=60)
    assert approved.status_code == 302, approved.text
    return approved.headers["location"]


def sign_in(browser: httpx.Client, **asked: str) -> httpx.Response:
    return browser.get(back_from_provider(browser, **asked))


def me(browser: httpx.Client) -> dict[str, Any] | None:
    answer = browser.get("/console/api/me")
    return answer.json() if answer.status_code == 200 else None


def refused(browser: httpx.Client, answer: httpx.Response, status: int, why: str) -> None:
    """A page that says why, and no session."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "You are not signed in" in answer.text
    assert why in answer.text, answer.text
    assert "frame-ancestors" in answer.headers["content-security-policy"]
    assert me(browser) is None


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["staff", "mq-viewers"], "viewer"),
        (["mq-viewers", "mq-operators", "mq-programs"], "operator"),
        (["CN=admins,OU=mq"], "administrator"),
    ],
)
def test_a_user_has_the_highest_role_of_the_groups(
    provider: IdentityProvider, console: Console, browser: httpx.Client, groups: list[str], role: str
) -> None:
    provider.tell(claims={"groups": groups})
    answer = sign_in(browser, next="#/queues")
    assert (answer.status_code, answer.headers["location"]) == (303, "../#/queues")
    found = me(browser)
    assert found is not None
    assert (found["user"], found["role"]) == ("olga", role)
    assert all("HttpOnly" in each for each in answer.headers.get_list("set-cookie"))
    assert any("SameSite=strict" in each for each in answer.headers.get_list("set-cookie"))
    body = {"qmgr": "QM1", "commands": "DEFINE QLOCAL(BY.OIDC) REPLACE"}
    done = browser.post("/console/api/mqsc", json=body, headers={"ibm-mq-rest-csrf-token": found["csrf"]}).json()
    assert done["answers"][0]["is_done"] is (role == "administrator")
    console.logged(": sign in with Key <b>Cloak</b>, subject f3b1: done")


def test_a_user_of_programs_has_a_session_and_no_console(provider: IdentityProvider, browser: httpx.Client) -> None:
    provider.tell(claims={"groups": ["mq-programs"]})
    answer = sign_in(browser)
    assert answer.status_code == 200
    assert "olga is messaging" in answer.text
    assert browser.get("/console/api/me").status_code == 403
    assert browser.get("/ibmmq/rest/v3/login").json() == {"user": [{"name": "olga", "role": ["messaging"]}]}


@pytest.mark.parametrize("groups", [["staff"], [], None])
def test_a_user_of_no_mapped_group_is_refused_and_noted(
    provider: IdentityProvider, console: Console, browser: httpx.Client, groups: list[str] | None
) -> None:
    provider.tell(claims={"groups": groups, "preferred_username": HOSTILE})
    answer = sign_in(browser)
    refused(browser, answer, 403, "no group of this user has a role here")
    assert "<img" not in answer.text
    assert "&lt;img" in answer.text
    console.logged("was not signed in")

    def noted() -> list[dict[str, Any]]:
        with console.signed_in("anna") as anna:
            deeds = anna.get("/console/api/audit").json()["deeds"]
        return [each for each in deeds if each["result"].startswith("refused")]

    until(noted, "the refusal is noted")
    assert noted()[0]["user"] == HOSTILE
    assert noted()[0]["what"] == "sign in with Key <b>Cloak</b>, subject f3b1"


def test_nobody_becomes_a_user_of_the_file_by_name(provider: IdentityProvider, browser: httpx.Client) -> None:
    provider.tell(claims={"preferred_username": "Anna", "groups": ["mq-viewers"]})
    refused(browser, sign_in(browser), 403, "own has this name")


def test_a_user_who_is_added_to_the_file_later_is_another_one(console: Console, browser: httpx.Client) -> None:
    assert sign_in(browser).status_code == 303
    console.shell.out("console", "user", "add", "olga", "--role", "administrator", text=PASSWORD)
    try:
        assert me(browser) is None
    finally:
        console.shell.out("console", "user", "remove", "olga")


def test_signing_out_ends_the_session_here_and_there(
    provider: IdentityProvider, console: Console, browser: httpx.Client
) -> None:
    sign_in(browser)
    found = me(browser)
    assert found is not None
    kept = dict(browser.cookies)
    answer = browser.post("/console/api/sign-out", headers={"ibm-mq-rest-csrf-token": found["csrf"]})
    there = urlsplit(answer.json()["url"])
    assert f"{there.scheme}://{there.netloc}{there.path}" == f"{provider.issuer}/logout"
    assert parse_qs(there.query)["post_logout_redirect_uri"] == [f"{console.url}/console/"]
    browser.cookies.update(kept)
    assert me(browser) is None


def test_the_redirect_uri_is_that_of_the_proxy(provider: IdentityProvider, browser: httpx.Client) -> None:
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9", "Host": "mq.example.com"}
    begun = browser.get("/console/oidc/start", headers=headers)
    asked = parse_qs(urlsplit(begun.headers["location"]).query)
    assert asked["redirect_uri"] == ["https://mq.example.com/console/oidc/callback"]
    assert "Secure" in begun.headers["set-cookie"]
    assert (asked["code_challenge_method"], asked["response_type"]) == (["S256"], ["code"])
    assert asked["scope"] == ["openid profile"]
    assert provider.asked("/authorize") >= 0


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example.com",
        "//evil.example.com",
        "/\\evil.example.com",
        "javascript:alert(1)",
        "#/queues\r\nSet-Cookie: a=b",
        "#//" + "x" * 600,
        "@evil.example.com",
    ],
)
def test_nobody_is_sent_to_another_place_afterwards(browser: httpx.Client, target: str) -> None:
    answer = sign_in(browser, next=target)
    assert (answer.status_code, answer.headers["location"]) == (303, "../")


@pytest.mark.parametrize(
    ("orders", "why"),
    [
        ({"nonce": "another"}, "nonce"),
        ({"claims": {"nonce": None}}, "nonce"),
        ({"algorithm": "none"}, "none"),
        ({"algorithm": "HS256"}, "HS256"),
        ({"claims": {"iss": "https://other.example.com"}}, "iss"),
        ({"claims": {"iss": None}}, "iss"),
        ({"claims": {"aud": "another-client"}}, "aud"),
        ({"claims": {"aud": ["another-client"]}}, "aud"),
        ({"claims": {"aud": [CLIENT, "another-client"], "azp": "another-client"}}, "azp"),
        ({"claims": {"exp": 1_000_000_000}}, "expired"),
        ({"claims": {"exp": None}}, "exp"),
        ({"claims": {"groups": "mq-operators"}}, "groups is no list of texts"),
        ({"claims": {"groups": {"mq-operators": True}}}, "groups is no list of texts"),
        ({"claims": {"groups": [["mq-operators"]]}}, "groups is no list of texts"),
        ({"claims": {"preferred_username": None}}, "preferred_username"),
        ({"claims": {"preferred_username": ["olga"]}}, "preferred_username"),
        ({"claims": {"preferred_username": "o" * 65}}, "preferred_username"),
        ({"claims": {"preferred_username": "olga\nanna"}}, "preferred_username"),
        ({"claims": {"preferred_username": "\ud800"}}, "preferred_username"),
        ({"claims": {"sub": None}}, "sub"),
        ({"padding": 200_000}, "exceeds"),
        ({"kid": "unknown"}, "unknown"),
        ({"rotate": "hidden"}, "kid"),
    ],
)
def test_a_token_that_is_not_right_is_refused(
    provider: IdentityProvider, console: Console, browser: httpx.Client, orders: dict[str, Any], why: str
) -> None:
    at_provider = back_from_provider(browser)
    provider.tell(**orders)
    refused(browser, browser.get(at_provider), 403, why)
    assert "Traceback" not in "\n".join(console.running.lines)
    assert "IGQ0104E" in console.logged("was not signed in")
    provider.tell(rotate="shown")


def test_an_answer_without_end_is_not_read(provider: IdentityProvider, browser: httpx.Client) -> None:
    at_provider = back_from_provider(browser)
    provider.tell(padding=2_000_000)
    refused(browser, browser.get(at_provider), 503, "its answer is too long")


def test_new_keys_are_fetched_once_for_a_token_that_needs_them(
    provider: IdentityProvider, browser: httpx.Client
) -> None:
    assert sign_in(browser).status_code == 303
    asked = provider.asked("/jwks")
    assert sign_in(browser).status_code == 303
    assert provider.asked("/jwks") == asked
    provider.tell(rotate="shown")
    assert sign_in(browser).status_code == 303
    assert provider.asked("/jwks") == asked + 1
    provider.tell(kid="unknown")
    assert sign_in(browser).status_code == 403
    assert provider.asked("/jwks") == asked + 2


@pytest.mark.parametrize("state", ["", "another", "%00", "x" * 5_000])
def test_a_state_of_another_sign_in_is_refused(browser: httpx.Client, state: str) -> None:
    found = re.sub(r"state=[^&]*", f"state={state}", back_from_provider(browser))
    refused(browser, browser.get(found), 400, "This browser has begun no such sign-in")


def test_a_sign_in_that_another_browser_began_is_refused(console: Console, browser: httpx.Client) -> None:
    found = back_from_provider(browser)
    with new_client(console) as victim:
        refused(victim, victim.get(found), 400, "This browser has begun no such sign-in")
        back_from_provider(victim)
        refused(victim, victim.get(found), 400, "This browser has begun no such sign-in")
        victim.cookies.clear()
        victim.cookies.set(f"LtpaToken2_{urlsplit(console.url).port}_oidc", "forged.abc.def")
        refused(victim, victim.get(found), 400, "This browser has begun no such sign-in")


def test_a_code_counts_once(console: Console, browser: httpx.Client) -> None:
    found, kept = back_from_provider(browser), dict(browser.cookies)
    assert browser.get(found).status_code == 303
    with new_client(console) as thief:
        refused(thief, thief.get(found), 400, "This browser has begun no such sign-in")
        thief.cookies.update(kept)
        refused(thief, thief.get(found), 403, "invalid_grant")


def test_text_of_others_is_not_shown_as_the_providers(browser: httpx.Client) -> None:
    answer = browser.get("/console/oidc/callback", params={"error": "x", "error_description": "Call 555-0100"})
    refused(browser, answer, 400, "This browser has begun no such sign-in")
    assert "555" not in answer.text


def test_a_provider_that_refuses_is_quoted(browser: httpx.Client) -> None:
    state = parse_qs(urlsplit(back_from_provider(browser)).query)["state"][0]
    told = {"error": "access_denied", "error_description": "<b>no</b>", "state": state}
    answer = browser.get("/console/oidc/callback", params=told)
    refused(browser, answer, 403, "access_denied")
    assert "<b>" not in answer.text


def test_too_many_failures_of_an_address_are_stopped(provider: IdentityProvider, browser: httpx.Client) -> None:
    provider.tell(nonce="another")
    for _ in range(failures.PER_HOST):
        assert sign_in(browser).status_code == 403
    answer = sign_in(browser)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


def test_a_provider_that_is_away_harms_no_user_of_the_file(provider: IdentityProvider, shell: Shell) -> None:
    provider.tell(status=500)
    with Console.start(shell) as console, new_client(console) as browser:
        refused(browser, browser.get("/console/oidc/start"), 503, "cannot be asked now")
        with console.signed_in("vera") as vera:
            assert vera.get("/console/api/me").status_code == 200
        assert "Traceback" not in "\n".join(console.running.lines)


@pytest.mark.parametrize(
    "orders",
    [
        {"status": 302},
        {"document": {"issuer": "https://other.example.com"}},
        {"document": {"issuer": None}},
        {"document": {"token_endpoint": None}},
        {"document": {"jwks_uri": "file:///etc/passwd"}},
        {"document": {"padding": "x" * 2_000_000}},
    ],
)
def test_a_document_that_is_wrong_is_not_used(provider: IdentityProvider, shell: Shell, orders: dict[str, Any]) -> None:
    provider.tell(**orders)
    found = provider_of(load_settings(ours(shell)))
    assert found is not None
    with pytest.raises(Refused, match="cannot be asked now") as refusal:
        asyncio.run(found.begin(Request({"type": "http", "session": {}}), "http://127.0.0.1/"))
    assert refusal.value.status == 503


def ours(shell: Shell) -> dict[str, str]:
    return {name: value for name, value in shell.environment.items() if name.startswith("IGQ_")}


def test_a_provider_that_goes_between_is_named(provider: IdentityProvider, browser: httpx.Client) -> None:
    found = back_from_provider(browser)
    provider.tell(status=503)
    refused(browser, browser.get(found), 503, "cannot be asked now")


def test_another_site_cannot_begin_a_sign_in(browser: httpx.Client) -> None:
    answer = browser.get("/console/oidc/start", headers={"Sec-Fetch-Site": "cross-site"})
    refused(browser, answer, 403, "comes from another site")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"IGQ_CONSOLE_OIDC_ISSUER": "http://keycloak.example.com"}, "IGQ_CONSOLE_OIDC_ISSUER=http://keycloak"),
        ({"IGQ_CONSOLE_OIDC_ISSUER": ""}, "needs console_oidc_issuer"),
        ({"IGQ_CONSOLE_OIDC_CLIENT_ID": ""}, "needs console_oidc_client_id"),
        ({"IGQ_CONSOLE_OIDC_ROLES": ""}, "needs console_oidc_roles"),
        ({"IGQ_CONSOLE_OIDC_ROLES": "staff=king"}, "staff=king: allowed: GROUP=ROLE"),
        ({"IGQ_CONSOLE_OIDC_ROLES": "=viewer"}, "=viewer: allowed: GROUP=ROLE"),
        ({"IGQ_CONSOLE_OIDC_ROLES": "a=viewer;a=operator"}, "a has two roles"),
        ({"IGQ_CONSOLE_OIDC_SCOPES": "profile"}, "openid among them"),
        ({"IGQ_CONSOLE_OIDC_CLIENT_SECRET_FILE": "/nowhere/secret"}, "cannot be read: No such file"),
        ({"IGQ_CONSOLE_OIDC_CLIENT_SECRET_FILE": "/dev/null"}, "holds nothing"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(shell: Shell, changed: dict[str, str], why: str) -> None:
    with pytest.raises((ConfigError, CommandError)) as refusal:
        provider_of(load_settings(ours(shell) | changed))
    assert why in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_console_with_wrong_settings_does_not_start(shell: Shell) -> None:
    done = shell.run("console", "--listen", "0", IGQ_CONSOLE_OIDC_CLIENT_SECRET_FILE="/nowhere/secret")
    why = "igq: console_oidc_client_secret_file=/nowhere/secret: cannot be read: No such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", why)


def test_a_console_without_a_provider_has_no_such_page(shell: Shell) -> None:
    blank = {name: "" for name in shell.environment if name.startswith("IGQ_CONSOLE_OIDC")}
    plain = Shell({**shell.environment, **blank})
    with Console.start(plain) as console, httpx.Client(base_url=console.url, timeout=60) as client:
        assert client.get("/console/oidc/start").status_code == 404
        assert client.get("/console/oidc/callback").status_code == 404
        assert 'data-provider=""' in client.get("/console/").text


def test_a_person_signs_in_and_out_in_a_browser(provider: IdentityProvider, console: Console) -> None:
    provider.tell(page=True, claims={"preferred_username": HOSTILE})
    with start_browser() as chromium:
        page = chromium.new_page()
        page.goto(f"{console.url}/console/#/queues")
        page.get_by_role("link", name="Sign in with Key <b>Cloak</b>").click()
        page.get_by_role("link", name="I am olga").click()
        expect(page.get_by_role("heading", name="Queues")).to_be_visible(timeout=60_000)
        expect(page.locator("#user")).to_contain_text(f"{HOSTILE}, operator")
        assert page.locator("header img").count() == 0
        page.reload()
        expect(page.get_by_role("heading", name="Queues")).to_be_visible(timeout=60_000)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("link", name="Sign in with")).to_be_visible(timeout=60_000)
        provider.tell(page=True, claims={"groups": ["staff"]})
        page.get_by_role("link", name="Sign in with").click()
        page.get_by_role("link", name="I am olga").click()
        expect(page.get_by_role("alert")).to_contain_text("no group of this user has a role here", timeout=60_000)
        page.get_by_role("link", name="To the console").click()
        expect(page.get_by_label("User")).to_be_visible(timeout=60_000)
        page.close()
