"""`igq status --check`, `--queue`, `--manager` and `--watch`."""

from __future__ import annotations

import json

import pytest

from igq.agent.progress.report import AgentState
from igq.errors import CommandError
from igq.operations import look as looking
from igq.operations.look import Rates, StatusRequest, chosen, look
from igq.operations.troubles import troubles
from sharedq.mqi.constants import OpenOption, PutOption
from tests.support.agents import show_agent
from tests.support.members import TestGroup
from tests.support.status import read_status
from tests.support.waits import replace_pauses

CHECK = StatusRequest(is_check=True)


@pytest.fixture
def well(group: TestGroup) -> TestGroup:
    """A group of QM1 whose agent runs, with a queue that has room for one message."""
    group.define_shared("Q", max_depth=1)
    show_agent(group, "QM1", AgentState("RUNNING", 4711, 0))
    return group


def wrong(group: TestGroup) -> list[str]:
    return troubles(read_status(group.settings))


def tell(group: TestGroup, **changes: object) -> None:
    """Change what the group knows of QM1."""
    keys = group.group.keys
    group.group.call("admin/member_state", [keys.members, keys.fence], ["QM1", 1, json.dumps(changes)])


def test_all_is_well(well: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    assert look(well.settings, CHECK) == 0
    assert capsys.readouterr().out == "all is well\n"


def test_each_trouble_is_one_line_and_the_status_is_1(well: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    show_agent(well, "QM1", AgentState("RETRY", 4711, 0, last_error="2053 MQRC_Q_FULL: Q"))
    well.connect().put1("Q", b"x")

    assert look(well.settings, CHECK) == 1
    assert capsys.readouterr().out.splitlines() == [
        "IGQ agent of QM1: RETRY, 2053 MQRC_Q_FULL: Q",
        "queue Q at APPL1: full, 1 message",
    ]


def test_a_manager_whose_lease_ran_out_is_a_trouble(well: TestGroup) -> None:
    well.group.client().zrem(well.group.keys.leases, "QM1.1")

    assert "queue manager QM1: FAILED, its lease has run out" in wrong(well)


def test_a_stopped_manager_is_a_trouble_only_if_asked_for(well: TestGroup) -> None:
    well.add_member("QM2")
    show_agent(well, "QM2", AgentState("RUNNING", 4712, 0))
    tell(well, state="STOPPED")

    assert not wrong(well)
    only = chosen(read_status(well.settings), StatusRequest(manager="QM1"))
    assert troubles(only, is_whole=False) == ["queue manager QM1: STOPPED"]


def test_a_stopped_manager_for_which_messages_wait_is_a_trouble(
    well: TestGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    well.add_member("QM2")
    show_agent(well, "QM2", AgentState("RUNNING", 4712, 0))
    well.repository("QM2").alter_qmgr("QM2", {"igq": "ENABLED"})
    well.define_private("QM1", "HERS")
    connection = well.connect("QM1")
    well.connect("QM2").put1("HERS", b"x", qmgr_name="QM1")
    assert not wrong(well)

    tell(well, state="STOPPED")
    assert look(well.settings, CHECK) == 1
    assert capsys.readouterr().out == "queue manager QM1: STOPPED, 1 message waits for it\n"

    # Messages on its private queues wait for it too, but not its own events.
    connection.put1("HERS", b"x")
    connection.put1("SYSTEM.ADMIN.QMGR.EVENT", b"x")
    assert wrong(well) == ["queue manager QM1: STOPPED, 2 messages wait for it"]
    only = chosen(read_status(well.settings), StatusRequest(manager="QM1"))
    assert troubles(only, is_whole=False) == ["queue manager QM1: STOPPED, 2 messages wait for it"]


def test_no_running_manager_is_a_trouble(well: TestGroup) -> None:
    tell(well, state="STOPPED")

    assert wrong(well) == ["no queue manager is running"]


def test_work_in_doubt_is_a_trouble(well: TestGroup) -> None:
    connection = well.connect()
    connection.put1("Q", b"x", options=PutOption.SYNCPOINT)
    connection.prepare(b"xid")

    assert "queue manager QM1: 1 unit of work in doubt" in wrong(well)


def test_missing_replicas_are_a_trouble(well: TestGroup) -> None:
    asked = well.settings.model_copy(update={"wait_replicas": 1})

    (line,) = troubles(read_status(asked))

    assert line.endswith(": 1 replica must have a message, but 0 online")


def test_a_server_that_drops_messages_is_a_trouble(well: TestGroup) -> None:
    client = well.group.client()
    client.config_set("maxmemory", "1gb")
    client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        (line,) = wrong(well)
    finally:
        # The server serves other tests, too.
        client.config_set("maxmemory", "0")
        client.config_set("maxmemory-policy", "noeviction")

    assert line.startswith("Redis: durability none: the server drops keys")


def test_dead_letters_on_a_queue_of_any_name_are_a_trouble(well: TestGroup) -> None:
    well.define_shared("SHARED.DLQ")
    well.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "SHARED.DLQ"})
    connection = well.connect()
    connection.put1("SYSTEM.DEAD.LETTER.QUEUE", b"x")
    assert wrong(well) == []

    connection.put1("SHARED.DLQ", b"x")

    assert wrong(well) == ["queue SHARED.DLQ at APPL1: 1 dead letter"]


def test_redis_that_cannot_be_read_has_status_2(well: TestGroup) -> None:
    away = well.settings.model_copy(update={"redis_url": "redis://127.0.0.1:1"})

    with pytest.raises(CommandError, match="cannot be read") as caught:
        look(away, CHECK)

    assert caught.value.status == looking.CANNOT_LOOK


def test_one_queue_or_those_with_a_beginning(well: TestGroup) -> None:
    well.define_shared("Q.2")
    status = read_status(well.settings)

    assert [each.name for each in chosen(status, StatusRequest(queue="Q")).queues] == ["Q"]
    assert [each.name for each in chosen(status, StatusRequest(queue="Q*")).queues] == ["Q", "Q.2"]
    assert not chosen(status, StatusRequest(queue="X*")).queues
    with pytest.raises(CommandError, match="no local queue X"):
        chosen(status, StatusRequest(queue="X"))


def test_one_manager_and_what_is_its_own(well: TestGroup) -> None:
    well.add_member("QM2")
    well.define_private("QM2", "HERS")
    status = chosen(read_status(well.settings), StatusRequest(manager="QM2"))

    assert [each.name for each in status.managers] == ["QM2"]
    assert {each.owner for each in status.queues} == {"QM2"}
    with pytest.raises(CommandError, match=r"no queue manager QM3 in group .*: QM1, QM2"):
        chosen(read_status(well.settings), StatusRequest(manager="QM3"))


def test_a_part_of_the_group_is_shown_without_the_rest(well: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    assert look(well.settings, StatusRequest(queue="Q")) == 0

    shown = capsys.readouterr().out
    assert "APPL1" in shown
    assert "No queue manager" not in shown


def test_json_tells_age_room_node_and_version(well: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    tell(well, version="0.1.0")
    well.connect().put1("Q", b"x")

    assert look(well.settings, StatusRequest(is_json=True)) == 0

    shown = json.loads(capsys.readouterr().out)
    (queue,) = [each for each in shown["queues"] if each["name"] == "Q"]
    assert (queue["max_depth"], queue["depth"], queue["oldest_age_s"] >= 0) == (1, 1, True)
    (manager,) = shown["managers"]
    (node,) = shown["redis"]["nodes"]
    assert (manager["version"], manager["node"], manager["connections"]) == ("0.1.0", node["node"], 1)
    assert node["used_memory"] > 0
    assert {each["node"] for each in shown["structures"]} == {node["node"]}


def test_a_watch_tells_how_many_messages_an_agent_delivers_a_second(well: TestGroup) -> None:
    rates = Rates()

    def rate_after(delivered: int, now_s: float) -> float | None:
        show_agent(well, "QM1", AgentState("RUNNING", 4711, 0, delivered=delivered))
        (manager,) = rates.added(read_status(well.settings), now_s).managers
        return manager.agent.delivered_rate

    assert rate_after(100, 10.0) is None
    assert rate_after(150, 12.0) == 25
    # The agent was started again.
    assert rate_after(8, 14.0) == 4


def test_a_watch_tells_the_puts_and_gets_of_a_queue_a_second(well: TestGroup) -> None:
    well.define_shared("BUSY")
    well.repository("QM1").alter_qmgr("QM1", {"performance_event": "ENABLED"})
    connection, rates = well.connect(), Rates()
    queue = connection.open("BUSY", OpenOption.INPUT_SHARED | OpenOption.OUTPUT)

    def rates_at(now_s: float) -> tuple[float | None, float | None]:
        status = rates.added(read_status(well.settings), now_s)
        (found,) = [each for each in status.queues if each.name == "BUSY"]
        return found.put_rate, found.get_rate

    queue.put(b"x")
    assert rates_at(10.0) == (None, None)
    for _ in range(4):
        queue.put(b"x")
    queue.get()
    assert rates_at(12.0) == (2, 0.5)
    # A reset of the counts, by a command or an event, begins again at 0.
    repository = well.repository("QM1")
    repository.reset_counts(repository.display_queues("BUSY", ("QLOCAL",)))
    for _ in range(3):
        queue.put(b"x")
    assert rates_at(14.0) == (1.5, 0)


def test_a_queue_that_nothing_counts_has_no_rates(well: TestGroup) -> None:
    rates = Rates()
    rates.added(read_status(well.settings), 10.0)
    status = rates.added(read_status(well.settings), 12.0)

    assert {(each.put_rate, each.get_rate) for each in status.queues} == {(None, None)}


def test_a_watch_goes_on_where_redis_does_not_answer(
    well: TestGroup, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the looks something may happen: here the test itself, in the place of the pause."""
    pauses = []
    client = well.group.client()

    def pause(_seconds: float) -> None:
        pauses.append(1)
        if len(pauses) == 1:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal")
        if len(pauses) == 3:
            raise KeyboardInterrupt

    replace_pauses(monkeypatch, pause)
    with pytest.raises(KeyboardInterrupt):
        look(well.settings, StatusRequest(is_json=True), every_s=0.1)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert all(json.loads(line)["group"] == well.settings.group for line in lines)
