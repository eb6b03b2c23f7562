"""Signing in: sessions, passwords, tokens, roles, and what is refused."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from igq.web.access.failures import PER_HOST
from tests.support.console import PASSWORD, USERS, Console


def sign_in(client: httpx.Client, user: str, password: str, **headers: str) -> httpx.Response:
    return client.post("/console/api/sign-in", json={"user": user, "password": password}, headers=headers)


def test_a_session_is_a_cookie_that_no_script_and_no_other_site_gets(console: Console, anonymous: httpx.Client) -> None:
    answer = sign_in(anonymous, "vera", PASSWORD)

    assert answer.json()["role"] == "viewer"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "vera" in console.logged("127.0.0.1: sign in: done")


def test_without_signing_in_nothing_is_told(anonymous: httpx.Client) -> None:
    for path in ("/console/api/me", "/console/api/events"):
        answer = anonymous.get(path)
        assert (answer.status_code, answer.json()) == (401, {"error": "sign in first"})
        # A browser would ask for a password in a window of its own.
        assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize(
    ("user", "password"), [("vera", "wrong"), ("nobody", PASSWORD), ("", ""), ("vera", "x" * 5000)]
)
def test_a_wrong_password_is_refused_and_logged(console: Console, user: str, password: str) -> None:
    with httpx.Client(base_url=console.url, timeout=60) as client:
        answer = sign_in(client, user, password)

    assert answer.status_code == 401
    assert answer.json() == {"error": "user or password is wrong"}
    assert "IGQ0104E" in console.logged("was not signed in: user or password is wrong")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"user": 1, "password": 2}', b"[" * 5_000, b"\xff", b'{"user":"a"}']
)
def test_a_sign_in_without_credentials_is_refused(anonymous: httpx.Client, body: bytes) -> None:
    answer = anonymous.post("/console/api/sign-in", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400


def test_a_form_of_another_site_cannot_sign_in(anonymous: httpx.Client) -> None:
    data = json.dumps({"user": "vera", "password": PASSWORD})

    assert (
        anonymous.post("/console/api/sign-in", content=data, headers={"Content-Type": "text/plain"}).status_code == 415
    )
    assert sign_in(anonymous, "vera", PASSWORD, Origin="https://elsewhere.example").status_code == 403
    assert sign_in(anonymous, "vera", PASSWORD, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_browser_must_show_the_token_of_its_session(console: Console) -> None:
    with console.signed_in("vera") as client, console.signed_in("vera") as other:
        token = other.headers["ibm-mq-rest-csrf-token"]
        for headers in ({"ibm-mq-rest-csrf-token": "guess"}, {"ibm-mq-rest-csrf-token": token}):
            assert client.post("/console/api/sign-out", headers=headers).status_code == 403
        without = httpx.Client(base_url=console.url, cookies=client.cookies)
        assert without.post("/console/api/sign-out").status_code == 403
        assert client.post("/console/api/sign-out").status_code == 204
        assert client.get("/console/api/me").status_code == 401
        assert other.get("/console/api/me").status_code == 200


def test_programs_send_a_password_or_a_token(console: Console, role: str) -> None:
    with console.program(role) as client:
        assert client.get("/console/api/me").json()["role"] == USERS[role]
    secret = console.shell.out("console", "token", "add", role, "--days", "1").strip()
    with httpx.Client(base_url=console.url, headers={"Authorization": f"Bearer {secret}"}) as client:
        assert client.get("/console/api/me").json()["user"] == role
        listed = console.shell.out("console", "token", "list").splitlines()
        token_id = next(line.split()[0] for line in listed if f" {role} " in line)
        assert console.shell.out("console", "token", "remove", token_id) == f"token {token_id} of {role} is removed\n"
        assert client.get("/console/api/me").status_code == 401


def basic(told: bytes) -> str:
    return "Basic " + base64.b64encode(told).decode()


@pytest.mark.parametrize(
    "told",
    [
        *("Basic", "Basic !", basic(b"vera"), basic(b"\xff:\xfe"), basic(b"vera:" + b"x" * 9000)),
        *("Bearer", "Bearer x", "Digest username=vera"),
    ],
)
def test_a_header_without_a_user_is_refused(console: Console, told: str) -> None:
    with httpx.Client(base_url=console.url, headers={"Authorization": told}) as client:
        assert client.get("/console/api/me").status_code in (401, 429)


def test_users_change_while_the_console_runs(console: Console) -> None:
    shell = console.shell
    shell.out("console", "user", "add", "gast", text="eight chars")
    with httpx.Client(base_url=console.url, timeout=60) as client:
        assert sign_in(client, "gast", "eight chars").status_code == 200
        assert client.get("/console/api/me").json()["role"] == "viewer"
        assert "changed" in shell.out("console", "user", "add", "gast", "--role", "operator", text="other chars")
        # A new password ends the sessions that the old one began.
        assert client.get("/console/api/me").status_code == 401
        assert sign_in(client, "gast", "other chars").json()["role"] == "operator"
        shell.out("console", "user", "remove", "gast")
        assert client.get("/console/api/me").status_code == 401
    assert "gast" not in shell.out("console", "user", "list")


def test_after_ten_failures_a_host_must_wait(console: Console) -> None:
    with Console.start(console.shell) as own, httpx.Client(base_url=own.url, timeout=60) as client:
        program = own.program("vera")
        assert program.get("/console/api/me").status_code == 200
        statuses = [sign_in(client, f"user{at}", "wrong").status_code for at in range(12)]
        assert statuses == [401] * 10 + [429] * 2
        refused = sign_in(client, "otto", PASSWORD)
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 300
        assert sum("IGQ0104E" in line for line in own.running.lines) <= 10
        # Nobody locks out a program that has shown its password before.
        assert program.get("/console/api/me").status_code == 200


def test_guesses_at_the_same_time_count_before_they_are_checked(console: Console) -> None:
    with Console.start(console.shell) as own, httpx.Client(base_url=own.url, timeout=60) as client:
        with ThreadPoolExecutor(40) as threads:
            answers = threads.map(lambda at: sign_in(client, "anna", f"wrong {at}"), range(40))
        statuses = Counter(answer.status_code for answer in answers)

    assert statuses == {401: PER_HOST, 429: 40 - PER_HOST}


def test_right_passwords_at_the_same_time_are_all_let_in(console: Console) -> None:
    with Console.start(console.shell) as own, httpx.Client(base_url=own.url, timeout=60) as client:
        for at in range(PER_HOST - 1):
            assert sign_in(client, f"user{at}", "wrong").status_code == 401
        with ThreadPoolExecutor(20) as threads:
            statuses = {
                each.status_code for each in threads.map(lambda _: sign_in(client, "vera", PASSWORD), range(20))
            }
        # A right password does not make the host's failures good: it may be the guesser's own.
        assert sign_in(client, "anna", "wrong").status_code == 401
        assert sign_in(client, "anna", "wrong").status_code == 429

    assert statuses == {200}


@pytest.mark.parametrize("told", ["Bearer igq_old", "Bearer", "Basic !", "Digest x"])
def test_programs_that_show_no_password_lock_out_nobody(console: Console, told: str) -> None:
    with Console.start(console.shell) as own, httpx.Client(base_url=own.url, timeout=60) as client:
        for _ in range(3 * PER_HOST):
            assert client.get("/console/api/me", headers={"Authorization": told}).status_code == 401
        assert sign_in(client, "vera", PASSWORD).status_code == 200
        own.logged("sign in: done")
        # Nor do they fill the log.
        assert 0 < sum("IGQ0104E" in line for line in own.running.lines) <= PER_HOST


def test_the_log_tells_of_each_right_that_is_given_or_taken(console: Console) -> None:
    shell = console.shell
    shell.out("console", "user", "add", "zed", "--role", "administrator", text="some password")
    shell.out("console", "user", "add", "zed", text="other password")
    shell.out("console", "token", "add", "zed", "--days", "2")
    listed = shell.out("console", "token", "list").splitlines()
    token_id = next(line.split()[0] for line in listed if " zed " in line)
    shell.out("console", "token", "remove", token_id)
    shell.out("console", "user", "remove", "zed")

    log = (Path(shell.environment["IGQ_DATA_DIR"]) / "igq-console.log").read_text("utf-8")
    changes = [line.partition(" of this machine: ")[2] for line in log.splitlines() if "zed" in line]
    assert changes == [
        "user zed added, administrator",
        "user zed changed, viewer",
        f"token {token_id} of zed added, valid for 2 days",
        f"token {token_id} of zed removed",
        "user zed removed",
    ]


def test_the_file_of_users_is_its_owners_alone(console: Console, tmp_path: Path) -> None:
    path = tmp_path / "users.json"
    shell = console.shell
    done = shell.run("console", "user", "add", "eva", text="password", IGQ_CONSOLE_USERS=str(path))
    assert done.returncode == 0, done.stderr

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "password" not in json.loads(path.read_text("utf-8"))["users"]["eva"]["password"]
    path.chmod(0o640)
    for command in (("console", "user", "list"), ("console", "--listen", "0")):
        refused = shell.run(*command, IGQ_CONSOLE_USERS=str(path))
        assert refused.returncode == 1
        assert refused.stderr == f"igq: users of the console, {path}: others can read or write it: chmod 600\n"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"users": {"eva": {"role": "god", "password": "x"}}}', '{"others": 1}']
)
def test_a_broken_file_of_users_is_told_in_one_line(console: Console, tmp_path: Path, text: str) -> None:
    path = tmp_path / "users.json"
    path.write_text(text, "utf-8")
    os.chmod(path, 0o600)  # noqa: PTH101 - as a user would

    done = console.shell.run("console", "user", "list", IGQ_CONSOLE_USERS=str(path))

    assert done.returncode == 1
    assert done.stderr.startswith(f"igq: users of the console, {path}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (("user", "add", "-x-"), "password", "No such option"),
        (("user", "add", "a b"), "password", "'a b' cannot be a user"),
        (("user", "add", "longerthan12c"), "password", "cannot be a user"),
        (("user", "add", "eva"), "short", "a password has 8 to 1024 characters"),
        (("user", "add", "eva", "--role", "god"), "password", "Invalid value for '--role'"),
        (("user", "remove", "eva"), "", "there is no user eva of the console: vera, otto, anna"),
        (("token", "add", "eva"), "", "there is no user eva"),
        (("token", "remove", "eva"), "", "there is no token eva"),
        (("--listen", "x:y:z"), "", "--listen x:y:z: give [HOST:]PORT"),
        (("--listen", "70000"), "", "--listen 70000: give [HOST:]PORT"),
        (("--listen", "no.such.host.invalid:1"), "", "the console cannot listen on no.such.host.invalid port 1: "),
    ],
)
def test_a_command_that_cannot_be_done_says_why(
    console: Console, arguments: tuple[str, ...], text: str, said: str
) -> None:
    done = console.shell.run("console", *arguments, text=text)

    assert done.returncode != 0
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
