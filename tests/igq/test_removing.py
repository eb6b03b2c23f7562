"""`igq group remove`: a member that is down leaves for good, or is left as it was; whoever comes in between."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from igq.errors import CommandError
from igq.membership import Membership
from igq.mqsc.executor import run as run_mqsc
from igq.status import read_status
from recovery.resolve import recover
from sharedq.connection import Connection
from sharedq.group import Group
from sharedq.in_doubt import end_prepared, prepare
from sharedq.keys import private_structure
from sharedq.link import Argument, Reply
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions import QueueAlias, QueueLocal
from sharedq.objects.finding import Finder
from sharedq.objects.local_queues import StoredQueue
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.parts import Place, own_part, part_in
from sharedq.objects.removing import RemovalRefusedError, remove_member
from sharedq.objects.system import define_system_objects
from sharedq.resolution import resolve
from tests.support.members import TestGroup
from tests.support.scenes import contents

PUT, GET = OpenOption.OUTPUT, OpenOption.INPUT_SHARED
#: Scripts of a removal, and of one that is refused as its parts have messages.
SCRIPTS, SCRIPTS_REFUSED = 15, 22
EACH, EACH_REFUSED = range(1, SCRIPTS + 1), range(1, SCRIPTS_REFUSED + 1)


def start(group: TestGroup, qmgr: str = "QM2") -> Membership:
    """What a manager does at its start, up to when it is open for business."""
    membership = Membership.join(group.group, qmgr, {"pid": os.getpid(), "host": "test"}, fail_to_wait)
    repository = group.repository(qmgr)
    repository.prepare_manager(qmgr, at_first={"igq": "ENABLED"})
    define_system_objects(repository, group.settings.default_structure)
    membership.tell(state="RUNNING")
    return membership


def fail_to_wait(seconds: float) -> None:
    raise AssertionError(f"nothing to wait for, but it waits {seconds} s")


@pytest.fixture
def pair(group: TestGroup) -> TestGroup:
    """QM1 with messages on a queue of its own and a shared one; QM2 was used for all that there is, and has stopped."""
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.define_shared("SHARED")
    group.define_private("QM1", "KEPT")
    group.define("QM1", QueueLocal(name="TEMPLATE", disposition="GROUP"))
    sender = group.connect("QM1")
    for queue in ("SHARED", "KEPT"):
        sender.put1(queue, b"kept", MQMD(persistence=1))
    return group


@pytest.fixture
def used(pair: TestGroup) -> TestGroup:
    membership = start(pair)
    repository = pair.repository("QM2")
    repository.make_transmit_parts("QM2")
    pair.define_private("QM2", "ORDERS")
    pair.define("QM2", QueueAlias(name="ALIAS", target="ORDERS"))
    connection = pair.connect("QM2")
    for queue in ("ORDERS", "SHARED"):
        connection.put1(queue, b"gone", MQMD(persistence=1))
        with connection.open(queue, GET) as source:
            if queue == "ORDERS":
                assert source.get(GetOption.SYNCPOINT).body == b"gone"
    connection.commit()
    connection.disconnect()
    stop(pair, membership)
    return pair


def stop(group: TestGroup, membership: Membership) -> None:
    """What is left of it is recovered as a stop does; then it is down."""
    if not membership.leave([]):
        connection = group.connect("QM1").connection
        assert recover(group.group, connection, membership.token, force=True, state="STOPPED").is_resolved
        connection.disconnect()


def traces(group: TestGroup, qmgr: str = "QM2") -> list[str]:
    """Where a manager is spoken of in Redis: keys, and what is in them."""
    found = []
    for key, held in contents(group).items():
        text = f"{key.decode()} {held!r}"
        if f"@{qmgr}" in key.decode() or qmgr in text:
            found.append(text)
    return found


def attempts(group: Group, act: Callable[[int, str], None], *, after: bool) -> None:
    """Have something happen before or behind each script of this group object."""
    call, count = group.call, 0

    def hooked(name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        nonlocal count
        count += 1
        number = count
        if not after:
            act(number, name)
        reply = call(name, keys, args)
        if after:
            act(number, name)
        return reply

    group.call = hooked  # type: ignore[method-assign]


def killed_behind(group: TestGroup, scripts: int) -> bool:
    """Remove QM2 in a process that is killed behind so many scripts; whether it came so far."""
    pid = os.fork()
    if pid == 0:
        try:

            def kill(number: int, _: str) -> None:
                if number == scripts:
                    os.kill(os.getpid(), signal.SIGKILL)

            attempts(group.group, kill, after=True)
            with suppress(RemovalRefusedError):
                remove_member(group.group, "QM2")
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def state_of(group: TestGroup) -> dict[bytes, object]:
    """Everything, but for the numbers that attempts to remove a member use up."""
    held = contents(group)
    keys = group.group.keys
    numbers: Any = held[keys.group.encode()]
    held[keys.group.encode()] = {name: value for name, value in numbers.items() if not name.startswith(b"incarnation")}
    members: Any = held[keys.members.encode()]
    held[keys.members.encode()] = {name: json.loads(text) for name, text in members.items()}
    for key in [key for key in held if key.endswith(b":ver")]:
        versions: Any = held[key]
        kept = {name: value for name, value in versions.items() if not name.startswith(b"QMGR ")}
        held[key] = kept
        if not kept:
            del held[key]
    return held


def gone(group: TestGroup) -> bool:
    return [member.name for member in group.group.members()] == ["QM1"]


# -- what is gone, and what stays ---------------------------------------------------------------------------------


def test_nothing_but_numbers_is_left_of_it(used: TestGroup) -> None:
    remove_member(used.group, "QM2")

    keys = used.group.keys
    client = used.group.client()
    assert gone(used)
    assert client.hget(keys.group, "incarnation QM2") == b"2"
    assert client.hget(keys.fence, "QM2") == b"2"
    failures: Any = client.hget(keys.failures, "@QM2")
    assert failures.split()[::2] == [b"ACTIVE", b"1"]
    client.hdel(keys.group, "incarnation QM2")
    client.hdel(keys.fence, "QM2")
    client.hdel(keys.failures, "@QM2")
    # Structures know that its incarnations are dead; what its programs have put on shared queues stays.
    left = [key for key in (each.split()[0] for each in traces(used)) if not key.endswith((":fence", ":journal", ":m"))]
    assert left == []


def test_everything_of_others_stays(pair: TestGroup) -> None:
    before = state_of(pair)
    stop(pair, start(pair))
    remove_member(pair.group, "QM2")

    after, keys = state_of(pair), pair.group.keys
    for key in (keys.fence, keys.failures, keys.group):
        # The three numbers, and counters of definitions and structures.
        before.pop(key.encode(), None), after.pop(key.encode(), None)
    assert after == before


def test_status_and_displays_know_it_no_more(used: TestGroup) -> None:
    remove_member(used.group, "QM2")

    status = read_status(used.settings)
    assert [each.name for each in status.managers] == ["QM1"]
    assert {each.owner for each in status.queues} == {None, "QM1"}
    assert [each.name for each in status.structures] == ["APPL1"]
    assert all("QM2" not in each.failed for each in status.recoveries)
    out = io.StringIO()
    assert run_mqsc(["DIS GROUP\n", "DIS QUEUE(*)\n"], used.repository("QM1"), out) == 0
    assert "(QM2)" not in out.getvalue()
    with pytest.raises(MQIError) as caught:
        used.connect("QM1").put1("ORDERS", b"x", qmgr_name="QM2")
    assert caught.value.reason == MQRC.UNKNOWN_REMOTE_Q_MGR


def test_started_again_it_is_a_new_member(used: TestGroup) -> None:
    remove_member(used.group, "QM2")

    assert start(used).incarnation == 3
    repository = used.repository("QM2")
    assert (repository.lookup("ORDERS"), repository.lookup("ALIAS")) == (None, None)
    copy = repository.locate("TEMPLATE")
    assert copy is not None
    assert copy.disposition == "COPY"
    assert {place.structure for place in repository.make_transmit_parts("QM2")} == {"APPL1"}
    used.define_private("QM2", "ORDERS")
    sender = used.connect("QM1")
    sender.put1("ORDERS", b"private", MQMD(persistence=1), qmgr_name="QM2")
    sender.put1("SHARED", b"shared", MQMD(persistence=1), qmgr_name="QM2")
    assert [stored.state.depth for stored in parts(used).values()] == [1, 1]


def test_the_last_member_can_go_too(pair: TestGroup) -> None:
    stop(pair, start(pair))
    remove_member(pair.group, "QM2")
    leases = pair.group.keys.leases
    # As after a stop: nothing is left under it.
    pair.group.client().delete(leases)
    assert "queue KEPT of QM1 has messages (1): start QM1, and get or CLEAR" in outcome(
        lambda: remove_member(pair.group, "QM1")
    )
    pair.repository("QM1").clear("KEPT")
    remove_member(pair.group, "QM1")

    assert pair.group.members() == []


# -- what stands against it ---------------------------------------------------------------------------------------


def refuse(group: TestGroup, why: str) -> None:
    """It is refused with these words, and nothing has changed."""
    before = state_of(group)
    for _ in range(2):
        with pytest.raises(RemovalRefusedError, match=why):
            remove_member(group.group, "QM2")
        assert state_of(group) == before


def test_one_that_is_not_there(group: TestGroup) -> None:
    with pytest.raises(RemovalRefusedError, match=r"^there is no queue manager QMM1 in group T\w+: QM1$"):
        remove_member(group.group, "QMM1")


def test_one_that_runs(pair: TestGroup) -> None:
    start(pair)

    refuse(pair, r"^queue manager QM2 is running: igq qmgr stop QM2 stops it$")


def test_one_that_has_still_to_be_recovered(pair: TestGroup) -> None:
    membership = start(pair)
    pair.group.client().zadd(pair.group.keys.leases, {membership.token: 1})

    refuse(pair, rf"^{membership.token} has still to be recovered: start QM2, or another queue manager of the group$")


def test_one_whose_program_has_still_to_be_recovered(used: TestGroup) -> None:
    used.group.client().zadd(used.group.keys.leases, {"QM2.1.77": 1})

    refuse(used, r"^QM2\.1\.77 has still to be recovered")


@pytest.mark.parametrize("target", ["QM2.1", "QM2.1.7.2", "QM1.1.9"])
def test_while_a_claim_on_anything_is_open(used: TestGroup, target: str) -> None:
    """Who is recovered may have left something at this manager, too."""
    used.group.client().zadd(used.group.keys.leases, {f"!{target}": 1e15})

    refuse(used, rf"^{target} is being recovered: repeat it when igq status says RESOLVED$")


@pytest.mark.parametrize("outcome", ["C", "B"])
def test_with_work_in_doubt(pair: TestGroup, outcome: Any) -> None:
    membership = start(pair)
    pair.define_private("QM2", "ORDERS")
    connection = pair.connect("QM2")
    with connection.open("ORDERS", PUT) as queue:
        queue.put(b"in doubt", options=PutOption.SYNCPOINT)
        prepare(connection.connection, b"xid")
    connection.disconnect()
    stop(pair, membership)

    refuse(
        pair, r"^1 unit of work is in doubt at queue manager QM2: DISPLAY THREAD\(\*\) TYPE\(INDOUBT\) QMNAME\(QM2\)$"
    )
    end_prepared(pair.connect("QM1").connection, b"xid", outcome, qmgr="QM2")
    if outcome == "C":
        refuse(pair, r"^queue ORDERS of QM2 has messages \(1\): start QM2, and get or CLEAR them$")
    else:
        remove_member(pair.group, "QM2")


def test_with_a_message_on_a_queue_of_its_own(used: TestGroup) -> None:
    start_and_put(used)

    refuse(used, r"^queue ORDERS of QM2 has messages \(1\)")
    assert on_orders(used) == [b"kept"]


def start_and_put(group: TestGroup) -> None:
    membership = start(group)
    connection = group.connect("QM2")
    connection.put1("ORDERS", b"kept", MQMD(persistence=1))
    connection.disconnect()
    stop(group, membership)


def on_orders(group: TestGroup) -> list[bytes]:
    """Start QM2, and get what is there."""
    start(group)
    with group.connect("QM2").open("ORDERS", GET) as queue:
        found = []
        with suppress(MQIError):
            while True:
                found.append(queue.get().body)
        return found


@pytest.mark.parametrize(("queue", "structure"), [("ORDERS", "@QM2"), ("SHARED", "APPL1")])
def test_with_a_message_that_is_sent_to_it(used: TestGroup, queue: str, structure: str) -> None:
    """On each of its parts of the transmission queue."""
    used.connect("QM1").put1(queue, b"on its way", MQMD(persistence=1), qmgr_name="QM2")
    assert [place.structure for place, each in parts(used).items() if each.state.depth] == [structure]

    refuse(used, r"^SYSTEM\.QSG\.TRANSMIT\.QUEUE for QM2 has messages \(1\): start QM2, it takes them$")


def test_with_a_message_whose_expiry_has_still_to_be_reported(used: TestGroup) -> None:
    """It stands on no queue any more."""
    messages = used.group.structure("@QM2").messages
    used.group.client().hset(messages, "17x", b"record")

    refuse(used, r"^1 messages of QM2 are on no queue: expired, and to be reported by a queue manager that runs$")


def test_with_uncommitted_work_of_another(used: TestGroup) -> None:
    sender = used.connect("QM1")
    with sender.open("ORDERS", PUT, qmgr_name="QM2") as queue:
        queue.put(b"uncommitted", options=PutOption.SYNCPOINT)

    refuse(used, r"^SYSTEM\.QSG\.TRANSMIT\.QUEUE for QM2 has uncommitted messages \(1\)")
    sender.backout()
    sender.put1("SHARED", b"and goes on")
    remove_member(used.group, "QM2")


def test_with_a_handle_of_another_program(used: TestGroup) -> None:
    sender = used.connect("QM1")
    queue = sender.open("ORDERS", PUT, qmgr_name="QM2")

    refuse(
        used, rf"^SYSTEM\.QSG\.TRANSMIT\.QUEUE for QM2 is open, by .* \(pid {os.getpid()}, QM1\.1\.\d+\.\d+\): it must"
    )
    queue.put(b"the handle is as good as before", MQMD(persistence=1))
    queue.close()
    refuse(used, r"has messages \(1\)")


# -- those who live -----------------------------------------------------------------------------------------------


def test_a_program_that_once_sent_to_it_goes_on(used: TestGroup) -> None:
    """Its connection knows the structure that is gone: it loses nothing, and sends to the next manager of that name."""
    sender = used.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()
    with sender.open("SHARED", PUT) as shared:
        shared.put(b"uncommitted", options=PutOption.SYNCPOINT)
        remove_member(used.group, "QM2")
        start(used)
        used.define_private("QM2", "ORDERS")
        with pytest.raises(MQIError) as caught:
            sender.put1("ORDERS", b"first", MQMD(persistence=1), qmgr_name="QM2")
        assert caught.value.reason == MQRC.CF_STRUC_FAILED
        sender.put1("ORDERS", b"again", MQMD(persistence=1), qmgr_name="QM2")
        shared.put(b"and more", options=PutOption.SYNCPOINT)
        sender.commit()
    assert sender.disconnect() == MQRC.NONE
    with used.connect("QM1").open("SHARED", GET) as queue:
        assert [queue.get().body for _ in range(4)] == [b"kept", b"gone", b"uncommitted", b"and more"]


def test_a_program_that_once_sent_to_it_ends_in_good_order(used: TestGroup) -> None:
    sender = used.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()
    remove_member(used.group, "QM2")

    assert sender.disconnect() == MQRC.NONE
    assert traces_of_leases(used) == []


def traces_of_leases(group: TestGroup) -> list[bytes]:
    """Lost connections, which somebody would have to recover."""
    leases: Any = group.group.client().zrange(group.group.keys.leases, 0, -1)
    return [lease for lease in leases if lease.count(b".") == 3]


def test_whoever_recovered_something_there_recovers_on(used: TestGroup) -> None:
    """A recoverer enters every structure, and stays in it."""
    worker = used.connect("QM1").connection
    assert recover_a_program(used, worker)
    remove_member(used.group, "QM2")
    assert recover_a_program(used, worker)
    start(used)
    # It finds that the structure is not the one that it knew; the watch calls again.
    with pytest.raises(MQIError) as caught:
        recover_a_program(used, worker)
    assert caught.value.reason == MQRC.CF_STRUC_FAILED
    assert recover_a_program(used, worker)


def recover_a_program(group: TestGroup, worker: Connection) -> bool:
    """A program of QM1 dies with uncommitted work; whether that is resolved."""
    victim = group.connect("QM1")
    victim.open("SHARED", PUT).put(b"uncommitted", options=PutOption.SYNCPOINT)
    return recover(group.group, worker, victim.connection.process.token, force=True).is_resolved


# -- cut off, overtaken, at the same time -------------------------------------------------------------------------


def test_it_takes_so_many_scripts(used: TestGroup) -> None:
    """Those tests that interrupt it behind each would otherwise leave some out."""
    assert not killed_behind(used, SCRIPTS_REFUSED)
    assert gone(used)


def test_one_that_is_refused_takes_so_many(used: TestGroup) -> None:
    send_on_its_way(used)

    assert not killed_behind(used, SCRIPTS_REFUSED + 1)
    assert killed_behind(used, SCRIPTS_REFUSED)


def send_on_its_way(group: TestGroup) -> None:
    """Onto the part that a removal comes to last."""
    group.connect("QM1").put1("SHARED", b"on its way", MQMD(persistence=1), qmgr_name="QM2")


def outcome(act: Callable[[], object]) -> str:
    """What is said against it; empty where it was done."""
    try:
        act()
    except (CommandError, RemovalRefusedError, MQIError) as error:
        return str(error)
    return ""


def interrupted(group: TestGroup, scripts: int, act: Callable[[], str]) -> tuple[str, str]:
    """Remove QM2 while another process does something before that script: what was said to each."""
    said: list[str] = []
    remover = Group(group.settings)

    def before(number: int, _: str) -> None:
        if number == scripts:
            said.append(act())

    attempts(remover, before, after=False)
    refusal = outcome(lambda: remove_member(remover, "QM2"))
    remover.leave()
    (other,) = said
    return refusal, other


@pytest.mark.parametrize("scripts", EACH)
def test_killed_once_behind_this_script_the_next_attempt_completes_it(used: TestGroup, scripts: int) -> None:
    assert killed_behind(used, scripts)

    assert gone(used) == (scripts == SCRIPTS)
    if scripts < SCRIPTS:
        assert outcome(lambda: start(used)).endswith(
            "is being removed from the group: igq group remove QM2 completes that"
        )
        remove_member(used.group, "QM2")

    assert [each for each in traces(used) if "@QM2:" in each.split()[0]] == []
    assert start(used).incarnation > 2


@pytest.mark.parametrize("scripts", EACH_REFUSED)
def test_killed_while_it_is_refused_the_next_attempt_leaves_all_as_it_was(used: TestGroup, scripts: int) -> None:
    send_on_its_way(used)
    before = state_of(used)
    assert killed_behind(used, scripts)

    assert "has messages" in outcome(lambda: remove_member(used.group, "QM2"))

    assert state_of(used) == before
    start(used)
    with used.connect("QM2").open("ORDERS", PUT) as queue:
        queue.put(b"as before")


@pytest.mark.parametrize("scripts", EACH)
def test_an_attempt_that_was_paused_changes_nothing_of_the_next_manager(used: TestGroup, scripts: int) -> None:
    """It wakes up before any of its scripts, when another attempt has ended and the name is used again."""

    def overtake() -> str:
        remove_member(used.group, "QM2")
        start(used)
        used.repository("QM2").make_transmit_parts("QM2")
        used.define_private("QM2", "ORDERS")
        connection = used.connect("QM2")
        connection.put1("ORDERS", b"new", MQMD(persistence=1))
        connection.disconnect()
        send_on_its_way(used)
        return ""

    refusal, _ = interrupted(used, scripts, overtake)

    assert "goes on elsewhere" in refusal or "is running" in refusal
    with used.connect("QM2").open("ORDERS", GET) as queue:
        assert queue.get().body == b"new"
    assert sum(stored.state.depth for stored in parts(used).values()) == 1
    assert used.repository("QM2").locate("TEMPLATE") is not None
    member = used.group.member("QM2")
    assert member is not None
    assert (member.state, member.is_leaving) == ("RUNNING", False)


@pytest.mark.parametrize("scripts", EACH)
def test_of_two_attempts_the_later_one_goes_on(used: TestGroup, scripts: int) -> None:
    refusal, other = interrupted(used, scripts, lambda: outcome(lambda: remove_member(used.group, "QM2")))

    assert other == ""
    assert "goes on elsewhere" in refusal or "there is no queue manager QM2" in refusal
    assert gone(used)
    assert [each for each in traces(used) if "@QM2:" in each.split()[0]] == []


@pytest.mark.parametrize("scripts", EACH)
def test_a_start_in_the_middle_comes_first_or_is_refused(used: TestGroup, scripts: int) -> None:
    def begin() -> str:
        return outcome(lambda: Membership.join(used.group, "QM2", {"pid": 1, "host": "here"}, fail_to_wait))

    refusal, other = interrupted(used, scripts, begin)

    if scripts == 1:
        assert (refusal, other) == ("queue manager QM2 is running: igq qmgr stop QM2 stops it", "")
    else:
        assert (refusal, "is being removed" in other) == ("", True)
    assert gone(used) == (scripts > 1)


@pytest.mark.parametrize("scripts", EACH_REFUSED)
def test_an_alter_of_the_transmission_queue_in_the_middle_of_a_refusal_counts(used: TestGroup, scripts: int) -> None:
    """Also for the parts that are shut at that moment."""
    send_on_its_way(used)

    def alter() -> str:
        used.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 4711})
        return ""

    refusal, _ = interrupted(used, scripts, alter)

    assert "has messages" in refusal
    stored = parts(used)
    assert [each.definition.max_depth for each in stored.values()] == [4711, 4711]
    assert len({each.version for each in stored.values()}) == 1


@pytest.mark.parametrize("scripts", EACH)
def test_an_alter_of_the_transmission_queue_in_the_middle_opens_nothing(used: TestGroup, scripts: int) -> None:
    def alter() -> str:
        used.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 4711})
        return ""

    refusal, _ = interrupted(used, scripts, alter)

    assert refusal == ""
    assert [each for each in traces(used) if "@QM2:" in each.split()[0] or "@QM2 " in each] == []


@pytest.mark.parametrize("scripts", EACH)
def test_a_put_in_the_middle_is_refused_or_refuses_the_removal(used: TestGroup, scripts: int) -> None:
    """Over a connection that has sent to it before, so that it knows its structure."""
    sender = used.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()

    refusal, other = interrupted(
        used, scripts, lambda: outcome(lambda: sender.put1("ORDERS", b"sent", MQMD(persistence=1), qmgr_name="QM2"))
    )

    if scripts == 1:
        assert ("has messages (1)" in refusal, other) == (True, "")
    else:
        assert (refusal, "MQRC_UNKNOWN_REMOTE_Q_MGR" in other) == ("", True)
    sender.put1("SHARED", b"goes on")
    assert sender.disconnect() == MQRC.NONE


@pytest.mark.parametrize("scripts", EACH)
def test_a_put_that_found_its_way_before_loses_nothing(
    used: TestGroup, scripts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had resolved the name before the removal began, and comes to its structure in the middle of it."""
    sender = used.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()
    route = resolve(sender.connection, "ORDERS", "QM2")
    put = partial(sender.put1, "ORDERS", b"sent", MQMD(persistence=1), qmgr_name="QM2")

    def late() -> str:
        with monkeypatch.context() as patch:
            patch.setattr("sharedq.resolution.resolve", lambda *_, **__: route)
            return outcome(put)

    refusal, other = interrupted(used, scripts, late)

    # One of the two: it is put and stays, or the manager is removed.
    assert (refusal == "") == (other != "")
    if not other:
        assert sum(stored.state.depth for stored in parts(used).values()) == 1


def parts(group: TestGroup) -> dict[Place, StoredQueue]:
    """QM2's parts of the transmission queue."""
    places = [own_part("QM2"), part_in("APPL1", "QM2")]
    return Finder(group.group, "QM2", lambda: datetime.now(UTC)).queues.read_at(places)


def test_a_member_that_is_being_removed_is_noted_as_that(used: TestGroup) -> None:
    killed_behind(used, 1)

    member = used.group.member("QM2")
    assert member is not None
    assert member.is_leaving
    keys = used.group.keys
    text: Any = used.group.client().hget(keys.members, "QM2")
    assert json.loads(text)["stage"] == "SHUTTING"
    assert private_structure("QM2") in used.group.structure_names()
