"""News reach every program at once. The leases of these tests last for minutes, so no renewal tells anything."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from igq.operations.group_settings import change_group_settings
from recovery.resolution import recover
from sharedq import QueueManagerConnection, verbs
from sharedq.callbacks.calls import mqcb, mqctl
from sharedq.callbacks.structures import MQCBD, MQCTLO
from sharedq.coroutines import connect_async
from sharedq.members.news import LOOK, QUIESCES, News, tell, tell_programs
from sharedq.members.process import Process
from sharedq.mqi.constants import MQCC, MQRC, GetOption, OpenOption, PutOption, RequestOption, SubOption
from sharedq.mqi.constants.callbacks import CallbackOperation as Op
from sharedq.mqi.constants.callbacks import CallbackOption, CallbackType, ControlOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO, MQSD, MQSRO
from sharedq.objects.store.failures import structure_state
from sharedq.redis.link import Link
from tests.support.backups import lose, mqsc
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import until
from tests.support.waits import until_waiting, waits

pytestmark = pytest.mark.faults
FAIL = GetOption.FAIL_IF_QUIESCING


@pytest.fixture
def shared(group: TestGroup) -> TestGroup:
    group.define_structure()
    group.define_shared("Q")
    return group


def quiesce(group: TestGroup) -> None:
    """QM1 begins to stop, as its manager does it."""
    keys, told = group.group.keys, json.dumps({"state": "QUIESCING"})
    group.group.call("admin/member_state", [keys.members, keys.fence], ["QM1", 1, told])
    tell_programs(group.group, "QM1.1", QUIESCES)


def heard(connection: QueueManagerConnection) -> bool:
    return connection.connection.is_quiescing


@pytest.mark.rule("mqi/waiting", "After a manager begins to quiesce, each call that asks to fail says 2161 at once.")
def test_every_program_knows_at_once_that_the_manager_quiesces(shared: TestGroup) -> None:
    idle, waiting = shared.connect(), shared.connect()
    queue = idle.open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        waits_for = waits(pool, shared, FAIL, queue=waiting.open("Q", BOTH))
        quiesce(shared)
        assert reason_of(waits_for.result) == MQRC.Q_MGR_QUIESCING
    until(lambda: heard(idle), "the idle program knows")
    assert reason_of(lambda: queue.get(FAIL)) == MQRC.Q_MGR_QUIESCING
    assert reason_of(queue.get) == MQRC.NO_MSG_AVAILABLE


def test_each_call_that_asks_for_it_fails_when_the_manager_quiesces(shared: TestGroup) -> None:
    program = shared.connect()
    hconn, queue = program.connection, program.open("Q", BOTH)
    sd = MQSD(options=int(SubOption.CREATE | SubOption.MANAGED | SubOption.PUBLICATIONS_ON_REQUEST), object_string=b"T")
    hsub, _, reason = verbs.mqsub(hconn, sd)
    assert hsub is not None, reason
    register = MQCBD(callback_function=print, options=int(CallbackOption.FAIL_IF_QUIESCING))
    handler = MQCBD(callback_function=print, callback_type=CallbackType.EVENT_HANDLER)
    assert mqcb(hconn, Op.REGISTER, handler) == (MQCC.OK, MQRC.NONE)
    quiesce(shared)
    until(lambda: heard(program), "it knows")
    asked = int(PutOption.FAIL_IF_QUIESCING)
    outcomes: dict[str, Any] = {
        "MQOPEN": verbs.mqopen(hconn, MQOD(object_name=b"Q"), OpenOption.OUTPUT | OpenOption.FAIL_IF_QUIESCING),
        "MQPUT": verbs.mqput(hconn, queue.handle, MQMD(), MQPMO(options=asked), b"1"),
        "MQPUT1": verbs.mqput1(hconn, MQOD(object_name=b"Q"), MQMD(), MQPMO(options=asked), b"1"),
        "MQGET": verbs.mqget(hconn, queue.handle, MQMD(), MQGMO(options=int(FAIL)), 100),
        "MQSUB": verbs.mqsub(hconn, MQSD(options=sd.options | SubOption.FAIL_IF_QUIESCING, object_string=b"U")),
        "MQSUBRQ": verbs.mqsubrq(hconn, hsub, 1, MQSRO(options=int(RequestOption.FAIL_IF_QUIESCING))),
        "MQCB": mqcb(hconn, Op.REGISTER, register, queue.handle, MQMD(), MQGMO()),
        "MQCTL": mqctl(hconn, Op.START, MQCTLO(options=int(ControlOption.FAIL_IF_QUIESCING))),
    }
    assert {name: outcome[-1] for name, outcome in outcomes.items()} == dict.fromkeys(outcomes, MQRC.Q_MGR_QUIESCING)
    assert mqctl(hconn, Op.STOP, MQCTLO(options=4)) == (MQCC.FAILED, MQRC.OPTIONS_ERROR)


def test_a_get_of_asyncio_knows_at_once_that_the_manager_quiesces(shared: TestGroup) -> None:
    async def scene() -> MQRC:
        async with await connect_async("QM1", settings=shared.settings) as connection:
            queue = await connection.open("Q", BOTH)
            waiting = asyncio.create_task(queue.get(FAIL | GetOption.WAIT, wait_ms=60_000))
            await asyncio.to_thread(until_waiting, shared, "Q", 1)
            await asyncio.to_thread(quiesce, shared)
            try:
                await waiting
            except MQIError as error:
                return error.reason
        return MQRC.NONE

    assert asyncio.run(scene()) == MQRC.Q_MGR_QUIESCING


def test_an_idle_consumer_hears_of_stop_conn(shared: TestGroup) -> None:
    program, told = shared.connect(), list[int]()
    queue = program.open("Q", BOTH)
    # An internal connection cannot be stopped by an operator.
    handler = MQCBD(
        callback_type=CallbackType.EVENT_HANDLER, callback_function=lambda *called: told.append(called[-1].reason)
    )
    consumer = MQCBD(callback_function=lambda *_: None)
    hconn = program.connection
    assert mqcb(hconn, Op.REGISTER, handler)[1] == MQRC.NONE
    assert mqcb(hconn, Op.REGISTER, consumer, queue.handle, MQMD(), MQGMO())[1] == MQRC.NONE
    assert mqctl(hconn, Op.START)[1] == MQRC.NONE
    until_waiting(shared, "Q", 1)
    stop(shared, program)
    until(lambda: told == [MQRC.CONNECTION_BROKEN], "the event handler is told")
    assert mqctl(hconn, Op.STOP) == (MQCC.FAILED, MQRC.CONNECTION_BROKEN)


def stop(group: TestGroup, program: QueueManagerConnection) -> None:
    """STOP CONN. The connections of a test are internal, which the command refuses."""
    keys, token = group.group.keys, program.connection.token
    entry = json.loads(group.group.client().hget(keys.owners, token) or b"")
    entry.pop("own", None)
    group.group.client().hset(keys.owners, token, json.dumps(entry))
    status, said = mqsc(group, f"STOP CONN({token})")
    assert status == 0, said


@pytest.mark.parametrize("is_suspended", [True, False])
def test_the_handler_hears_of_stop_conn_without_any_consumer(shared: TestGroup, *, is_suspended: bool) -> None:
    program, told = shared.connect(), list[int]()
    queue, hconn = program.open("Q", BOTH), program.connection
    handler = MQCBD(
        callback_type=CallbackType.EVENT_HANDLER, callback_function=lambda *called: told.append(called[-1].reason)
    )
    assert mqcb(hconn, Op.REGISTER, handler)[1] == MQRC.NONE
    if is_suspended:
        consumer = MQCBD(callback_function=lambda *_: None)
        assert mqcb(hconn, Op.REGISTER | Op.SUSPEND, consumer, queue.handle, MQMD(), MQGMO())[1] == MQRC.NONE
    assert mqctl(hconn, Op.START)[1] == MQRC.NONE
    stop(shared, program)
    until(lambda: told == [MQRC.CONNECTION_BROKEN], "the event handler is told")


def test_mqctl_stop_fails_where_the_news_have_not_come(shared: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shared.connect()
    queue, hconn = program.open("Q", BOTH), program.connection
    monkeypatch.setattr(hconn, "shut_out", lambda _: None)
    consumer = MQCBD(callback_function=lambda *_: None)
    assert mqcb(hconn, Op.REGISTER, consumer, queue.handle, MQMD(), MQGMO())[1] == MQRC.NONE
    assert mqctl(hconn, Op.START)[1] == MQRC.NONE
    until_waiting(shared, "Q", 1)
    stop(shared, program)
    assert mqctl(hconn, Op.STOP) == (MQCC.FAILED, MQRC.CONNECTION_BROKEN)


def test_stop_conn_ends_one_connection_of_a_program(shared: TestGroup) -> None:
    process = shared.process()
    stopped, other = shared.connect(process=process), shared.connect(process=process)
    with ThreadPoolExecutor(2) as pool:
        ends = waits(pool, shared, GetOption.NONE, queue=stopped.open("Q", BOTH))
        stays = waits(pool, shared, GetOption.NONE, queue=other.open("Q", BOTH))
        stop(shared, stopped)
        assert reason_of(ends.result) == MQRC.CONNECTION_BROKEN
        shared.connect().put1("Q", b"1")
        assert stays.result().body == b"1"


def test_programs_learn_the_settings_of_the_group_at_once(shared: TestGroup) -> None:
    program = shared.connect()
    before = program.connection.group.settings.journal_max_bytes
    change_group_settings(shared.settings, [f"journal_max_bytes={before + 1}"])
    until(lambda: program.connection.group.settings.journal_max_bytes == before + 1, "it is told")


def test_a_wait_in_a_structure_that_fails_ends_at_once(shared: TestGroup) -> None:
    with ThreadPoolExecutor(1) as pool:
        waits_for = waits(pool, shared, GetOption.NONE)
        lose(shared)
        assert structure_state(shared.group, "APPL1") == "FAILED"
        assert reason_of(waits_for.result) == MQRC.CF_STRUC_FAILED


def test_a_program_that_outlives_its_manager_ends_its_calls_at_once(shared: TestGroup) -> None:
    shared.add_member("QM2")
    process = shared.process()
    with ThreadPoolExecutor(1) as pool:
        queue = shared.connect(process=process).open("Q", BOTH)
        waits_for = waits(pool, shared, GetOption.NONE, queue=queue)
        # As a peer does after the manager's lease has run out.
        recoverer = shared.connect("QM2").connection
        assert recover(shared.group, recoverer, "QM1.1", force=True).is_resolved
        assert reason_of(waits_for.result) == MQRC.CONNECTION_BROKEN


def test_a_process_looks_after_it_lost_its_news(shared: TestGroup) -> None:
    texts = list[str]()
    listener = News(shared.group, "QM1.1.0", texts.append)
    tell(shared.group, ["QM1.1.0"], "one")
    until(lambda: texts == ["one"], "it hears")
    client = shared.group.client()
    for each in client.client_list():
        if each["cmd"] == "blpop":
            client.client_kill_filter(_id=each["id"])
    until(lambda: texts == ["one", LOOK], "it looks")
    tell(shared.group, ["QM1.1.0"], "two")
    until(lambda: texts == ["one", LOOK, "two"], "it hears again")
    listener.close()


def test_news_that_no_process_takes_go_away(shared: TestGroup) -> None:
    tell(shared.group, ["QM1.1.0"])
    assert 0 < shared.group.client().ttl(f"{shared.group.keys.news}QM1.1.0") <= 60
    for _ in range(120):
        tell(shared.group, ["QM1.1.0"])
    assert shared.group.client().llen(f"{shared.group.keys.news}QM1.1.0") == 100


def test_a_program_that_waits_for_news_asks_redis_for_nothing(
    shared: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = list[str]()
    block = Link.block

    def counted(self: Link, key: str, timeout_s: float) -> bytes | None:
        blocked.append(key)
        return block(self, key, timeout_s)

    monkeypatch.setattr(Link, "block", counted)
    process = Process.register(shared.group, "QM1")
    until(lambda: blocked, "it listens")
    tell(shared.group, [process.token])
    until(lambda: len(blocked) == 2, "it listens again")
    assert set(blocked) == {f"{shared.group.keys.news}{process.token}"}
    process.end()
