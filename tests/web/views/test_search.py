"""A search in the messages of a queue, and the download of messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from igq.web.console.views import search as view
from igq.web.console.views.queue import PAGE
from igq.web.console.views.search import VISITED
from tests.support.console import Console

QUEUE = "SEARCHED"


@pytest.fixture(scope="module", autouse=True)
def _messages(console: Console) -> None:
    """Thirty numbers, one with properties, one with a CorrelId, one of other bytes."""
    shell = console.shell
    shell.out("mqsc", "QM1", "-c", f"DEFINE QLOCAL({QUEUE}) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    shell.out("put", "QM1", QUEUE, *(f"order {number}" for number in range(30)))
    shell.out("put", "QM1", QUEUE, "Grüße", "--correl-id", "wanted")
    with console.program("otto") as otto:
        where = f"/ibmmq/rest/v3/messaging/qmgr/QM1/queue/{QUEUE}/message"
        headers = {"Content-Type": "text/plain", "ibm-mq-usr": "colour;red;string, size;7;i4"}
        assert otto.post(where, content="with properties", headers=headers).status_code == 201


def step(client: httpx.Client, kind: str, text: str, start: str = "") -> dict[str, Any]:
    asked = {"queue": QUEUE, "kind": kind, "text": text, "from": start}
    answer = client.get("/console/api/queue/search", params=asked)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def found(client: httpx.Client, kind: str, text: str) -> list[str]:
    bodies: list[str] = []
    start: str | None = ""
    while start is not None:
        told = step(client, kind, text, start)
        bodies += [each["preview"] for each in told["messages"]]
        start = told["next"]
    return bodies


def test_messages_are_found_by_text_property_and_identifier(console: Console) -> None:
    with console.signed_in("vera") as vera:
        assert found(vera, "text", "ORDER 7") == ["order 7"]
        assert found(vera, "text", "order 1") == ["order 1", *(f"order {number}" for number in range(10, 20))]
        assert found(vera, "text", "GRÜSSE") == ["Grüße"]
        assert found(vera, "text", "colour") == ["with properties"]
        assert found(vera, "property", "colour=red") == found(vera, "property", "size") == ["with properties"]
        assert found(vera, "property", "colour=blue") == found(vera, "property", "red") == []
        assert found(vera, "correl_id", "wanted") == ["Grüße"]
        (message,) = step(vera, "correl_id", "wanted")["messages"]
        assert found(vera, "msg_id", message["msg_id"]) == ["Grüße"]
        assert found(vera, "msg_id", "0" * 47 + "1") == found(vera, "group_id", "none") == []


def test_a_step_finds_no_more_than_a_page(console: Console) -> None:
    with console.signed_in("vera") as vera:
        first = step(vera, "text", "order")
        assert len(first["messages"]) == PAGE
        second = step(vera, "text", "order", first["next"])
        assert (len(second["messages"]), second["next"]) == (30 - PAGE, None)
        assert first["visited"] + second["visited"] == 32


def test_a_step_looks_at_no_more_than_its_bound(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    assert VISITED == 2_000
    settings = console_settings(console, monkeypatch)
    monkeypatch.setattr(view, "VISITED", 10)
    first = view.search(settings, QUEUE, "", "text", "nothing", None)
    assert (first["messages"], first["visited"]) == ([], 10)
    monkeypatch.setattr(view, "VISITED_BYTES", 1)
    assert view.search(settings, QUEUE, "", "text", "nothing", None)["visited"] == 1


def console_settings(console: Console, monkeypatch: pytest.MonkeyPatch) -> Any:
    from sharedq.settings.loader import load_settings

    for name, value in console.shell.environment.items():
        if name.startswith("IGQ_"):
            monkeypatch.setenv(name, value)
    return load_settings()


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"queue": QUEUE}, 400),
        ({"queue": QUEUE, "kind": "body", "text": "x"}, 400),
        ({"queue": QUEUE, "kind": "text", "text": "x" * 1_001}, 400),
        ({"queue": QUEUE, "kind": "msg_id", "text": "x" * 25}, 400),
        ({"queue": QUEUE, "kind": "text", "text": "x", "from": "here"}, 400),
        ({"queue": "NOT.THERE", "kind": "text", "text": "x"}, 404),
    ],
)
def test_a_search_that_cannot_be_is_refused(console: Console, asked: dict[str, str], status: int) -> None:
    with console.signed_in("vera") as vera:
        assert vera.get("/console/api/queue/search", params=asked).status_code == status


def test_one_message_is_downloaded_as_its_data(console: Console) -> None:
    with console.signed_in("vera") as vera:
        (message,) = step(vera, "correl_id", "wanted")["messages"]
        answer = vera.get("/console/api/queue/download", params={"queue": QUEUE, "at": message["at"]})
    assert answer.content == "Grüße".encode()
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{QUEUE}-{message["msg_id"]}.bin"'
    assert "vera" in console.logged(f"download 1 of {QUEUE}: done")


def test_a_selection_is_downloaded_as_a_file_that_igq_load_reads(console: Console, tmp_path: Path) -> None:
    with console.signed_in("vera") as vera:
        chosen = step(vera, "text", "order 1")["messages"][:3]
        asked = {"queue": QUEUE, "at": [each["at"] for each in chosen]}
        answer = vera.get("/console/api/queue/download", params=asked)
    assert answer.headers["content-disposition"] == f'attachment; filename="{QUEUE}.unload"'
    path = tmp_path / "chosen"
    path.write_bytes(answer.content)
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(LOADED)")
    console.shell.out("load", str(path), "LOADED", "-m", "QM1")
    assert console.shell.out("get", "QM1", "LOADED", "--wait", "0") == "order 1\norder 10\norder 11\n"


def test_a_download_of_nothing_or_of_too_much_is_refused(console: Console) -> None:
    with console.signed_in("vera") as vera:
        for places, status in (([], 400), (["x"], 400), (["[0, 1]"] * 201, 400), (["[0, 1]"], 404), (["[9, 1]"], 404)):
            asked = {"queue": QUEUE, "at": places}
            assert vera.get("/console/api/queue/download", params=asked).status_code == status
