"""The actions of the console: which role may do which, the commands that they give, and the questions before them."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import httpx
import pytest

from igq.web.access.roles import least_role
from igq.web.access.users import Role
from igq.web.console.actions.table import ACTIONS
from tests.support.browser import HOSTILE
from tests.support.console import USERS, Console
from tests.support.scenes import until
from tests.web.views.conftest import act, done, planned

_NUMBERS = count(1)


def mqsc(console: Console, *commands: str, qmgr: str = "QM1") -> str:
    return console.shell.out("mqsc", qmgr, *(word for each in commands for word in ("-c", each)))


@pytest.fixture
def queue(console: Console) -> str:
    """A private queue of QM1 with two messages."""
    name = f"ACTED.{next(_NUMBERS)}"
    mqsc(console, f"DEFINE QLOCAL({name}) MAXDEPTH(100)")
    console.shell.out("put", "QM1", name, "one", "two")
    return name


def fields(client: httpx.Client, action: str, /, **asked: Any) -> dict[str, dict[str, Any]]:
    answer = act(client, action, "form", **asked)
    assert answer.status_code == 200, answer.text
    return {each["name"]: each for each in answer.json()["fields"]}


def test_an_action_is_offered_and_done_for_its_roles_only(console: Console, role: str) -> None:
    rank = Role[USERS[role].upper()]
    with console.signed_in(role) as client:
        offered = [each["name"] for each in client.get("/console/api/me").json()["actions"]]
        assert offered == [name for name, each in ACTIONS.items() if rank >= each.role]
        for name, action in ACTIONS.items():
            for what in ("form", "plan", "run"):
                # The subject of the action is missing, so it does nothing in any case.
                status = act(client, name, what).status_code
                assert (status == 403) == (rank < action.role), (name, what, status)
        client.headers["ibm-mq-rest-csrf-token"] = "guess"
        assert {act(client, name).status_code for name in ACTIONS} == {403}


def test_a_viewer_has_no_action_and_each_has_the_role_of_its_verb(console: Console, queue: str) -> None:
    assert min(each.role for each in ACTIONS.values()) == Role.OPERATOR
    verbs = {"define": "DEFINE", "alter": "ALTER", "delete": "DELETE", "clear": "CLEAR", "stop-agent": "ALTER"}
    for name, verb in verbs.items():
        assert ACTIONS[name].role == least_role(verb)
    with console.signed_in("vera") as vera:
        assert vera.get("/console/api/me").json()["actions"] == []
        assert act(vera, "clear", qmgr="QM1", queue=queue).status_code == 403
    assert "CURDEPTH(2)" in mqsc(console, f"DISPLAY QLOCAL({queue}) CURDEPTH")


def test_a_queue_is_defined_altered_and_deleted_by_forms(console: Console) -> None:
    description = f"it's {HOSTILE}"[:64]
    with console.signed_in("anna") as anna:
        form = fields(anna, "define")
        assert form["qmgr"]["choices"] == ["QM1", "QM2"]
        assert form["MAXDEPTH"]["help"] == "Maximum depth: a number from 0 to 999999999. Default: 999999999."
        assert not form["MAXDEPTH"]["is_further"]
        assert "No effect here" in form["STGCLASS"]["help"]
        asked = {"queue": "BY.FORM", "qmgr": "QM2", "disposition": "QMGR", "structure": ""}
        attributes = {"DESCR": description, "MAXDEPTH": "7", "GET": "", "SHARE": "NOSHARE"}
        text, question = planned(anna, "define", **asked, attributes=attributes)
        assert question == ""
        quoted = description.replace("'", "''")
        assert text == f"DEFINE QLOCAL(BY.FORM) DESCR('{quoted}') MAXDEPTH(7) NOSHARE"
        done(anna, "define", **asked, attributes=attributes)
        assert "anna" in console.logged("QM2: DEFINE QLOCAL(BY.FORM)")

        form = fields(anna, "alter", qmgr="QM2", queue="BY.FORM")
        assert (form["DESCR"]["value"], form["SHARE"]["value"], form["GET"]["value"]) == (
            description,
            "NOSHARE",
            "ENABLED",
        )
        values = {each["name"]: each["value"] for each in form.values()}
        same = {"qmgr": "QM2", "queue": "BY.FORM"}
        assert act(anna, "alter", "plan", **same, attributes=values).status_code == 400
        changed = values | {"GET": "DISABLED", "SHARE": "SHARE"}
        text, _ = planned(anna, "alter", **same, attributes=changed)
        assert sorted(text.split()) == sorted(["ALTER", "QLOCAL(BY.FORM)", "GET(DISABLED)", "SHARE"])
        done(anna, "alter", **same, attributes=changed)
        shown = mqsc(console, "DISPLAY QLOCAL(BY.FORM) GET SHARE DESCR", qmgr="QM2")
        assert all(each in shown for each in ("GET(DISABLED)", "SHARE", "MAXDEPTH") if each != "MAXDEPTH")
        (refused,) = act(anna, "alter", **same, attributes=values | {"MAXDEPTH": "many"}).json()["answers"]
        assert not refused["is_done"]

        text, question = planned(anna, "delete", **same, purge="NO")
        assert (text, question) == ("DELETE QLOCAL(BY.FORM)", "DELETE BY.FORM: the queue is deleted")
        done(anna, "delete", **same, purge="NO")
        assert "CSQM297I" in mqsc(console, "DISPLAY QLOCAL(BY.F*)", qmgr="QM2")


def test_the_question_before_a_loss_names_the_messages(console: Console, queue: str) -> None:
    with console.signed_in("anna") as anna:
        place = {"qmgr": "QM1", "queue": queue}
        assert planned(anna, "clear", **place) == (f"CLEAR QLOCAL({queue})", f"CLEAR {queue}: 2 messages are deleted")
        text, question = planned(anna, "delete", **place, purge="YES")
        assert text == f"DELETE QLOCAL({queue}) PURGE"
        assert question == f"DELETE {queue}: the queue is deleted; 2 messages are deleted with it"
        done(anna, "clear", **place)
        assert planned(anna, "clear", **place)[1] == f"CLEAR {queue}: 0 messages are deleted"
        assert act(anna, "clear", "plan", qmgr="QM1", queue="NOT.THERE").status_code == 404


def test_a_shared_queue_is_cleared_at_any_manager_that_runs(console: Console) -> None:
    mqsc(console, "DEFINE QLOCAL(ACTED.SHARED) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    with console.signed_in("anna") as anna:
        done(anna, "put", queue="ACTED.SHARED", body="x")
        text, question = planned(anna, "clear", queue="ACTED.SHARED", qmgr="")
        assert text == "CLEAR QLOCAL(ACTED.SHARED) QSGDISP(SHARED)"
        assert question == "CLEAR ACTED.SHARED: 1 message is deleted"
        done(anna, "clear", queue="ACTED.SHARED")
        done(anna, "alter", queue="ACTED.SHARED", attributes={"MAXDEPTH": "5"})
        assert planned(anna, "delete", queue="ACTED.SHARED")[0] == "DELETE QLOCAL(ACTED.SHARED) QSGDISP(SHARED)"
        done(anna, "delete", queue="ACTED.SHARED")


def test_a_test_message_is_put_as_its_user(console: Console, queue: str) -> None:
    body = "it's\n$(a test) <b>"
    with console.signed_in("otto") as otto:
        asked = {"qmgr": "QM1", "queue": queue, "body": body, "persistent": "YES", "priority": "3"}
        text, question = planned(otto, "put", **asked)
        assert question == ""
        assert text.startswith(f"igq put QM1 {queue} --persistent --priority 3 -- ")
        assert done(otto, "put", **asked) == [f"1 message put on {queue}"]
        console.shell.running[0].wait_for(
            f"command of otto at 127.0.0.1: put QM1 {queue} --persistent --priority 3: done"
        )
        (found,) = [
            each
            for each in otto.get("/console/api/queue/messages", params={"queue": queue, "qmgr": "QM1"}).json()[
                "messages"
            ]
            if each["priority"] == 3
        ]
        assert (found["preview"], found["persistence"], found["user_identifier"]) == (body, 1, "otto")
        assert act(otto, "put", **asked | {"priority": "10"}).status_code == 400
        assert act(otto, "put", **asked | {"queue": "NOT.THERE"}).status_code == 404
        assert act(otto, "put", **asked | {"queue": "A\nB"}).status_code == 400


def test_messages_are_moved_all_or_as_chosen(console: Console, queue: str) -> None:
    target = f"{queue}.TO"
    mqsc(console, f"DEFINE QLOCAL({target})")
    with console.signed_in("otto") as otto:
        place = {"queue": queue, "qmgr": "QM1"}
        first, second = otto.get("/console/api/queue/messages", params=place).json()["messages"]
        places = [place | {"messages": {second["token"]: second["msg_id"]}}]
        text, _ = planned(otto, "move", places=places, target=target)
        assert text == f"igq dlq move QM1 --to {target} --queue {queue} --msg-id {second['msg_id']}"
        assert done(otto, "move", places=places, target=target) == ["1 done"]
        assert console.shell.out("get", "QM1", target, "--wait", "0") == "two\n"
        moved = {"qmgr": "QM1", "queue": queue, "target": target, "add": "YES"}
        assert planned(otto, "move-all", **moved)[0] == f"MOVE QLOCAL({queue}) TOQLOCAL({target}) TYPE(ADD)"
        done(otto, "move-all", **moved)
        assert console.shell.out("get", "QM1", target, "--wait", "0") == "one\n"
        assert first["token"] != second["token"]


def test_an_agent_is_stopped_and_started_by_an_administrator(console: Console) -> None:
    with console.signed_in("anna") as anna, console.signed_in("otto") as otto:
        assert act(otto, "stop-agent", qmgr="QM2").status_code == 403
        text, question = planned(anna, "stop-agent", qmgr="QM2")
        assert text == "ALTER QMGR IGQ(DISABLED)"
        assert "QM2" in question
        done(anna, "stop-agent", qmgr="QM2")
        assert "IGQ(DISABLED)" in mqsc(console, "DISPLAY QMGR IGQ", qmgr="QM2")
        assert planned(anna, "start-agent", qmgr="QM2") == ("ALTER QMGR IGQ(ENABLED)", "")
        done(anna, "start-agent", qmgr="QM2")
        assert "IGQ(ENABLED)" in mqsc(console, "DISPLAY QMGR IGQ", qmgr="QM2")


def test_a_manager_quiesces_by_a_button(console: Console) -> None:
    extra = console.shell.start_manager("QM3")
    with console.signed_in("otto") as otto:
        text, question = planned(otto, "quiesce", qmgr="QM3")
        assert text == "STOP QMGR MODE(QUIESCE)"
        assert question == "STOP QMGR: QM3 stops as soon as its programs have disconnected"
        done(otto, "quiesce", qmgr="QM3")
    extra.wait_for("CSQ3104I")
    console.shell.out("group", "remove", "QM3")


def test_topics_and_subscriptions_are_defined_and_deleted(console: Console) -> None:
    mqsc(console, "DEFINE QLOCAL(ACTED.SUB)")
    with console.signed_in("anna") as anna:
        done(anna, "define-topic", name="ACTED.TOPIC", attributes={"TOPICSTR": "a/<b>"})
        form = fields(anna, "alter-topic", name="ACTED.TOPIC")
        assert "TOPICSTR" not in form
        assert form["PUB"]["choices"] == ["ASPARENT", "DISABLED", "ENABLED"]
        text, _ = planned(anna, "alter-topic", name="ACTED.TOPIC", attributes={"PUB": "DISABLED"})
        assert text == "ALTER TOPIC(ACTED.TOPIC) PUB(DISABLED)"
        done(anna, "alter-topic", name="ACTED.TOPIC", attributes={"PUB": "DISABLED"})
        text, _ = planned(anna, "clear-retained", name="ACTED.TOPIC")
        assert text == "CLEAR TOPICSTR('a/<b>') CLRTYPE(RETAINED)"
        mqsc(console, "DEFINE SUB('acted <i>') TOPICSTR('a/<b>') DEST(ACTED.SUB)")
        found = anna.get("/console/api/topics").json()
        (topic,) = [each for each in found["topics"] if each["name"] == "ACTED.TOPIC"]
        assert (topic["topic_string"], topic["publish"], topic["subscribers"]) == ("a/<b>", "DISABLED", 1)
        (subscription,) = [each for each in found["subscriptions"] if each["name"] == "acted <i>"]
        assert (subscription["destination"], subscription["kind"]) == ("ACTED.SUB", "ADMIN")
        done(anna, "delete-subscription", number=subscription["number"])
        text, question = planned(anna, "delete-topic", name="ACTED.TOPIC")
        assert (text, question) == ("DELETE TOPIC(ACTED.TOPIC)", "DELETE ACTED.TOPIC: the TOPIC is deleted")
        done(anna, "delete-topic", name="ACTED.TOPIC")
        assert act(anna, "alter-topic", "form", name="ACTED.TOPIC").status_code == 404


def test_channels_and_listeners_are_started_and_stopped(console: Console) -> None:
    mqsc(console, "DEFINE CHANNEL(ACTED) CHLTYPE(SVRCONN)", "DEFINE LISTENER(ACTED) TRPTYPE(TCP) PORT(0)")
    with console.signed_in("otto") as otto:

        def stopped_at() -> list[str]:
            (found,) = [
                each for each in otto.get("/console/api/channels").json()["channels"] if each["name"] == "ACTED"
            ]
            return list(found["stopped_at"])

        def listens_at() -> list[str]:
            listeners = otto.get("/console/api/channels").json()["listeners"]
            return [at["qmgr"] for each in listeners if each["name"] == "ACTED" for at in each["at"]]

        text, question = planned(otto, "stop-channel", name="ACTED", qmgr="QM1")
        assert (text, question) == ("STOP CHANNEL(ACTED)", "STOP ACTED: no client can come by it")
        done(otto, "stop-channel", name="ACTED", qmgr="QM1")
        until(lambda: stopped_at() == ["QM1"], "the channel is stopped", 60)
        done(otto, "start-channel", name="ACTED", qmgr="QM1")
        until(lambda: stopped_at() == [], "the channel is open", 60)
        done(otto, "start-listener", name="ACTED", qmgr="QM2")
        until(lambda: listens_at() == ["QM2"], "the listener runs", 60)
        done(otto, "stop-listener", name="ACTED", qmgr="QM2")
    mqsc(console, "DELETE CHANNEL(ACTED)", "DELETE LISTENER(ACTED)")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("define", {"queue": "X", "attributes": []}),
        ("define", {"queue": "X", "attributes": {"NONSENSE": "1"}}),
        ("define", {"queue": "X", "attributes": {"CRDATE": "2026-01-01"}}),
        ("define", {"queue": "X", "attributes": {"SHARE": "DELETE QLOCAL(Y)"}}),
        ("define", {"queue": "X", "attributes": {"DESCR": "a\nDELETE QLOCAL(Y)"}}),
        ("define", {"queue": "X", "attributes": {"DESCR": "a\u202eb"}}),
        ("define", {"queue": "X", "attributes": {"DESCR": 1}}),
        ("define", {"queue": "X", "disposition": "NOWHERE"}),
        ("define", {"queue": "x" * 20_000}),
        ("define", {"queue": ""}),
        ("delete", {"queue": "X", "purge": "MAYBE"}),
        ("move", {"places": [{"qmgr": "QM1", "queue": "X", "messages": {}}], "target": "Y"}),
        ("put", {"queue": "X", "body": 1}),
        ("quiesce", {}),
    ],
)
def test_a_form_that_cannot_be_a_command_is_refused(console: Console, name: str, asked: dict[str, Any]) -> None:
    with console.signed_in("anna") as anna:
        for what in ("plan", "run"):
            status = act(anna, name, what, **asked).status_code
            assert status in (400, 404), (what, status)
            assert status == 400 or name == "delete"


def test_a_command_that_the_user_has_not_seen_is_not_run(console: Console, queue: str) -> None:
    asked: dict[str, Any] = {"qmgr": "QM1", "queue": queue, "attributes": {"DESCR": "new", "MAXDEPTH": "100"}}
    with console.signed_in("anna") as anna:
        text, _ = planned(anna, "alter", **asked)
        mqsc(console, f"ALTER QLOCAL({queue}) MAXDEPTH(200)")
        others: list[list[Any]] = [["QM1", text], ["QM2", text], [], [None, {}]]
        for seen in others:
            answer = act(anna, "alter", **asked, seen=seen)
            assert answer.status_code == 409, answer.text
        assert act(anna, "alter", **asked, seen="x").status_code == 400
        assert "DESCR( )" in mqsc(console, f"DISPLAY QLOCAL({queue}) DESCR")
        text, _ = planned(anna, "alter", **asked)
        assert "MAXDEPTH(100)" in text
        assert done(anna, "alter", **asked, seen=["QM1", text])


def test_a_name_cannot_become_another_command(console: Console, queue: str) -> None:
    with console.signed_in("anna") as anna:
        name = f"X) ; DELETE QLOCAL({queue}) PURGE"
        (answer,) = act(anna, "define", queue=name, qmgr="QM1").json()["answers"]
        assert not answer["is_done"]
        described = done(anna, "alter", qmgr="QM1", queue=queue, attributes={"DESCR": "') PURGE ; DELETE QLOCAL(X)"})
        assert described
    assert "CURDEPTH(2)" in mqsc(console, f"DISPLAY QLOCAL({queue}) CURDEPTH")


@pytest.mark.parametrize("body", [b"", b"[]", b"x", json.dumps("x").encode(), b'{"queue": "\\ud800"}'])
def test_a_body_that_is_no_object_is_refused(console: Console, body: bytes) -> None:
    with console.signed_in("anna") as anna:
        answer = anna.post("/console/api/actions/clear/run", content=body)
        assert answer.status_code == 400
        assert anna.post("/console/api/actions/nothing/run", json={}).status_code == 404
