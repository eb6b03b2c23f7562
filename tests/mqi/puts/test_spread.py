"""An alias with SPREAD: several queues, in several structures, share the messages that are put through one name."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sharedq.api import Queue
from sharedq.mqi.constants import MQRC, GetOption, MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.support.agents import AgentOfQM2, drain
from tests.support.backups import mqsc
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import on_queue

#: The queues, and their structures.
PLACES = {"ORDERS.1": "APPL1", "ORDERS.2": "APPL2", "ORDERS.3": "APPL3"}
OUTPUT = OpenOption.OUTPUT
LOGICAL = PutOption.LOGICAL_ORDER | PutOption.SYNCPOINT
IN_GROUP, LAST = int(MsgFlag.MSG_IN_GROUP), int(MsgFlag.LAST_MSG_IN_GROUP)
BINDS = {
    "OPEN": OpenOption.BIND_ON_OPEN,
    "NOTFIXED": OpenOption.BIND_NOT_FIXED,
    "GROUP": OpenOption.BIND_ON_GROUP,
}


@pytest.fixture
def orders(group: TestGroup) -> TestGroup:
    """QM1 and QM2 have ORDERS, which stands for three shared queues in three structures."""
    group.add_member("QM2")
    for name, structure in PLACES.items():
        group.define_structure(structure)
        group.define_shared(name, structure)
    for qmgr in ("QM1", "QM2"):
        group.define(qmgr, alias())
    return group


def alias(**attributes: Any) -> QueueAlias:
    return QueueAlias(**{"name": "ORDERS", "target": "ORDERS.1", "spread": "ORDERS.2,ORDERS.3", **attributes})


def found(group: TestGroup) -> dict[str, list[bytes]]:
    """The bodies on each queue, in delivery order."""
    return {name: [body for body, _ in on_queue(group, name, structure)] for name, structure in PLACES.items()}


def all_found(group: TestGroup) -> list[bytes]:
    return [body for its in found(group).values() for body in its]


def handles(group: TestGroup) -> int:
    return sum(group.repository("QM1").queue_status(name).open_output for name in PLACES)


@pytest.mark.rule("mqi/spread", "MQOO_BIND_NOT_FIXED: each message of an alias with SPREAD goes to the next queue.")
@pytest.mark.parametrize("by_default", [True, False])
def test_single_messages_go_to_each_queue_in_turn(orders: TestGroup, by_default: bool) -> None:
    options = OUTPUT
    if by_default:
        orders.repository("QM1").alter("QALIAS", "ORDERS", {"def_bind": "NOTFIXED"})
    else:
        options |= OpenOption.BIND_NOT_FIXED
    queue = orders.connect().open("ORDERS", options)
    for number in range(30):
        queue.put(b"%d" % number, MQMD(correl_id=b"one"))
    assert [len(its) for its in found(orders).values()] == [10, 10, 10]
    queue.close()
    assert handles(orders) == 0


@pytest.mark.rule("mqi/spread", "MQOO_BIND_ON_OPEN: all messages of a handle go to one queue of an alias with SPREAD.")
def test_a_handle_that_is_bound_on_open_keeps_to_one_queue(orders: TestGroup) -> None:
    used: Counter[str] = Counter()
    for _ in range(40):
        with orders.connect() as connection:
            queue = connection.open("ORDERS", OUTPUT)
            queue.put_many([(MQMD(), b"x")] * 3)
            queue.put(b"x")
            before = {name: len(its) for name, its in found(orders).items()}
            (name,) = [name for name, count in before.items() if count > 4 * used[name]]
            assert before[name] == 4 * (used[name] + 1)
            used[name] += 1
    assert len(used) == 3


@pytest.mark.rule(
    "mqi/spread",
    "MQOO_BIND_ON_GROUP: messages with one CorrelId, and groups, go to one queue of an alias with SPREAD, in order.",
)
@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("options", [0, PutOption.SYNCPOINT, PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE])
def test_messages_with_one_correl_id_go_to_one_queue_in_order(orders: TestGroup, options: int, many: bool) -> None:
    """Whichever program and manager puts them."""
    connections = [orders.connect(qmgr) for qmgr in ("QM1", "QM2", "QM2")]
    queues = [each.open("ORDERS", OUTPUT | OpenOption.BIND_ON_GROUP) for each in connections]
    sent: dict[bytes, list[bytes]] = {b"%d" % key: [] for key in range(12)}
    for number in range(120):
        key = b"%d" % (number * 7 % 12)
        its = [b"%s %d" % (key, each) for each in range(number, number + 1 + many)]
        queue = queues[number % 3]
        if many:
            queue.put_many([(MQMD(correl_id=key), body) for body in its], options=options)
        else:
            queue.put(its[0], MQMD(correl_id=key), options=options)
        connections[number % 3].commit()
        sent[key] += its
    there = found(orders)
    assert sum(len(its) for its in there.values()) == sum(map(len, sent.values()))
    for key, bodies in sent.items():
        (its,) = [its for its in there.values() if any(body.startswith(key + b" ") for body in its)]
        assert [body for body in its if body.startswith(key + b" ")] == bodies
    assert len([its for its in there.values() if its]) == 3


@pytest.mark.parametrize("is_group", [True, False])
def test_zeros_at_the_end_of_an_identifier_change_nothing(orders: TestGroup, is_group: bool) -> None:
    """One program leaves them out, another one does not."""
    queue = orders.connect().open("ORDERS", OUTPUT | OpenOption.BIND_ON_GROUP)
    for number in range(24):
        for identifier in (b"%d" % number, (b"%d" % number).ljust(24, b"\0")):
            if is_group:
                queue.put(b"%d" % number, MQMD(version=2, msg_flags=IN_GROUP, group_id=identifier))
            else:
                queue.put(b"%d" % number, MQMD(correl_id=identifier))
    assert all(count == 2 for its in found(orders).values() for count in Counter(its).values())
    before = {name: len(its) for name, its in found(orders).items()}
    for _ in range(3):
        queue.put(b"none", MQMD(correl_id=b""))
    assert {name: len(its) for name, its in found(orders).items()} == {name: its + 1 for name, its in before.items()}


@pytest.mark.parametrize("bind", ["NOTFIXED", "GROUP"])
def test_a_group_stays_together(orders: TestGroup, bind: str) -> None:
    """In logical order, and when another program goes on with it by its GroupId."""
    queue = orders.connect().open("ORDERS", OUTPUT | BINDS[bind])
    other = orders.connect("QM2").open("ORDERS", OUTPUT | BINDS[bind])
    for group in range(12):
        md = MQMD(version=2, msg_flags=IN_GROUP)
        for number in range(3):
            queue.put(b"%d %d" % (group, number), md, options=PutOption.LOGICAL_ORDER)
        other.put(b"%d 3" % group, MQMD(version=2, msg_flags=IN_GROUP, group_id=md.group_id, msg_seq_number=4))
        queue.put(b"%d 4" % group, MQMD(version=2, msg_flags=LAST), options=PutOption.LOGICAL_ORDER)
        queue.put(b"single")
    there = {name: [each.body for each in drain(orders.connect(), name)] for name in PLACES}
    for group in range(12):
        holders = [name for name, its in there.items() if any(body.startswith(b"%d " % group) for body in its)]
        assert len(holders) == 1
    assert len({name for name, its in there.items() if its}) == 3


def test_a_unit_of_work_over_all_of_them_is_committed_or_backed_out_whole(orders: TestGroup) -> None:
    connection = orders.connect()
    queue = connection.open("ORDERS", OUTPUT | OpenOption.BIND_NOT_FIXED)
    for end in (connection.backout, connection.commit):
        for number in range(6):
            queue.put(b"%d" % number, options=PutOption.SYNCPOINT)
        queue.put_many([(MQMD(), b"many")] * 2, options=PutOption.SYNCPOINT)
        assert not any(found(orders).values())
        end()
    assert sorted(all_found(orders)) == [*(b"%d" % number for number in range(6)), b"many", b"many"]


def lose(group: TestGroup, structure: str) -> None:
    client = group.group.client()
    client.delete(*client.keys(f"{{{group.group.name}:{structure}}}*"))


REFUSED: dict[str, tuple[dict[str, Any], MQRC]] = {
    "inhibited": ({"put": "DISABLED"}, MQRC.PUT_INHIBITED),
    "full": ({"max_depth": 0}, MQRC.Q_FULL),
}


@pytest.mark.rule("mqi/spread", "A message that may go anywhere goes to another queue if one cannot take it.")
@pytest.mark.parametrize("in_unit", [True, False])
@pytest.mark.parametrize("case", REFUSED)
def test_a_queue_that_takes_nothing_is_passed_over(orders: TestGroup, case: str, in_unit: bool) -> None:
    changes, reason = REFUSED[case]
    connection = orders.connect()
    options = PutOption.SYNCPOINT if in_unit else PutOption.NO_SYNCPOINT
    turns = connection.open("ORDERS", OUTPUT | OpenOption.BIND_NOT_FIXED)
    keyed = connection.open("ORDERS", OUTPUT | OpenOption.BIND_ON_GROUP)
    turns.put_many([(MQMD(), b"before")] * 3)
    repository = orders.repository("QM1")
    repository.alter("QLOCAL", "ORDERS.2", changes)
    reasons: Counter[int] = Counter()
    for number in range(12):
        turns.put(b"%d" % number, options=options)
        try:
            keyed.put(b"k", MQMD(correl_id=b"%d" % number), options=options)
            reasons[MQRC.NONE] += 1
        except MQIError as error:
            reasons[error.reason] += 1
    connection.commit()
    assert set(reasons) == {MQRC.NONE, reason}
    assert b"k" not in found(orders)["ORDERS.2"]
    for name in ("ORDERS.1", "ORDERS.3"):
        repository.alter("QLOCAL", name, changes)
    assert reason_of(lambda: turns.put(b"nowhere", options=options)) == reason
    connection.commit()
    assert Counter(all_found(orders)) == Counter(
        {b"before": 3, b"k": reasons[MQRC.NONE], **{b"%d" % number: 1 for number in range(12)}}
    )


@pytest.mark.parametrize("bind", BINDS)
def test_a_structure_that_has_failed_takes_its_messages_only(orders: TestGroup, bind: str) -> None:
    connection = orders.connect()
    before = connection.open("ORDERS", OUTPUT | BINDS["NOTFIXED"])
    before.put_many([(MQMD(), b"before")] * 3)
    for _ in range(3):
        before.put(b"before")
    lose(orders, "APPL2")
    queue = connection.open("ORDERS", OUTPUT | BINDS[bind])
    for number in range(9):
        queue.put(b"%d" % number)
        before.put(b"more")
    there = found(orders)
    assert there["ORDERS.2"] == []
    assert sum(len(its) for its in there.values()) >= 18


@pytest.mark.rule("mqi/spread", "A change of SPREAD or of a queue that it names makes open handles fail with 2041.")
@pytest.mark.parametrize("bind", BINDS)
def test_other_queues_are_for_those_who_open_it_again(orders: TestGroup, bind: str) -> None:
    connection = orders.connect()
    queue = connection.open("ORDERS", OUTPUT | BINDS[bind])
    for _ in range(3):
        queue.put(b"before", MQMD(correl_id=b"1"))
    repository = orders.repository("QM1")
    repository.alter("QALIAS", "ORDERS", {"description": "nothing"})
    queue.put(b"before")
    repository.alter("QALIAS", "ORDERS", {"spread": "ORDERS.2"})
    assert reason_of(lambda: queue.put(b"late", MQMD(correl_id=b"1"))) == MQRC.OBJECT_CHANGED
    queue.close()
    queue = connection.open("ORDERS", OUTPUT | BINDS[bind])
    later = len(found(orders)["ORDERS.3"])
    for number in range(10):
        queue.put(b"after", MQMD(correl_id=b"%d" % number))
    assert len(found(orders)["ORDERS.3"]) == later
    repository.alter("QALIAS", "ORDERS", {"put": "DISABLED"})
    assert reason_of(lambda: queue.put(b"late")) == MQRC.PUT_INHIBITED


@pytest.mark.rule("mqi/spread", "MQOPEN for input of an alias with SPREAD opens the queue with the fewest getters.")
def test_each_getter_has_the_queue_with_the_fewest(orders: TestGroup) -> None:
    sender = orders.connect("QM2").open("ORDERS", OUTPUT | OpenOption.BIND_NOT_FIXED)
    for number in range(9):
        sender.put(b"%d" % number)
    got: list[bytes] = []
    getters: list[Queue] = []
    for _ in range(3):
        getters.append(orders.connect().open("ORDERS", OpenOption.INPUT_SHARED))
        got += [getters[-1].get(GetOption.NO_SYNCPOINT).body for _ in range(3)]
        assert reason_of(getters[-1].get) == MQRC.NO_MSG_AVAILABLE
    assert sorted(got) == [b"%d" % number for number in range(9)]


def test_an_alias_that_is_inhibited_for_gets_is_so_at_each_queue(orders: TestGroup) -> None:
    getters = [orders.connect().open("ORDERS", OpenOption.INPUT_SHARED) for _ in range(3)]
    orders.repository("QM1").alter("QALIAS", "ORDERS", {"get": "DISABLED"})
    assert [reason_of(getter.get) for getter in getters] == [MQRC.GET_INHIBITED] * 3


@pytest.mark.rule("mqi/spread", "An open alias with SPREAD is one handle, however many queues have its messages.")
def test_an_alias_counts_as_one_handle(orders: TestGroup) -> None:
    orders.repository("QM1").alter_qmgr("QM1", {"max_handles": 2})
    connection = orders.connect()
    queue = connection.open("ORDERS", OUTPUT | OpenOption.BIND_NOT_FIXED)
    for structure in ("APPL2", "APPL3", ""):
        for _ in range(6):
            queue.put(b"x")
        with connection.open("ORDERS.1", OUTPUT):
            assert reason_of(lambda: connection.open("ORDERS.1", OUTPUT)) == MQRC.HANDLE_NOT_AVAILABLE
        if structure:
            lose(orders, structure)
    queue.close()
    assert connection.connection.handles == {}


def test_mqput1_chooses_as_well(orders: TestGroup) -> None:
    connection = orders.connect()
    orders.repository("QM1").alter("QALIAS", "ORDERS", {"def_bind": "GROUP"})
    for number in range(24):
        connection.put1("ORDERS", b"x", MQMD(correl_id=b"%d" % (number % 8)))
    assert all(len(its) % 3 == 0 for its in found(orders).values())
    assert len([its for its in found(orders).values() if its]) > 1
    assert handles(orders) == 0


@pytest.mark.rule("mqi/spread", "Reports and publications go where DEFBIND of their alias with SPREAD says.")
@pytest.mark.parametrize("kind", ["reports", "publications"])
def test_messages_of_queue_managers_go_to_the_queue_of_their_correl_id(orders: TestGroup, kind: str) -> None:
    orders.repository("QM1").alter("QALIAS", "ORDERS", {"def_bind": "GROUP"})
    orders.define_shared("Q")
    connection = orders.connect()
    keys = [b"%d" % number for number in range(12)]
    for key in keys:
        connection.put1("ORDERS", b"a program's", MQMD(correl_id=key))
    if kind == "reports":
        queue, report = connection.open("Q", OUTPUT), Report.COA | Report.PASS_CORREL_ID
        queue.put_many([(MQMD(report=int(report), reply_to_q=b"ORDERS", correl_id=key), b"x") for key in keys])
    else:
        for key in keys:
            publish_for(orders, key)
    assert sum(map(len, found(orders).values())) == 24
    holders = {name: sorted(each.md.correl_id.rstrip(b"\0") for each in drain(connection, name)) for name in PLACES}
    assert sorted(key for its in holders.values() for key in set(its)) == sorted(keys)


def publish_for(group: TestGroup, key: bytes) -> None:
    """Publish for a subscription whose publications have this CorrelId."""
    topic = f"price/{key.decode()}"
    command = f"DEFINE SUB('{topic}') TOPICSTR('{topic}') DEST(ORDERS) DESTCORL({key.ljust(24, bytes(1)).hex()})"
    assert mqsc(group, command)[0] == 0
    with group.connect() as connection:
        connection.open_topic(topic).publish(b"news")


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("kind", ["reports", "publications"])
def test_messages_of_queue_managers_pass_over_a_queue_that_takes_nothing(
    orders: TestGroup, kind: str, case: str
) -> None:
    repository = orders.repository("QM1")
    repository.alter("QALIAS", "ORDERS", {"def_bind": "NOTFIXED"})
    for name in ("ORDERS.1", "ORDERS.2"):
        repository.alter("QLOCAL", name, REFUSED[case][0])
    orders.define_shared("Q")
    connection = orders.connect()
    if kind == "reports":
        md = MQMD(report=int(Report.COA), reply_to_q=b"ORDERS")
        connection.open("Q", OUTPUT).put_many([(md, b"x")] * 9)
    else:
        assert mqsc(orders, "DEFINE SUB(S) TOPICSTR('price') DEST(ORDERS)")[0] == 0
        for _ in range(9):
            connection.open_topic("price").publish(b"news")
    assert [len(its) for its in found(orders).values()] == [0, 0, 9]


def test_messages_from_another_manager_are_spread_where_they_arrive(orders: TestGroup) -> None:
    orders.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    orders.repository("QM2").alter("QALIAS", "ORDERS", {"def_bind": "GROUP"})
    sender = orders.connect("QM1").open("ORDERS", OUTPUT, qmgr_name="QM2")
    for number in range(60):
        sender.put(b"%d %d" % (number % 10, number), MQMD(correl_id=b"%d" % (number % 10)))
    agent = AgentOfQM2(orders)
    agent.serve()
    there = found(orders)
    assert len([its for its in there.values() if its]) > 1
    for key in range(10):
        (its,) = [its for its in there.values() if any(body.startswith(b"%d " % key) for body in its)]
        assert [body for body in its if body.startswith(b"%d " % key)] == [
            b"%d %d" % (key, n) for n in range(key, 60, 10)
        ]


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"target": ""}, "SPREAD names further queues than TARGET"),
        ({"spread": "ORDERS.1"}, "each once"),
        ({"spread": "ORDERS.2,ORDERS.2"}, "each once"),
        ({"target_type": "TOPIC"}, "TARGTYPE"),
        ({"spread": "NO NAME"}, "NO NAME"),
    ],
)
def test_what_is_no_list_of_further_queues_is_refused(attributes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        alias(**attributes)


def test_names_that_lead_to_no_local_queue_are_refused(orders: TestGroup) -> None:
    connection = orders.connect()
    orders.repository("QM1").alter("QALIAS", "ORDERS", {"spread": "ORDERS.2,MISSING"})
    assert reason_of(lambda: connection.open("ORDERS", OUTPUT)) == MQRC.UNKNOWN_ALIAS_BASE_Q
    orders.define("QM1", QueueAlias(name="MISSING", target="ORDERS.2"))
    assert reason_of(lambda: connection.open("ORDERS", OUTPUT)) == MQRC.ALIAS_BASE_Q_TYPE_ERROR
