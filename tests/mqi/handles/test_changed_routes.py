"""Definitions on the way are altered or inhibited: handles become invalid, calls are refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal

import pytest

from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.routes import BOTH, manager_alias, transmitted
from tests.support.scenes import on_queue, until


@pytest.mark.rule("igq/routes", "An alias of a manager that is altered inhibits puts, or invalidates handles.")
def test_an_alias_of_a_manager_that_is_altered_counts_as_altered(pair: TestGroup) -> None:
    pair.define("QM1", manager_alias("OLD", "QM2"))
    queue = pair.connect("QM1").open("IN", OpenOption.OUTPUT, qmgr_name="OLD")
    queue.put(b"1")
    pair.repository("QM1").alter("QREMOTE", "OLD", {"put": "DISABLED"})
    assert reason_of(partial(queue.put, b"2")) == MQRC.PUT_INHIBITED
    pair.repository("QM1").alter("QREMOTE", "OLD", {"put": "ENABLED", "remote_qmgr": "QM1"})
    assert reason_of(partial(queue.put, b"3")) == MQRC.OBJECT_CHANGED
    assert [data for _, data in transmitted(pair, "QM2")] == [b"1"]


@pytest.mark.rule("igq/invalidation", "A handle through the transmit queue is invalid (2041) after IGQ(DISABLED).")
def test_igq_disabled_since_the_open_invalidates_the_handle(pair: TestGroup) -> None:
    queue = pair.connect("QM1").open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    pair.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"})
    with pytest.raises(MQIError) as caught:
        queue.put(b"x")
    assert caught.value.reason == MQRC.OBJECT_CHANGED
    assert transmitted(pair, "QM2") == []


@pytest.mark.rule(
    "igq/invalidation", "A handle past the transmit queue is invalid (2041) if IGQ(ENABLED) would now lead through it."
)
def test_igq_enabled_since_the_open_invalidates_the_handle(pair: TestGroup) -> None:
    pair.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"})
    pair.define_private("QM1", "QM2", usage="XMITQ")
    connection = pair.connect("QM1")
    queue = connection.open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    pair.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    with pytest.raises(MQIError) as caught:
        queue.put(b"x")
    assert caught.value.reason == MQRC.OBJECT_CHANGED
    with pytest.raises(MQIError) as caught:
        connection.open("QM2", BOTH).get()
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE


@pytest.mark.rule(
    "igq/invalidation",
    "A handle through the transmit queue is invalid (2041) after the definition of that queue has changed.",
)
def test_a_changed_transmit_queue_invalidates_handles_that_go_through_it(pair: TestGroup) -> None:
    queue = pair.connect("QM1").open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    queue.put(b"before")
    pair.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"description": "altered"})
    with pytest.raises(MQIError) as caught:
        queue.put(b"after")
    assert caught.value.reason == MQRC.OBJECT_CHANGED
    assert [data for _, data in transmitted(pair, "QM2")] == [b"before"]


def test_a_changed_alias_invalidates_handles_that_went_through_it(group: TestGroup) -> None:
    group.define_shared("ONE")
    group.define_shared("TWO")
    group.define("QM1", QueueAlias(name="ALIAS", target="ONE"))
    queue = group.connect().open("ALIAS", OpenOption.OUTPUT)
    group.repository("QM1").alter("QALIAS", "ALIAS", {"target": "TWO"})
    with pytest.raises(MQIError) as caught:
        queue.put(b"x")
    assert caught.value.reason == MQRC.OBJECT_CHANGED


@pytest.mark.parametrize("base", ["private", "shared"])
def test_every_definition_on_the_way_inhibits(group: TestGroup, base: str) -> None:
    group.define_shared("BASE") if base == "shared" else group.define_private("QM1", "BASE")
    group.define("QM1", QueueAlias(name="SHUT", target="BASE", put="DISABLED", get="DISABLED"))
    group.define("QM1", QueueRemote(name="HERE", remote_queue="BASE", remote_qmgr="QM1", put="DISABLED"))
    group.define("QM1", QueueAlias(name="TO.HERE", target="HERE"))
    connection = group.connect()
    for name in ("SHUT", "HERE", "TO.HERE"):
        assert reason_of(partial(connection.put1, name, b"x")) == MQRC.PUT_INHIBITED
    assert reason_of(connection.open("SHUT", OpenOption.INPUT_SHARED).get) == MQRC.GET_INHIBITED


def test_a_remote_definition_inhibits_puts_to_another_manager(pair: TestGroup) -> None:
    pair.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2", put="DISABLED"))
    assert reason_of(partial(pair.connect("QM1").put1, "FAR", b"x")) == MQRC.PUT_INHIBITED
    assert transmitted(pair, "QM2") == []


@pytest.mark.parametrize("how", ["ALTER", "DEFINE REPLACE"])
def test_an_alias_that_is_altered_later_inhibits_from_then_on(group: TestGroup, how: str) -> None:
    group.define_shared("BASE")
    group.define("QM1", QueueAlias(name="ALIAS", target="BASE"))
    queue, base = group.connect().open("ALIAS", BOTH), group.connect().open("BASE", BOTH)
    repository = group.repository("QM1")

    def become(state: Literal["ENABLED", "DISABLED"]) -> None:
        if how == "ALTER":
            repository.alter("QALIAS", "ALIAS", {"put": state, "get": state})
        else:
            repository.define(QueueAlias(name="ALIAS", target="BASE", put=state, get=state), replace=True)

    queue.put(b"1")
    become("DISABLED")
    assert reason_of(partial(queue.put, b"2")) == MQRC.PUT_INHIBITED
    assert reason_of(queue.get) == MQRC.GET_INHIBITED
    assert reason_of(partial(queue.get, GetOption.BROWSE_FIRST)) == MQRC.GET_INHIBITED
    base.put(b"3")
    become("ENABLED")
    queue.put(b"4")
    assert [queue.get().body, base.get().body, queue.get().body] == [b"1", b"3", b"4"]


def test_an_alias_that_inhibits_gets_ends_a_wait(group: TestGroup) -> None:
    group.define_shared("BASE")
    group.define("QM1", QueueAlias(name="ALIAS", target="BASE"))
    queue = group.connect().open("ALIAS", OpenOption.INPUT_SHARED)
    key = group.group.structure("APPL1").queue("BASE").queue
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(reason_of, partial(queue.get, GetOption.WAIT, wait_ms=60_000))
        until(lambda: int(group.group.client().hget(key, "nw") or 0), "it waits")
        group.repository("QM1").alter("QALIAS", "ALIAS", {"get": "DISABLED"})
        assert waiting.result(30) == MQRC.GET_INHIBITED


def test_an_alias_that_leads_elsewhere_invalidates_for_gets_too(group: TestGroup) -> None:
    group.define_shared("ONE")
    group.define_shared("TWO")
    group.define("QM1", QueueAlias(name="ALIAS", target="ONE"))
    queue = group.connect().open("ALIAS", OpenOption.INPUT_SHARED)
    group.connect().put1("ONE", b"x")
    group.repository("QM1").alter("QALIAS", "ALIAS", {"target": "TWO"})
    assert reason_of(queue.get) == MQRC.OBJECT_CHANGED
    assert [body for body, _ in on_queue(group, "ONE")] == [b"x"]


@pytest.mark.parametrize("qmgr", ["QM1", "QM2"])
def test_a_remote_definition_that_leads_here_stays_in_the_path(pair: TestGroup, qmgr: str) -> None:
    pair.repository("QM1").alter_qmgr("QM1", {"shared_q_mgr_name": "IGNORE"})
    pair.define_shared("ONE")
    pair.define_shared("TWO")
    remote = QueueRemote(name="R", remote_queue="ONE", remote_qmgr=qmgr, def_priority=7, def_persistence="YES")
    pair.define("QM1", remote)
    queue = pair.connect("QM1").open("R", OpenOption.OUTPUT)
    md = queue.put(b"1")
    assert (md.priority, md.persistence) == (7, 1)
    pair.repository("QM1").alter("QREMOTE", "R", {"def_priority": 2})
    assert queue.put(b"2").priority == 2
    pair.repository("QM1").alter("QREMOTE", "R", {"remote_queue": "TWO"})
    assert reason_of(partial(queue.put, b"3")) == MQRC.OBJECT_CHANGED
    assert [body for body, _ in on_queue(pair, "ONE")] == [b"1", b"2"]
    assert on_queue(pair, "TWO") == []
