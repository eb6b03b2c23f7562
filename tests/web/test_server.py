"""The server: headers of its answers, limits for clients, TLS, and the console of a manager."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from igq.web.http import connections, limits
from tests.cli.conftest import Running, Shell
from tests.support.certificates import new_certificate
from tests.support.console import PASSWORD, Console, add_users
from tests.support.topologies import free_ports


def raw(console: Console) -> socket.socket:
    place = urlsplit(console.url)
    assert place.hostname
    return socket.create_connection((place.hostname, place.port or 0), timeout=120)


@pytest.mark.parametrize(
    "path",
    ["/", "/console/", "/console/api/me", "/console/static/console.js", "/nothing", "/console/static/../pages.py"],
)
def test_every_answer_carries_the_headers_that_protect_it(anonymous: httpx.Client, path: str) -> None:
    answer = anonymous.get(path)

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] in ("no-store", "no-cache")
    assert "server" not in answer.headers


def test_the_page_has_no_script_or_style_of_its_own_and_asks_no_other_host(anonymous: httpx.Client) -> None:
    page = anonymous.get("/console/").text
    texts = [page, *(path.read_text("utf-8") for path in Path("igq/web/console/static").rglob("*.*"))]

    assert "<style" not in page
    assert page.count("<script") == 1
    assert " style=" not in page
    assert not [text for text in texts if "https://" in text]
    assert not [text for text in texts if "innerHTML" in text]


def test_a_body_that_is_too_long_is_refused(console: Console) -> None:
    with console.signed_in("vera") as client:
        headers = {"Content-Type": "application/json"}
        told = client.post("/console/api/sign-in", content=b"x" * (limits.LONGEST_BODY + 1), headers=headers)
        assert told.status_code == 413
        # Without its length, as a program may send it.
        pieces = (b"x" * 65_536 for _ in range(2 + limits.LONGEST_BODY // 65_536))
        assert client.post("/console/api/sign-in", content=pieces, headers=headers).status_code == 413
        assert client.get("/console/api/me").status_code == 200


@pytest.mark.parametrize("is_length_told", [True, False])
def test_a_client_sees_the_refusal_although_it_still_sends(console: Console, is_length_told: bool) -> None:
    """Its connection is not closed before it has sent all, or its system would drop the answer."""
    piece = b"x" * 65_536
    pieces = 2 + limits.LONGEST_BODY // len(piece)
    told = b"Content-Length: %d" % (pieces * len(piece)) if is_length_told else b"Transfer-Encoding: chunked"
    head = b"POST /console/api/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    before, after = (b"", b"") if is_length_told else (b"%x\r\n" % len(piece), b"\r\n")
    with raw(console) as connection:
        connection.sendall(head + told + b"\r\n\r\n")
        if not is_length_told:
            for _ in range(pieces):
                connection.sendall(before + piece + after)
        assert connection.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 413"
        for _ in range(pieces):
            connection.sendall(before + piece + after)
        connection.sendall(b"" if is_length_told else b"0\r\n\r\n")
        assert read_all(connection).endswith(b"the body is too long")


@pytest.mark.slow
def test_a_client_that_sends_too_slowly_is_sent_away(console: Console) -> None:
    with raw(console) as headers, raw(console) as second, raw(console) as body:
        headers.sendall(b"GET /console/ HTTP/1.1\r\nHost: x\r\nX-Long: ")
        second.sendall(b"GET /console/api/me HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n")
        begun = b"POST /console/api/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        body.sendall(begun + b"Content-Length: 9\r\n\r\n{")
        assert read_all(headers) == b""
        assert read_all(second).startswith(b"HTTP/1.1 401 ")
        assert read_all(body).startswith(b"HTTP/1.1 408 ")


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    pieces = []
    try:
        while piece := connection.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


SIGN_IN = b"POST /console/api/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def test_one_client_that_holds_many_connections_shuts_out_nobody(console: Console) -> None:
    with ExitStack() as held:
        slow = [held.enter_context(raw(console)) for _ in range(connections.PER_ADDRESS)]
        for each in slow:
            each.sendall(SIGN_IN + b"Content-Length: 4000\r\n\r\n{")
        with httpx.Client(base_url=console.url, timeout=60) as client:
            assert client.get("/console/").status_code == 200
        # The oldest has made room.
        assert read_all(slow[0]) == b""


@pytest.mark.slow
def test_a_body_has_a_time_as_a_whole(console: Console) -> None:
    with raw(console) as connection:
        connection.sendall(SIGN_IN + b"Content-Length: 4000\r\n\r\n{")
        connection.settimeout(1)
        answer = b""
        while not answer:
            with suppress(TimeoutError):
                answer = connection.recv(65_536)
            with suppress(OSError):
                connection.sendall(b" ")
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_nobody_sends_a_long_body_before_signing_in(console: Console) -> None:
    body = b'{"user": "vera", "password": "' + PASSWORD.encode() + b'"}'
    headers = {"Content-Type": "application/json"}
    with httpx.Client(base_url=console.url, timeout=60) as client:
        padded = body.ljust(limits.SHORT_BODY)
        assert client.post("/console/api/sign-in", content=padded, headers=headers).status_code == 200
        assert client.post("/console/api/sign-in", content=padded + b" ", headers=headers).status_code == 413
        login = "/ibmmq/rest/v3/login"
        assert client.post(login, content=(b" " for _ in range(9_000)), headers=headers).status_code == 413


def test_a_body_that_nobody_reads_ends_the_connection(console: Console) -> None:
    """Nor is more of it taken than a client may need to send before it sees its answer."""
    with raw(console) as connection:
        connection.sendall(b"POST /console/api/me HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n")
        sent = 0
        with suppress(OSError):
            while True:
                sent += connection.send(b"x" * 65_536)
        assert sent < 4 * limits.REST_BYTES


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1\r\nHost: x\r\nContent-Length: 44\r\nTransfer-Encoding: chunked",
        b"HTTP/1.0\r\nTransfer-Encoding: chunked",
    ],
)
@pytest.mark.parametrize("target", [b"POST /console/api/sign-in", b"GET /console/", b"DELETE /nothing"])
def test_a_body_with_two_lengths_ends_the_connection(console: Console, target: bytes, head: bytes) -> None:
    with raw(console) as connection:
        connection.sendall(target + b" " + head + b"\r\n\r\n0\r\n\r\nGET /console/ HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


#: Requests that are not ended, or end in rubbish, or whose answers nobody takes.
BROKEN = (
    SIGN_IN + b"Content-Length: 100\r\n\r\n{",
    SIGN_IN + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\nrubbish",
    b"GET /console/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\nrubbish\r\n\r\n",
    b"POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nrubbish",
    b"GET /console/api/me HTTP/1.1\r\nHost: x\r\n\r\n\0\0",
    b"GET /console/static/console.js HTTP/1.1\r\nHost: x\r\n\r\n" * 50,
)


def test_a_client_that_goes_leaves_no_traceback(console: Console) -> None:
    with Console.start(console.shell) as own:
        for sent in BROKEN * 3:
            with raw(own) as connection:
                connection.sendall(sent)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with raw(own) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                read_all(connection)
        assert httpx.get(f"{own.url}/console/").status_code == 200
        own.running.end()
        assert not [line for line in own.running.lines if "Traceback" in line or "rror" in line]


def test_bytes_that_are_no_http_end_only_their_connection(console: Console) -> None:
    for data in (
        b"\x16\x03\x01\x00\xa5",
        b"GET\r\n\r\n",
        b"X" * 100_000,
        b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000 + b"\r\n\r\n",
    ):
        with raw(console) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            assert b" 200 " not in read_all(connection)
    assert httpx.get(f"{console.url}/console/").status_code == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost with its key, both in one folder."""
    folder = tmp_path_factory.mktemp("tls")
    new_certificate(folder)
    return folder


def tls_settings(certificate: Path) -> dict[str, str]:
    names = {"IGQ_CONSOLE_CERTIFICATE": "server.pem", "IGQ_CONSOLE_KEY": "server.key"}
    return {name: str(certificate / file) for name, file in names.items()}


def test_with_a_certificate_the_console_speaks_tls(console: Console, certificate: Path) -> None:
    shell = Shell(console.shell.environment | tls_settings(certificate))
    context = ssl.create_default_context(cafile=str(certificate / "server.pem"))
    try:
        with Console.start(shell) as own, httpx.Client(base_url=own.url, verify=context, timeout=60) as client:
            assert own.url.startswith("https://")
            answer = client.post("/console/api/sign-in", json={"user": "vera", "password": PASSWORD})
            assert "Secure" in answer.headers["set-cookie"]
            assert "max-age" in answer.headers["strict-transport-security"]
            assert client.get("/console/api/me").json()["user"] == "vera"
    finally:
        shell.close()


@pytest.mark.slow
def test_a_client_that_never_begins_tls_is_sent_away(console: Console, certificate: Path) -> None:
    shell = Shell(console.shell.environment | tls_settings(certificate))
    context = ssl.create_default_context(cafile=str(certificate / "server.pem"))
    try:
        with Console.start(shell) as own, ExitStack() as held:
            silent = [held.enter_context(raw(own)) for _ in range(connections.PER_ADDRESS + 5)]
            with raw(own) as rubbish:
                rubbish.sendall(b"GET / HTTP/1.1\r\n\r\n")
                read_all(rubbish)
            assert httpx.get(f"{own.url}/console/", verify=context, timeout=60).status_code == 200
            assert [read_all(each) for each in silent] == [b""] * len(silent)
            own.running.end()
            assert not [line for line in own.running.lines if "Traceback" in line]
    finally:
        shell.close()


def test_a_certificate_that_cannot_be_used_is_told_in_one_line(console: Console, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing", "utf-8")
    for settings in (
        {"IGQ_CONSOLE_CERTIFICATE": str(broken)},
        {"IGQ_CONSOLE_CERTIFICATE": "/no/such/file"},
        {"IGQ_CONSOLE_KEY": str(broken)},
    ):
        done = console.shell.run("console", "--listen", "0", **settings)
        assert done.returncode == 1
        assert done.stderr.startswith("igq: ")
        assert done.stderr.count("\n") == 1


def console_of(manager: Running) -> int:
    """The process id of a manager's console."""
    (found,) = [
        int(pid)
        for task in Path(f"/proc/{manager.process.pid}/task").iterdir()
        for pid in (task / "children").read_text("ascii").split()
        if b"console" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    ]
    return found


def test_a_manager_serves_the_console_and_outlives_it(shell: Shell) -> None:
    port = free_ports(1)[0]
    shell.environment["IGQ_CONSOLE_PORT"] = str(port)
    add_users(shell)
    manager = shell.start_manager("QM1")
    manager.wait_for("IGQ0101I")
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=url, timeout=60, auth=("vera", PASSWORD)) as client:
        assert client.get("/console/api/me").json()["user"] == "vera"

    os.kill(console_of(manager), signal.SIGKILL)

    manager.wait_for("IGQ0102E")
    manager.wait_for("IGQ0101I", 2)
    assert httpx.get(f"{url}/console/").status_code == 200
    assert shell.manager("QM1")["state"] == "RUNNING"
    assert manager.end() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/console/")


def test_the_console_dies_with_a_killed_manager_and_another_takes_over(shell: Shell) -> None:
    shell.environment["IGQ_CONSOLE_PORT"] = str(port := free_ports(1)[0])
    first = shell.start_manager("QM1")
    first.wait_for("IGQ0101I")
    second = shell.start_manager("QM2")
    assert "Address already in use" in second.wait_for("IGQ0107I")

    first.end(signal.SIGKILL)

    second.wait_for("IGQ0101I")
    assert httpx.get(f"http://127.0.0.1:{port}/console/").status_code == 200


@pytest.mark.share
def test_a_browser_hears_of_the_group_and_of_its_queues(console: Console) -> None:
    with console.signed_in("vera") as client, client.stream("GET", "/console/api/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = parsed(stream)
        topics = dict([next(events), next(events)])
        assert [each["name"] for each in topics["group"]["managers"]] == ["QM1", "QM2"]
        assert topics["queues"]["whole"]
        console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(HEARD)")
        heard = (data["rows"] for topic, data in events if topic == "queues")
        assert any(row["name"] == "HEARD" for rows in heard for row in rows)


def parsed(stream: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Topics and data of events, as they come."""
    topic = ""
    for line in stream.iter_lines():
        if line.startswith("event: "):
            topic = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield topic, json.loads(line.removeprefix("data: "))
