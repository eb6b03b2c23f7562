"""`igq group remove` interrupted, overtaken, and at the same time as others."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from igq.manager.membership import Membership
from sharedq.admin.member_removal import remove_member
from sharedq.calls.routes.resolution import resolve
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.directory import Entry
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.parts import Place
from sharedq.redis.keys import private_structure
from tests.support.members import TestGroup
from tests.support.removals import (
    EACH,
    EACH_REFUSED,
    GET,
    PUT,
    SCRIPTS,
    SCRIPTS_REFUSED,
    fail_to_wait,
    gone,
    interrupted,
    killed_after,
    outcome,
    parts,
    send_on_its_way,
    start,
    state_of,
    stop,
    traces,
)
from tests.support.status import read_status


def test_it_takes_so_many_scripts(down: TestGroup) -> None:
    """Otherwise the tests that interrupt it after each script would leave some out."""
    assert not killed_after(down, SCRIPTS + 1)
    assert gone(down)


def test_one_that_is_refused_takes_so_many(down: TestGroup) -> None:
    send_on_its_way(down)

    assert not killed_after(down, SCRIPTS_REFUSED + 1)
    assert killed_after(down, SCRIPTS_REFUSED)


@pytest.mark.parametrize("scripts", EACH)
def test_killed_after_this_script_the_next_attempt_completes_it(down: TestGroup, scripts: int) -> None:
    assert killed_after(down, scripts)

    assert gone(down) == (scripts == SCRIPTS)
    if scripts < SCRIPTS:
        assert outcome(lambda: start(down)).endswith(
            "is being removed from the group: igq group remove QM2 completes that"
        )
        remove_member(down.group, "QM2")

    assert [each for each in traces(down) if "@QM2:" in each.split()[0]] == []
    assert start(down).incarnation > 2


@pytest.mark.parametrize("scripts", EACH_REFUSED)
def test_killed_while_it_is_refused_the_next_attempt_leaves_all_as_it_was(down: TestGroup, scripts: int) -> None:
    send_on_its_way(down)
    before = state_of(down)
    assert killed_after(down, scripts)

    assert "has messages" in outcome(lambda: remove_member(down.group, "QM2"))

    assert state_of(down) == before
    start(down)
    with down.connect("QM2").open("ORDERS", PUT) as queue:
        queue.put(b"as before")


@pytest.mark.invariant(2)
@pytest.mark.parametrize("scripts", EACH)
def test_an_attempt_that_was_paused_changes_nothing_of_the_next_manager(down: TestGroup, scripts: int) -> None:
    """It wakes up before any of its scripts, after another attempt has ended and the name is down again."""

    def overtake() -> str:
        remove_member(down.group, "QM2")
        start(down)
        down.repository("QM2").make_transmit_parts("QM2")
        down.define_private("QM2", "ORDERS")
        connection = down.connect("QM2")
        connection.put1("ORDERS", b"new", MQMD(persistence=1))
        connection.disconnect()
        send_on_its_way(down)
        return ""

    refusal, _ = interrupted(down, scripts, overtake)

    assert "goes on elsewhere" in refusal or "is running" in refusal
    with down.connect("QM2").open("ORDERS", GET) as queue:
        assert queue.get().body == b"new"
    assert sum(stored.state.depth for stored in parts(down).values()) == 1
    assert down.repository("QM2").locate("TEMPLATE") is not None
    member = down.group.member("QM2")
    assert member is not None
    assert (member.state, member.is_leaving) == ("RUNNING", False)


@pytest.mark.parametrize("scripts", EACH)
def test_of_two_attempts_the_later_one_goes_on(down: TestGroup, scripts: int) -> None:
    refusal, other = interrupted(down, scripts, lambda: outcome(lambda: remove_member(down.group, "QM2")))

    assert other == ""
    assert "goes on elsewhere" in refusal or "there is no queue manager QM2" in refusal
    assert gone(down)
    assert [each for each in traces(down) if "@QM2:" in each.split()[0]] == []


@pytest.mark.parametrize("scripts", EACH)
def test_a_start_in_the_middle_comes_first_or_is_refused(down: TestGroup, scripts: int) -> None:
    def begin() -> str:
        return outcome(lambda: Membership.join(down.group, "QM2", {"pid": 1, "host": "here"}, fail_to_wait))

    refusal, other = interrupted(down, scripts, begin)

    if scripts == 1:
        assert (refusal, other) == ("queue manager QM2 is running: igq qmgr stop QM2 stops it", "")
    else:
        assert (refusal, "is being removed" in other) == ("", True)
    assert gone(down) == (scripts > 1)


@pytest.mark.parametrize("scripts", EACH_REFUSED)
def test_an_alter_of_the_transmit_queue_during_a_refusal_counts(down: TestGroup, scripts: int) -> None:
    """Also for the parts that are shut at that moment."""
    send_on_its_way(down)

    def alter() -> str:
        down.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 4711})
        return ""

    refusal, _ = interrupted(down, scripts, alter)

    assert "has messages" in refusal
    stored = parts(down)
    assert [each.definition.max_depth for each in stored.values()] == [4711, 4711]
    assert len({each.version for each in stored.values()}) == 1


@pytest.mark.parametrize("scripts", EACH)
def test_an_alter_of_the_transmission_queue_in_the_middle_opens_nothing(down: TestGroup, scripts: int) -> None:
    def alter() -> str:
        down.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 4711})
        return ""

    refusal, _ = interrupted(down, scripts, alter)

    assert refusal == ""
    assert [each for each in traces(down) if "@QM2:" in each.split()[0] or "@QM2 " in each] == []


@pytest.mark.parametrize("scripts", EACH)
def test_a_put_in_the_middle_is_refused_or_refuses_the_removal(down: TestGroup, scripts: int) -> None:
    """The connection has sent to it before, so it knows its structure."""
    sender = down.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()

    refusal, other = interrupted(
        down, scripts, lambda: outcome(lambda: sender.put1("ORDERS", b"sent", MQMD(persistence=1), qmgr_name="QM2"))
    )

    if scripts == 1:
        assert ("has messages (1)" in refusal, other) == (True, "")
    else:
        assert (refusal, "MQRC_UNKNOWN_REMOTE_Q_MGR" in other) == ("", True)
    sender.put1("SHARED", b"goes on")
    assert sender.disconnect() == MQRC.NONE


@pytest.mark.parametrize("scripts", EACH)
def test_a_put_that_found_its_way_before_loses_nothing(
    down: TestGroup, scripts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had resolved the name before the removal began, and reaches its structure during the removal."""
    sender = down.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()
    route = resolve(sender.connection, "ORDERS", "QM2")
    put = partial(sender.put1, "ORDERS", b"sent", MQMD(persistence=1), qmgr_name="QM2")

    def late() -> str:
        with monkeypatch.context() as patch:
            patch.setattr("sharedq.calls.routes.resolution.resolve", lambda *_, **__: route)
            return outcome(put)

    refusal, other = interrupted(down, scripts, late)

    # Either the message is put and stays, or the manager is removed.
    assert (refusal == "") == (other != "")
    if not other:
        assert sum(stored.state.depth for stored in parts(down).values()) == 1


def test_an_alter_that_reaches_its_parts_after_the_removal_is_harmless(
    down: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had listed them before. So a part may be there again, unused, and the next manager takes it."""
    real, removed = Finder.set_partition, list[str]()

    def late(self: Finder, master: Entry, place: Place, *, is_back: bool = False) -> bool | None:
        if not removed:
            removed.append(outcome(lambda: remove_member(down.group, "QM2")))
        return real(self, master, place, is_back=is_back)

    monkeypatch.setattr(Finder, "set_partition", late)
    down.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 4711})
    monkeypatch.undo()

    assert removed == [""]
    assert gone(down)
    sent = outcome(lambda: down.connect("QM1").put1("ORDERS", b"x", MQMD(persistence=1), qmgr_name="QM2"))
    assert "MQRC_UNKNOWN_REMOTE_Q_MGR" in sent
    start(down)
    down.repository("QM2").make_transmit_parts("QM2")
    assert [each.definition.max_depth for each in parts(down).values()] == [4711, 4711]
    send_on_its_way(down)
    assert sum(each.state.depth for each in parts(down).values()) == 1


def test_while_others_send_to_it_again_and_again_no_message_is_lost(down: TestGroup) -> None:
    """It is removed, started, emptied and stopped in turn. Acknowledged messages are got once."""
    ended, sent, refusals = threading.Event(), Counter[bytes](), Counter[MQRC]()

    def send(number: int) -> None:
        sender, count, chance = down.connect("QM1"), 0, random.Random(number)
        # Sometimes no message comes for long enough.
        while not ended.wait(chance.expovariate(250)):
            body = b"%d/%d" % (number, count := count + 1)
            try:
                sender.put1("ORDERS", body, MQMD(persistence=1), qmgr_name="QM2")
                sent[body] += 1
            except MQIError as error:
                refusals[error.reason] += 1
        sender.disconnect()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    got, removals = Counter[bytes](), 0
    try:
        deadline = time.monotonic() + 60
        while removals < 10 and time.monotonic() < deadline:
            if not outcome(lambda: remove_member(down.group, "QM2")):
                removals += 1
            got.update(start_and_empty(down))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    got.update(start_and_empty(down))

    assert removals
    assert got == sent
    # Each refusal says that nothing was put. A lost connection would leave that open.
    assert MQRC.CONNECTION_BROKEN not in refusals


def start_and_empty(group: TestGroup) -> list[bytes]:
    """Start QM2, take the messages for it, and stop it."""
    membership, found = start(group), list[bytes]()
    connection = group.connect("QM2")
    with connection.open(SYSTEM_QSG_TRANSMIT_QUEUE, GET) as queue, suppress(NoMsgAvailable):
        while True:
            found.append(queue.get().body[wire.XQH_LENGTH :])
    connection.disconnect()
    stop(group, membership)
    return found


def test_a_member_that_is_being_removed_is_noted_as_that(down: TestGroup) -> None:
    killed_after(down, 1)

    member = down.group.member("QM2")
    assert member is not None
    assert member.is_leaving
    assert [each.is_leaving for each in read_status(down.settings).managers] == [False, True]
    keys = down.group.keys
    text: Any = down.group.client().hget(keys.members, "QM2")
    assert json.loads(text)["stage"] == "SHUTTING"
    assert private_structure("QM2") in down.group.structure_names()
