"""MQSC commands by REST: as text and as JSON, for each role."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.console import Console


def run(client: httpx.Client, body: Any, qmgr: str = "QM1", version: str = "v3") -> httpx.Response:
    return client.post(f"/ibmmq/rest/{version}/admin/action/qmgr/{qmgr}/mqsc", json=body)


def text(client: httpx.Client, command: str, version: str = "v3") -> dict[str, Any]:
    answer = run(client, {"type": "runCommand", "parameters": {"command": command}}, version=version)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def as_json(client: httpx.Client, command: str, qualifier: str, name: str = "", **more: Any) -> dict[str, Any]:
    body = {"type": "runCommandJSON", "command": command, "qualifier": qualifier, **more}
    answer = run(client, body | ({"name": name} if name else {}))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_command_is_run_as_text(console: Console) -> None:
    with console.program("anna") as anna:
        for version in ("v1", "v2", "v3"):
            told = text(anna, f"DEFINE QLOCAL(AS.TEXT.{version}) DESCR('It''s')", version)
            assert (told["overallCompletionCode"], told["overallReasonCode"]) == (0, 0)
        told = text(anna, "DISPLAY QLOCAL(AS.TEXT.V3) DESCR MAXDEPTH")
        (response,) = told["commandResponse"]
        assert response["text"][0] == "CSQM201I: DISPLAY QLOCAL details."
        assert any("DESCR(It's)" in line for line in response["text"])
        logged = console.logged("DESCR MAXDEPTH: done")
        assert "anna at 127.0.0.1: QM1: DISPLAY QLOCAL(AS.TEXT.V3) DESCR MAXDEPTH: done" in logged
        # The manager logs it, too, as it does for igq mqsc.
        console.shell.running[0].wait_for(
            "command of anna at 127.0.0.1: DISPLAY QLOCAL(AS.TEXT.V3) DESCR MAXDEPTH: done"
        )
        several = text(anna, "DISPLAY QMGR\nDEFINE NONSENSE(X)\nDISPLAY QLOCAL(NOT.THERE)\nDISPLAY QLOCAL(NOT.*)")
        codes = [(each["completionCode"], each["reasonCode"]) for each in several["commandResponse"]]
        assert codes == [(0, 0), (2, 3008), (2, 2085), (2, 2085)]
        assert (several["overallCompletionCode"], several["overallReasonCode"]) == (2, 3008)


def test_a_command_is_run_as_json(console: Console) -> None:
    hostile = "a) MAXDEPTH(7) '<b>&\""
    with console.program("anna") as anna:
        attributes = {"descr": hostile, "maxdepth": 9, "get": "disabled"}
        told = as_json(anna, "define", "qlocal", "AS.JSON", parameters=attributes)
        assert told == {
            "commandResponse": [{"completionCode": 0, "reasonCode": 0}],
            "overallCompletionCode": 0,
            "overallReasonCode": 0,
        }
        told = as_json(anna, "display", "qlocal", "AS.JSON", responseParameters=["all"])
        (response,) = told["commandResponse"]
        found = response["parameters"]
        assert (found["queue"], found["descr"], found["maxdepth"], found["get"]) == ("AS.JSON", hostile, 9, "DISABLED")
        told = as_json(anna, "display", "queue", "AS.J*", responseParameters=["curdepth"])
        assert told["commandResponse"][0]["parameters"]["curdepth"] == 0
        again = as_json(anna, "define", "qlocal", "AS.JSON", parameters={"replace": "yes", "maxdepth": 10})
        assert again["overallCompletionCode"] == 0
        taken = as_json(anna, "define", "qlocal", "AS.JSON")
        assert taken["commandResponse"][0]["completionCode"] == 2
        assert "already exists" in taken["commandResponse"][0]["message"][0]
        only = as_json(anna, "display", "qlocal", "*", parameters={"where": "maxdepth eq 10"})
        assert [each["parameters"]["queue"] for each in only["commandResponse"]] == ["AS.JSON"]
        nothing = as_json(anna, "display", "qlocal", "NOT.*")
        assert nothing["commandResponse"][0]["reasonCode"] == 2085
        assert as_json(anna, "delete", "qlocal", "AS.JSON", parameters={"purge": "yes"})["overallCompletionCode"] == 0


def test_lists_are_lists(console: Console) -> None:
    with console.program("anna") as anna:
        for name, names in (("AS.NONE", []), ("AS.LIST", ["ONE", "TWO"])):
            more = {"parameters": {"names": names}} if names else {}
            assert as_json(anna, "define", "namelist", name, **more)["overallCompletionCode"] == 0
            (response,) = as_json(anna, "display", "namelist", name)["commandResponse"]
            found = response["parameters"]
            assert (found["namelist"], found["names"], found["namcount"]) == (name, names, len(names))
        record = {"profile": "AS.LIST", "objtype": "topic", "principal": "anna"}
        assert (
            as_json(anna, "set", "authrec", parameters=record | {"authadd": ["pub", "sub"]})["overallCompletionCode"]
            == 0
        )
        (response,) = as_json(anna, "display", "authrec", parameters={"profile": "AS.LIST"})["commandResponse"]
        assert response["parameters"]["authlist"] == ["PUB", "SUB"]
        assert as_json(anna, "delete", "authrec", parameters=record)["overallCompletionCode"] == 0


def test_values_are_those_that_mqsc_shows(console: Console) -> None:
    with console.program("anna") as anna:
        as_json(anna, "define", "qlocal", "WORDS", parameters={"capexpry": "nolimit", "boqname": "A"})
        as_json(anna, "define", "qlocal", "WORDS.2", parameters={"capexpry": 50})
        wanted = ["capexpry", "maxdepth", "curdepth"]
        (shown,) = as_json(anna, "display", "qlocal", "WORDS", responseParameters=wanted)["commandResponse"]
        assert {each: shown["parameters"][each] for each in wanted} == {
            "capexpry": "NOLIMIT",
            "maxdepth": 999_999_999,
            "curdepth": 0,
        }
        for where in ("boqname ne ' '", "boqname eq 'A'", "capexpry eq nolimit"):
            found = as_json(anna, "display", "qlocal", "WORDS*", parameters={"where": where})["commandResponse"]
            assert [each["parameters"]["queue"] for each in found] == ["WORDS"]


def test_the_root_of_the_topic_tree_has_a_name(console: Console) -> None:
    with console.program("anna") as anna:
        body = {"type": "runCommandJSON", "command": "display", "qualifier": "tpstatus", "name": ""}
        (root,) = run(anna, body).json()["commandResponse"]
        assert root["parameters"]["admin"] == "SYSTEM.BASE.TOPIC"
        del body["name"]
        assert run(anna, body).status_code == 400


def test_a_command_that_is_partly_done_has_the_reason_of_what_is_not(console: Console) -> None:
    with console.program("anna") as anna:
        assert text(anna, "DEFINE QLOCAL(MOVED)")["overallCompletionCode"] == 0
        for told in (
            text(anna, "MOVE QLOCAL(MOVED) TOQLOCAL(NOWHERE)"),
            as_json(anna, "move", "qlocal", "MOVED", parameters={"toqlocal": "NOWHERE"}),
            text(anna, "ALTER QLOCAL(NOWHERE) DESCR('x') CMDSCOPE(*)"),
            text(anna, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(QM1.00000000)"),
        ):
            (response,) = told["commandResponse"]
            assert (response["completionCode"], response["reasonCode"]) == (2, 2085)
            assert (told["overallCompletionCode"], told["overallReasonCode"]) == (2, 3008)


def test_json_names_cannot_become_other_commands(console: Console) -> None:
    with console.program("vera") as vera:
        for name in ("X) ; DELETE QLOCAL(Y)", "X\nDELETE QLOCAL(Y)", "'", ""):
            answer = run(vera, {"type": "runCommandJSON", "command": "display", "qualifier": "qlocal", "name": name})
            assert answer.status_code in (200, 400)
            if answer.status_code == 200:
                assert answer.json()["commandResponse"][0]["reasonCode"] == 2085


AUTHREC = "AUTHREC PROFILE('X') OBJTYPE(QUEUE) PRINCIPAL('x')"


@pytest.mark.parametrize(
    ("command", "least"),
    [
        ("DISPLAY QMGR", 1),
        ("CLEAR QLOCAL(ROLES)", 2),
        ("RESOLVE INDOUBT(*) ACTION(COMMIT)", 2),
        ("ALTER QMGR DESCR('x')", 3),
        ("DEFINE QLOCAL(ROLES) REPLACE", 3),
        (f"SET {AUTHREC} AUTHADD(NONE)", 3),
        (f"DELETE {AUTHREC}", 3),
    ],
)
def test_a_command_needs_its_role(console: Console, command: str, least: int) -> None:
    with console.program("anna") as anna:
        text(anna, "DEFINE QLOCAL(ROLES) REPLACE")
    for rank, user in enumerate(("vera", "otto", "anna"), start=1):
        with console.program(user) as client:
            (response,) = text(client, command)["commandResponse"]
        assert (response["reasonCode"] == 2035) == (rank < least), response


@pytest.mark.parametrize(
    "body",
    [
        *(
            [],
            "x",
            None,
            {},
            {"type": "x"},
            {"type": "runCommand"},
            {"type": "runCommand", "parameters": {"command": 1}},
        ),
        {"type": "runCommand", "parameters": {"command": " "}},
        {"type": "runCommandJSON", "command": "display"},
        {"type": "runCommandJSON", "command": "explode", "qualifier": "qlocal", "name": "X"},
        {"type": "runCommandJSON", "command": "display", "qualifier": "group"},
        {"type": "runCommandJSON", "command": "display", "qualifier": "qmgr", "name": "X"},
        {"type": "runCommandJSON", "command": "display", "qualifier": "qlocal", "name": ["X"]},
        {"type": "runCommandJSON", "command": "display", "qualifier": "qlocal", "name": "X", "parameters": []},
        {"type": "runCommandJSON", "command": "display", "qualifier": "qlocal", "name": "X", "responseParameters": [1]},
        {"type": "runCommandJSON", "command": "display", "qualifier": "qlocal", "name": "X", "parameters": {"a": {}}},
        {"type": "runCommandJSON", "command": "display", "qualifier": "qlocal", "name": "X", "extra": 1},
    ],
)
def test_a_body_that_is_no_command_is_refused(console: Console, body: Any) -> None:
    with console.program("anna") as anna:
        answer = run(anna, body)

    assert (answer.status_code, answer.json()["error"][0]["msgId"]) == (400, "IGQB0002E")


def test_a_manager_that_does_not_run_is_not_found(console: Console) -> None:
    with console.program("anna") as anna:
        for qmgr in ("NONE", "QSG1", "<script>"):
            answer = run(anna, {"type": "runCommand", "parameters": {"command": "DISPLAY QMGR"}}, qmgr)
            assert answer.status_code == 404
            assert answer.json()["error"][0]["msgId"] == "MQWB0009E"
