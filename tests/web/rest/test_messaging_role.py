"""The role messaging, and tokens for some queues: messages of the queues that are named, and nothing else."""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

import httpx
import pytest
from starlette.routing import BaseRoute, Mount, Route

from igq.web.access.messages import is_allowed
from igq.web.access.users import Role
from igq.web.console.pages import console_routes
from igq.web.rest.routes import REST, rest_routes
from igq.web.site import Site
from sharedq.objects.store.authorities import AuthorityRecord, AuthorityTable
from sharedq.settings.loader import load_settings
from tests.support.console import PASSWORD, Console
from tests.web.rest.test_messaging import TEXT, path

#: Answers for anybody, and for any user whatever the role is.
PUBLIC = {
    ("GET", "/console/"),
    ("GET", "/console/static/console.css"),
    ("POST", "/console/api/sign-in"),
    ("GET", "/console/oidc/start"),
    ("GET", "/console/oidc/callback"),
    ("GET", f"{REST}/v3/openapi.json"),
    *((method, f"{REST}/{version}/login") for version in ("v1", "v2", "v3") for method in ("GET", "POST", "DELETE")),
}
MESSAGES = {
    *((method, path("{queue}")) for method in ("GET", "POST", "DELETE")),
    ("GET", path("{queue}", "messagelist")),
}
_NUMBERS = count(1)


def every_route() -> list[tuple[str, str]]:
    """Method and path of every route of the console and of the REST interface, from the program itself."""
    site = Site(load_settings({}), lambda *_, **__: None, 1)
    found = [*_of(console_routes(), "/console"), *_of(rest_routes(site), REST)]
    return [(method, where.replace("{qmgr}", "QM1").replace("{queue:path}", "{queue}")) for method, where in found]


def _of(routes: Sequence[BaseRoute], base: str) -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Route):
            for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
                yield method, base + route.path
        else:
            assert isinstance(route, Mount)
            assert route.path == "/static"
            yield "GET", f"{base}/static/console.css"


def quoted(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(method, where.replace("%7B", "{").replace("%7D", "}")) for method, where in pairs}


@pytest.fixture(scope="module")
def app(console: Console) -> str:
    """A user of the role messaging."""
    console.shell.out("console", "user", "add", "app", "--role", "messaging", text=PASSWORD)
    return "app"


@pytest.fixture
def queues(console: Console) -> Iterator[tuple[str, str]]:
    """Two queues, with a message each."""
    names = f"ROLE.{next(_NUMBERS)}.A", f"ROLE.{next(_NUMBERS)}.B"
    with console.program("otto") as operator:
        for name in names:
            command(console, f"DEFINE QLOCAL({name})")
            assert operator.post(path(name), content=b"here before", headers=TEXT).status_code == 201
    yield names
    # Of a console that other tests use, too.
    for line in command(console, "DISPLAY AUTHREC"):
        if (found := re.search(r"PROFILE\((\S+)\)", line)) is not None:
            command(console, f"DELETE AUTHREC PROFILE('{found[1]}') OBJTYPE(QUEUE) PRINCIPAL('app')")


def command(console: Console, text: str) -> list[str]:
    """The answer to a command of MQSC, given by REST: quicker than by a process of its own."""
    told = {"type": "runCommand", "parameters": {"command": text}}
    with console.program("anna") as client:
        answer = client.post(f"{REST}/v3/admin/action/qmgr/QM1/mqsc", json=told).json()
    assert answer["overallCompletionCode"] == 0 or text.startswith("DISPLAY"), answer
    return [line for each in answer["commandResponse"] for line in each["text"]]


def give(console: Console, profile: str, *authorities: str) -> None:
    words = f"SET AUTHREC PROFILE('{profile}') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD({','.join(authorities)})"
    command(console, words)


@contextmanager
def bearer(console: Console, user: str, *options: str) -> Iterator[httpx.Client]:
    secret = console.shell.out("console", "token", "add", user, *options).strip()
    headers = {"Authorization": f"Bearer {secret}", "ibm-mq-rest-csrf-token": ""}
    with httpx.Client(base_url=console.url, headers=headers, timeout=60) as client:
        yield client


@contextmanager
def logged_in(console: Console, user: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=console.url, headers={"ibm-mq-rest-csrf-token": ""}, timeout=60) as client:
        assert client.post(f"{REST}/v3/login", json={"username": user, "password": PASSWORD}).status_code == 204
        yield client


def tried(client: httpx.Client, queue: str) -> dict[str, int]:
    """The answers to a put, a browse, a list and a get."""
    return {
        "put": client.post(path(queue), content=b"text", headers=TEXT).status_code,
        "browse": client.get(path(queue)).status_code,
        "list": client.get(path(queue, "messagelist")).status_code,
        "get": client.delete(path(queue)).status_code,
    }


ALL = {"put": 201, "browse": 200, "list": 200, "get": 200}
NONE = dict.fromkeys(ALL, 403)


def test_every_route_is_refused_but_those_for_messages(console: Console, app: str) -> None:
    routes = every_route()
    assert quoted(MESSAGES) <= set(routes)
    assert {pair for pair in PUBLIC if pair[0] != "GET" or "login" not in pair[1]} <= set(routes)
    others = [pair for pair in routes if pair not in quoted(MESSAGES) | PUBLIC]
    assert len(others) > 15

    for client_of in (lambda: console.program(app), lambda: bearer(console, app), lambda: logged_in(console, app)):
        with client_of() as client:
            for method, where in others:
                answer = client.request(method, where, json={} if method == "POST" else None)
                assert answer.status_code == 403, (method, where, answer.text)
    # A token for some queues is no more than that, whoever has it.
    with bearer(console, "anna", "--queue", "**") as client:
        for method, where in others:
            answer = client.request(method, where, json={} if method == "POST" else None)
            assert answer.status_code == 403, (method, where, answer.text)


def test_commands_by_text_and_by_json_are_refused(console: Console, app: str, queues: tuple[str, str]) -> None:
    with console.program(app) as client:
        for version in ("v1", "v2", "v3"):
            for told in (
                {"type": "runCommand", "parameters": {"command": f"CLEAR QLOCAL({queues[0]})"}},
                {"type": "runCommandJSON", "command": "display", "qualifier": "qlocal", "name": queues[0]},
            ):
                answer = client.post(f"{REST}/{version}/admin/action/qmgr/QM1/mqsc", content=json.dumps(told))
                assert answer.status_code == 403
                # A program that looks for the result of a command finds one.
                assert (answer.json()["overallCompletionCode"], answer.json()["overallReasonCode"]) == (2, 2035)


def test_a_browser_of_such_a_user_is_not_signed_in(console: Console, app: str) -> None:
    with httpx.Client(base_url=console.url) as client:
        answer = client.post("/console/api/sign-in", json={"user": app, "password": PASSWORD})

        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
        assert "messaging" in answer.json()["error"]


def test_without_authority_records_every_queue_is_open_but_those_of_the_system(
    console: Console, app: str, queues: tuple[str, str]
) -> None:
    with console.program(app) as client:
        assert tried(client, queues[0]) == ALL
        for name in ("SYSTEM.ADMIN.COMMAND.QUEUE", "SYSTEM.COMMAND.INPUT", "SYSTEM.QSG.TRANSMIT.QUEUE"):
            assert tried(client, name) == NONE


def test_each_authority_is_one_right_on_the_queues_of_its_profile(
    console: Console, app: str, queues: tuple[str, str]
) -> None:
    first, second = queues
    give(console, first, "PUT")
    with console.program(app) as client:
        assert tried(client, first) == NONE | {"put": 201}
        assert tried(client, second) == NONE
        give(console, first, "BROWSE")
        assert tried(client, first) == NONE | {"put": 201, "browse": 200, "list": 200}
        give(console, second, "GET")
        assert tried(client, second) == NONE | {"get": 200}
        # Others have no record, and their role.
        with console.program("otto") as operator:
            assert tried(operator, first) == ALL


def test_a_refusal_names_the_user_the_authority_and_the_queue(
    console: Console, app: str, queues: tuple[str, str]
) -> None:
    give(console, queues[0], "GET")
    with console.program(app) as client:
        answer = client.post(path(queues[0]), content=b"x", headers=TEXT)

    assert answer.json()["error"][0]["message"].endswith(f"app has not the authority PUT for {queues[0]}.")


def test_an_alias_of_a_topic_needs_the_authority_of_its_user_to_publish(
    console: Console, app: str, queues: tuple[str, str]
) -> None:
    topic, alias = f"{queues[0]}.T", f"{queues[0]}.ALIAS"
    command(console, f"DEFINE TOPIC({topic}) TOPICSTR('{topic}')")
    command(console, f"DEFINE QALIAS({alias}) TARGET({topic}) TARGTYPE(TOPIC)")
    give(console, alias, "PUT")
    record = f"PROFILE({topic}) OBJTYPE(TOPIC) PRINCIPAL('{{}}')"
    of_console, of_user = record.format(getpass.getuser()), record.format(app)
    with console.program(app) as client:
        assert client.post(path(alias), content=b"x", headers=TEXT).status_code == 201
        command(console, f"SET AUTHREC {of_console} AUTHADD(PUB)")
        try:
            assert client.post(path(alias), content=b"x", headers=TEXT).status_code == 403
            command(console, f"SET AUTHREC {of_user} AUTHADD(PUB)")
            assert client.post(path(alias), content=b"x", headers=TEXT).status_code == 201
            # An operator may put on every queue, with the authority of the console.
            with console.program("otto") as operator:
                assert operator.post(path(alias), content=b"x", headers=TEXT).status_code == 201
        finally:
            for each in (of_console, of_user):
                command(console, f"DELETE AUTHREC {each}")


def test_a_token_is_for_the_queues_that_it_names(console: Console, app: str, queues: tuple[str, str]) -> None:
    first, second = queues
    number = first.split(".")[1]
    with bearer(console, "otto", "--queue", f"ROLE.{number}.*", "--queue", "NO.SUCH") as client:
        assert tried(client, first) == ALL
        assert tried(client, second) == NONE
    with bearer(console, "vera", "--queue", first) as client:
        assert tried(client, first) == NONE | {"browse": 200, "list": 200}
    # It gives nothing that its user has not.
    give(console, second, "PUT")
    with bearer(console, app, "--queue", first) as client:
        assert tried(client, first) == NONE
        assert tried(client, second) == NONE
    listed = console.shell.out("console", "token", "list")
    assert f"valid until removed for messages on ROLE.{number}.*, NO.SUCH" in listed


def test_a_token_ends_with_its_days(console: Console, app: str, queues: tuple[str, str]) -> None:
    with bearer(console, app, "--days", "0", "--queue", queues[0]) as client:
        assert tried(client, queues[0]) == dict.fromkeys(ALL, 401)


def test_a_profile_that_is_none_is_refused(console: Console, app: str) -> None:
    done = console.shell.run("console", "token", "add", app, "--queue", "A[B")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("igq: --queue A[B: allowed: ")


@pytest.mark.parametrize("queue", ["", "A B", "A\0SECRET", "A%SECRET?", "Ä", 49 * "A"])
def test_a_name_that_no_queue_has_is_never_allowed(queue: str) -> None:
    every = AuthorityTable([AuthorityRecord("**", "app", ("BROWSE", "GET", "PUT"))])

    assert not is_allowed(every, "app", "PUT", queue)
    assert not is_allowed(AuthorityTable([]), "app", "PUT", queue)


def test_no_role_is_above_messaging_by_chance() -> None:
    assert min(Role) is Role.MESSAGING
