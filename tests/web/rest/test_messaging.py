"""Messages by REST: put, browse, get, list, as IBM documents them."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import httpx
import pytest

from tests.support.console import PASSWORD, Console
from tests.support.scenes import until

TEXT = {"Content-Type": "text/plain; charset=utf-8"}


def path(queue: str, resource: str = "message", qmgr: str = "QM1") -> str:
    return f"/ibmmq/rest/v3/messaging/qmgr/{qmgr}/queue/{quote(queue, safe='')}/{resource}"


def put(client: httpx.Client, queue: str, body: str, **headers: str) -> httpx.Response:
    answer = client.post(path(queue), content=body.encode(), headers=TEXT | headers)
    assert answer.status_code == 201, answer.text
    return answer


def error_of(answer: httpx.Response) -> dict[str, object]:
    (error,) = answer.json()["error"]
    assert set(error) == {"type", "msgId", "message", "explanation", "action", "completionCode", "reasonCode"}
    assert str(error["message"]).startswith(str(error["msgId"]))
    return dict(error)


@pytest.mark.share
def test_a_message_is_put_browsed_and_got(otto: httpx.Client, queue: str) -> None:
    answer = put(otto, queue, "grüezi ☂")
    msg_id = answer.headers["ibm-mq-md-messageId"]
    assert re.fullmatch("ID:[0-9a-f]{48}", msg_id)
    assert answer.content == b""

    browsed = otto.get(path(queue, qmgr="QM2"))
    got = otto.delete(path(queue, qmgr="QM2"))

    for each in (browsed, got):
        assert (each.status_code, each.text) == (200, "grüezi ☂")
        assert each.headers["content-type"] == "text/plain; charset=utf-8"
        assert each.headers["ibm-mq-md-messageId"] == msg_id
        assert each.headers["ibm-mq-md-expiry"] == "unlimited"
        assert each.headers["ibm-mq-md-persistence"] == "nonPersistent"
        assert "ibm-mq-md-correlationId" not in each.headers
    for each in (otto.get(path(queue)), otto.delete(path(queue))):
        assert (each.status_code, each.content) == (204, b"")


def test_headers_become_fields_of_the_descriptor(console: Console, otto: httpx.Client, queue: str) -> None:
    told = {
        "ibm-mq-md-correlationId": "ID:" + "ab" * 24,
        "ibm-mq-md-expiry": "3600000",
        "ibm-mq-md-persistence": "persistent",
        "ibm-mq-md-priority": "7",
        "ibm-mq-md-replyTo": "ANSWERS@QM2",
    }
    put(otto, queue, "hello", **told)

    lines = console.shell.out("browse", "QM1", queue)
    shown = dict(line.split(None, 1) for line in lines.splitlines() if line.startswith("  "))
    assert shown["Format"] == "'MQSTR'"
    assert shown["UserIdentifier"] == "'otto'"
    assert shown["PutApplName"] == "'igq REST'"
    assert (shown["Priority"], shown["Persistence"]) == ("7", "1")
    got = otto.delete(path(queue))
    expiry = int(got.headers.pop("ibm-mq-md-expiry"))
    assert 0 < expiry <= 3_600_000
    assert {name: got.headers[name] for name in told if name != "ibm-mq-md-expiry"} == {
        name: value for name, value in told.items() if name != "ibm-mq-md-expiry"
    }


def test_user_properties_travel_in_an_rfh2(console: Console, otto: httpx.Client, queue: str) -> None:
    put(otto, queue, "with", **{"ibm-mq-usr": 'colour;red;string, count;-5;i4, said;"a, \\"b\\"; <c> & d";string'})

    assert "MQHRF2" in console.shell.out("browse", "QM1", queue)
    got = otto.delete(path(queue))
    assert got.text == "with"
    assert got.headers["ibm-mq-usr"] == ('colour;"red";string, count;-5;i4, said;"a, \\"b\\"; <c> & d";string')


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ibm-mq-md-correlationId", "ID:12"),
        ("ibm-mq-md-correlationId", "x" * 25),
        ("ibm-mq-md-expiry", "-1"),
        ("ibm-mq-md-expiry", "0"),
        ("ibm-mq-md-expiry", "soon"),
        ("ibm-mq-md-persistence", "maybe"),
        ("ibm-mq-md-priority", "10"),
        ("ibm-mq-md-replyTo", "@"),
        ("ibm-mq-md-replyTo", "A" * 49),
        ("ibm-mq-usr", "x"),
        ("ibm-mq-usr", "x;1;i4,x;2;i4"),
        ("ibm-mq-usr", "x;128;i1"),
        ("ibm-mq-usr", "1x;1;i4"),
        ("ibm-mq-usr", "x;y;blob"),
        ("ibm-mq-usr", "$x;y;string"),
        ("ibm-mq-usr", "x;perhaps;boolean"),
    ],
)
def test_a_header_that_is_not_valid_is_refused(otto: httpx.Client, queue: str, name: str, value: str) -> None:
    answer = otto.post(path(queue), content=b"x", headers=TEXT | {name: value})

    assert answer.status_code == 400
    error = error_of(answer)
    assert error["msgId"] == "MQWB0302E"
    assert name in str(error["message"])
    assert otto.get(path(queue)).status_code == 204


def test_messages_are_chosen_by_their_identifiers(otto: httpx.Client, queue: str) -> None:
    first = put(otto, queue, "first").headers["ibm-mq-md-messageId"]
    put(otto, queue, "second", **{"ibm-mq-md-correlationId": "order 17"})
    put(otto, queue, "third", **{"ibm-mq-md-correlationId": "ID:" + "0f" * 24})

    assert otto.get(path(queue), params={"correlationId": "ID:" + "0f" * 24}).text == "third"
    assert otto.delete(path(queue), params={"correlationId": "order 17"}).text == "second"
    assert otto.delete(path(queue), params={"messageId": first}).text == "first"
    assert otto.delete(path(queue), params={"messageId": first}).status_code == 204
    for parameters in ({"messageId": "x"}, {"messageID": first}, {"wait": "-1"}, {"wait": "soon"}, {"wait": "9" * 30}):
        answer = otto.delete(path(queue), params=parameters)
        assert (answer.status_code, error_of(answer)["msgId"]) == (400, "IGQB0001E")
    assert otto.get(path(queue)).text == "third"


def test_a_list_tells_identifiers_and_formats(otto: httpx.Client, queue: str) -> None:
    assert otto.get(path(queue, "messagelist")).json() == {"messages": []}
    ids = [put(otto, queue, str(at)).headers["ibm-mq-md-messageId"] for at in range(12)]
    put(otto, queue, "x", **{"ibm-mq-md-correlationId": "ID:" + "0f" * 24})

    listed = otto.get(path(queue, "messagelist")).json()["messages"]

    assert listed == [{"format": "MQSTR", "messageId": each} for each in ids[:10]]
    assert len(otto.get(path(queue, "messagelist"), params={"limit": 3}).json()["messages"]) == 3
    (found,) = otto.get(path(queue, "messagelist"), params={"correlationId": "ID:" + "0f" * 24}).json()["messages"]
    assert found["correlationId"] == "ID:" + "0f" * 24
    assert otto.get(path(queue, "messagelist"), params={"limit": 0}).status_code == 400


def test_a_get_waits_for_a_message(otto: httpx.Client, queue: str) -> None:
    got: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: got.append(otto.delete(path(queue), params={"wait": 60_000})))
    thread.start()
    put(otto, queue, "late")
    thread.join()

    assert got[0].text == "late"
    assert otto.delete(path(queue), params={"wait": 50}).status_code == 204


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("text/plain", 201),
        ("application/json", 201),
        ("application/xml;charset=UTF-8", 201),
        ("", 415),
        ("image/png", 415),
        ("text/plain; charset=latin-1", 415),
        ("text", 415),
    ],
)
def test_only_text_is_put(otto: httpx.Client, queue: str, kind: str, status: int) -> None:
    headers = {"Content-Type": kind} if kind else {}

    assert otto.post(path(queue), content=b"{}", headers=headers).status_code == status
    bad = otto.post(path(queue), content=b"\xff", headers=TEXT)
    assert (bad.status_code, error_of(bad)["msgId"]) == (400, "IGQB0002E")


def test_a_message_that_is_no_text_stays_on_its_queue(console: Console, otto: httpx.Client, queue: str) -> None:
    console.shell.out("put", "QM1", queue, "--raw", text="binary")

    for answer in (otto.get(path(queue)), otto.delete(path(queue)), otto.delete(path(queue), params={"wait": 100})):
        assert answer.status_code == 501
    assert otto.get(path(queue, "messagelist")).json()["messages"][0]["format"] == ""
    lines = console.shell.out("browse", "QM1", queue)
    assert "BackoutCount         0" in lines


@pytest.mark.parametrize(
    ("qmgr", "queue_name", "status", "reason"),
    [
        ("NONE", "X", 404, 2058),
        ("%00", "X", 404, 2058),
        *(("QM1", name, 404, 2085) for name in ("NO.SUCH.QUEUE", "%", "A/B", "X" * 60, "\x00")),
    ],
)
def test_an_unknown_name_is_not_found(otto: httpx.Client, qmgr: str, queue_name: str, status: int, reason: int) -> None:
    where = path(queue_name, qmgr=qmgr)
    for answer in (otto.post(where, content=b"x", headers=TEXT), otto.get(where), otto.delete(where)):
        assert answer.status_code == status, answer.text
        error = error_of(answer)
        assert (error["completionCode"], error["reasonCode"]) == (2, reason)


def test_a_queue_that_is_inhibited_says_so(console: Console, otto: httpx.Client, queue: str) -> None:
    console.shell.out("mqsc", "QM1", "-c", f"ALTER QLOCAL({queue}) PUT(DISABLED) GET(DISABLED)")

    for answer, reason in (
        (otto.post(path(queue), content=b"x", headers=TEXT), 2051),
        (otto.get(path(queue)), 2016),
        (otto.delete(path(queue)), 2016),
    ):
        assert (answer.status_code, error_of(answer)["reasonCode"]) == (405, reason)
    assert otto.get(path(queue, "messagelist")).json() == {"messages": []}


def test_roles_and_the_header_against_forgery_count(console: Console, otto: httpx.Client, queue: str) -> None:
    put(otto, queue, "hello")
    with console.program("vera") as vera:
        assert vera.get(path(queue)).text == "hello"
        for refused in (vera.delete(path(queue)), vera.post(path(queue), content=b"x", headers=TEXT)):
            assert (refused.status_code, error_of(refused)["msgId"]) == (403, "MQWB0108E")
    del otto.headers["ibm-mq-rest-csrf-token"]
    assert otto.delete(path(queue)).status_code == 403
    with httpx.Client(base_url=console.url) as anybody:
        answer = anybody.get(path(queue))
        assert (answer.status_code, error_of(answer)["msgId"]) == (401, "MQWB0104E")
        assert answer.headers["www-authenticate"].startswith("Basic ")
        unknown = anybody.get(path(queue).replace("/v3/", "/v2/"))
        assert (unknown.status_code, error_of(unknown)["msgId"]) == (404, "IGQB0004E")
        assert anybody.get("/ibmmq/rest/v3/nothing").status_code == 404
        for resource in (path(queue), "/ibmmq/rest/v1/login"):
            wrong = anybody.put(resource)
            assert wrong.status_code == 405
            assert set(wrong.headers["allow"].split(", ")) >= {"GET", "POST", "DELETE"}


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
def test_a_session_is_begun_and_ended_by_login(console: Console, version: str) -> None:
    with httpx.Client(base_url=console.url, timeout=60) as client:
        login = f"/ibmmq/rest/{version}/login"
        assert client.post(login, json={"username": "vera", "password": "wrong"}).status_code == 401
        assert client.post(login, json={"username": "vera"}).status_code == 400
        assert client.post(login, json={"username": "vera", "password": PASSWORD}).status_code == 204
        # By this name programs written for IBM MQ find it.
        assert all(name.startswith("LtpaToken2") for name in client.cookies)
        assert client.get(login).json() == {"user": [{"name": "vera", "role": ["viewer"]}]}
        assert client.delete(login).status_code == 403
        assert client.delete(login, headers={"ibm-mq-rest-csrf-token": ""}).status_code == 204
        assert client.get(login).status_code == 401


@contextmanager
def asked(console: Console, queue: str, wait_ms: int = 0, *, secret: str = "") -> Iterator[socket.socket]:
    """A DELETE whose answer nobody reads."""
    place = urlsplit(console.url)
    secret = secret or console.shell.out("console", "token", "add", "otto").strip()
    with socket.create_connection((str(place.hostname), place.port or 0), timeout=60) as connection:
        connection.sendall(request_of(queue, secret, wait_ms))
        yield connection


def request_of(queue: str, secret: str, wait_ms: int = 0) -> bytes:
    lines = [
        f"DELETE {path(queue)}?wait={wait_ms} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {secret}",
        "ibm-mq-rest-csrf-token: x",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(("is_reset", "size"), [(False, 10), (True, 10), (False, 200_000)])
def test_no_message_is_lost_to_clients_that_go_at_once(
    console: Console, otto: httpx.Client, queue: str, is_reset: bool, size: int
) -> None:
    bodies = [f"message {number}".ljust(size, ".") for number in range(30)]
    for body in bodies:
        put(otto, queue, body)
    secret = console.shell.out("console", "token", "add", "otto").strip()

    for _ in range(20):
        with asked(console, queue, secret=secret) as connection:
            if is_reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # Each message that a get has taken meanwhile is back when it can be got again.
    found = [otto.delete(path(queue), params={"wait": 10_000}).text for _ in bodies]

    assert sorted(found) == sorted(bodies)
    assert otto.delete(path(queue)).status_code == 204


@pytest.mark.parametrize("size", [40_000, 4_000_000])
def test_a_get_is_committed_when_its_client_has_taken_the_message(
    console: Console, otto: httpx.Client, queue: str, size: int
) -> None:
    put(otto, queue, "x" * size)
    with socket.socket() as connection:
        # The rest of the message waits in the console, or in its system, until the client reads.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        place = urlsplit(console.url)
        connection.connect((str(place.hostname), place.port or 0))
        connection.sendall(request_of(queue, console.shell.out("console", "token", "add", "otto").strip()))
        assert connection.recv(12) == b"HTTP/1.1 200"
        assert otto.get(path(queue)).status_code == 204
        assert row_of(console, queue)["uncommitted"] == 1

    # The client has gone, and the message is on its queue again.
    assert len(otto.delete(path(queue), params={"wait": 30_000}).text) == size
    until(lambda: not row_of(console, queue)["uncommitted"], "the get is committed", 60, pause_s=0.2)


def row_of(console: Console, queue: str) -> dict[str, int]:
    (row,) = [each for each in console.shell.status()["queues"] if each["name"] == queue]
    return dict(row)


def test_a_message_whose_client_has_gone_stays(console: Console, otto: httpx.Client, queue: str) -> None:
    with asked(console, queue, 60_000):
        # The get waits by now, or will; in both cases nobody is there to take the answer.
        pass
    put(otto, queue, "kept")

    assert otto.delete(path(queue), params={"wait": 30_000}).text == "kept"


def test_a_stop_of_a_manager_does_not_wait_for_idle_connections(console: Console, otto: httpx.Client) -> None:
    shell = console.shell
    third = shell.start_manager("QM3")
    shell.out("mqsc", "QM3", "-c", "DEFINE QLOCAL(REST.OF.QM3)")
    assert otto.post(path("REST.OF.QM3", qmgr="QM3"), content=b"x", headers=TEXT).status_code == 201
    assert "has stopped" in shell.out("qmgr", "stop", "QM3", "--timeout", "20")
    assert third.wait() == 0
    lines = "\n".join(third.lines)
    assert "recovery" not in lines
    answer = otto.get(path("REST.OF.QM3", qmgr="QM3"))
    assert (answer.status_code, error_of(answer)["reasonCode"]) == (503, 2059)
