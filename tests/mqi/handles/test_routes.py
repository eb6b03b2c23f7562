"""Name resolution: the destinations of aliases, remote definitions and names of managers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from sharedq import Message, MQIError
from sharedq.calls.unit.commit import backout
from sharedq.mqi.constants import MQRC, GetOption, MsgFlag, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import MDE, XQH_LENGTH, unpack_xqh
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal, QueueModel, QueueRemote
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.routes import BOTH, manager_alias, transmitted
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.share


@pytest.mark.rule(
    "igq/routes", "With IGQ(ENABLED), a queue at another member is reached through SYSTEM.QSG.TRANSMIT.QUEUE."
)
def test_the_shared_transmit_queue_leads_to_a_queue_at_another_member(pair: TestGroup) -> None:
    pair.connect("QM1").put1("IN", b"over there", qmgr_name="QM2")
    ((header, data),) = transmitted(pair, "QM2")
    assert (header.remote_q_name, header.remote_q_mgr_name, data) == (b"IN", b"QM2", b"over there")


@pytest.mark.rule(
    "igq/undelivered", "Transmission headers describe what follows them, so a message comes out as it went in."
)
@pytest.mark.parametrize("igq", ["ENABLED", "DISABLED"])
@pytest.mark.parametrize("member", [False, True], ids=["alone", "member of a group"])
def test_each_header_on_a_transmission_queue_describes_the_next_one(pair: TestGroup, igq: str, member: bool) -> None:
    pair.repository("QM1").alter_qmgr("QM1", {"igq": igq})
    pair.define_private("QM1", "QM2", usage="XMITQ")
    fields: dict[str, Any] = {"group_id": b"g" * 24, "msg_flags": int(MsgFlag.MSG_IN_GROUP)} if member else {}
    md = MQMD(version=2, format=b"MQSTR", encoding=785, coded_char_set_id=500, **fields)
    pair.connect("QM1").put1("IN", "hello".encode("cp500"), md, qmgr_name="QM2")

    where = ("QM2", SYSTEM_QSG_TRANSMIT_QUEUE) if igq == "ENABLED" else ("QM1", "QM2")
    with pair.connect(where[0]).open(where[1], BOTH) as queue:
        asked = MQMD(version=2, encoding=546, coded_char_set_id=1208)
        browsed, got = queue.get(GetOption.BROWSE_FIRST), queue.get(GetOption.CONVERT, match=asked)

    for message in (browsed, got):
        told = (message.md.format, message.md.encoding, message.md.coded_char_set_id)
        assert (message.reason, told) == (MQRC.NONE, (b"MQXMIT", 546, 1208))
        inner = unpack_xqh(message.body).msg_desc
        told = (inner.format, inner.encoding, inner.coded_char_set_id)
        assert told == ((b"MQHMDE", 546, 1208) if member else (b"MQSTR", 785, 500))
        if member:
            extension = MDE.unpack(message.body[XQH_LENGTH:])
            assert (extension.format, extension.encoding, extension.coded_char_set_id) == (b"MQSTR", 785, 500)
    # The program's own descriptor stays unchanged.
    assert (md.format, md.encoding, md.coded_char_set_id) == (b"MQSTR", 785, 500)


@pytest.mark.parametrize("member", [False, True], ids=["alone", "member of a group"])
@pytest.mark.parametrize("how", [GetOption.NONE, GetOption.WAIT, GetOption.BROWSE_FIRST, GetOption.SYNCPOINT])
def test_a_buffer_for_a_message_from_there_must_have_room_for_the_header(
    pair: TestGroup, how: GetOption, member: bool
) -> None:
    """A limit that is one byte too short is too short, as for any message."""
    queue = pair.connect("QM2").open(SYSTEM_QSG_TRANSMIT_QUEUE, BOTH)
    fields: dict[str, Any] = {"group_id": b"g" * 24, "msg_flags": int(MsgFlag.MSG_IN_GROUP)} if member else {}
    length = XQH_LENGTH + (72 if member else 0) + 5

    def get(room: int, options: GetOption = GetOption.NONE) -> Message:
        if not how & GetOption.WAIT:
            return queue.get(how | options, max_length=room)
        state = pair.group.structure("@QM2").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue
        is_there = on_queue(pair, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(queue.get, how | options, max_length=room, wait_ms=60_000)
            if not is_there:
                until(lambda: pair.group.client().hget(state, "nw") == b"1", "it waits")
                pair.connect("QM1").put1("FAR", b"hello", MQMD(version=2, **fields), qmgr_name="QM2")
            return future.result(30)

    if not how & GetOption.WAIT:
        pair.connect("QM1").put1("FAR", b"hello", MQMD(version=2, **fields), qmgr_name="QM2")
    for room in (length - 1, 5):
        short = get(room)
        assert (short.reason, len(short.body), short.data_length) == (MQRC.TRUNCATED_MSG_FAILED, room, length)
    whole = get(length)
    assert (whole.reason, whole.body[-5:], whole.data_length) == (MQRC.NONE, b"hello", length)
    backout(queue.connection)
    if how & (GetOption.BROWSE_FIRST | GetOption.SYNCPOINT):
        cut = get(7, GetOption.ACCEPT_TRUNCATED_MSG)
        assert (cut.reason, cut.body, cut.data_length) == (MQRC.TRUNCATED_MSG_ACCEPTED, whole.body[:7], length)


@pytest.mark.rule("igq/routes", "Remote and alias definitions lead there too; the first definition gives the defaults.")
def test_remote_and_alias_definitions_lead_there_too(pair: TestGroup) -> None:
    pair.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2", def_persistence="YES"))
    pair.define("QM1", QueueAlias(name="NICK", target="FAR"))
    connection = pair.connect("QM1")
    connection.put1("FAR", b"1")
    connection.put1("NICK", b"2")
    first, second = transmitted(pair, "QM2")
    assert (first[0].msg_desc.persistence, second[0].msg_desc.persistence) == (1, 0)
    assert [data for _, data in (first, second)] == [b"1", b"2"]


def test_an_alias_is_opened_for_input_as_its_target(group: TestGroup) -> None:
    group.define_shared("BASE")
    group.define("QM1", QueueAlias(name="ALIAS", target="BASE"))
    queue = group.connect().open("ALIAS", BOTH)
    queue.put(b"x")
    assert group.connect().open("BASE", BOTH).get().body == b"x"


@pytest.mark.parametrize(
    ("name", "qmgr", "reason"),
    [
        ("NOWHERE", "", MQRC.UNKNOWN_OBJECT_NAME),
        ("", "", MQRC.UNKNOWN_OBJECT_NAME),
        ("  ", "QM2", MQRC.REMOTE_Q_NAME_ERROR),
        ("NORNAME", "", MQRC.REMOTE_Q_NAME_ERROR),
        ("X" * 49, "QM2", MQRC.UNKNOWN_OBJECT_NAME),
        ("X" * 300, "QM2", MQRC.UNKNOWN_OBJECT_NAME),
        ("\u00e4" * 30, "QM2", MQRC.UNKNOWN_OBJECT_NAME),
        ("A B", "QM2", MQRC.UNKNOWN_OBJECT_NAME),
        ("A\nB", "QM2", MQRC.UNKNOWN_OBJECT_NAME),
        ("\n", "QM2", MQRC.UNKNOWN_OBJECT_NAME),
        ("A*", "", MQRC.UNKNOWN_OBJECT_NAME),
        ("IN", "Q M", MQRC.UNKNOWN_OBJECT_Q_MGR),
        ("IN", "Q" * 300, MQRC.UNKNOWN_OBJECT_Q_MGR),
        ("IN", "QM9", MQRC.UNKNOWN_REMOTE_Q_MGR),
        ("BROKEN", "", MQRC.UNKNOWN_ALIAS_BASE_Q),
        ("NOXMITQ", "", MQRC.UNKNOWN_XMIT_Q),
        ("BADXMITQ", "", MQRC.XMIT_Q_USAGE_ERROR),
    ],
)
def test_names_that_do_not_resolve(pair: TestGroup, name: str, qmgr: str, reason: MQRC) -> None:
    pair.define("QM1", QueueAlias(name="BROKEN", target="MISSING"))
    pair.define("QM1", QueueLocal(name="PLAIN"))
    pair.define("QM1", QueueRemote(name="NORNAME", remote_qmgr="QM2"))
    pair.define("QM1", QueueRemote(name="NOXMITQ", remote_queue="IN", remote_qmgr="QM9", transmission_queue="MISSING"))
    pair.define("QM1", QueueRemote(name="BADXMITQ", remote_queue="IN", remote_qmgr="QM9", transmission_queue="PLAIN"))
    with pytest.raises(MQIError) as caught:
        pair.connect("QM1").open(name, OpenOption.OUTPUT, qmgr_name=qmgr)
    assert caught.value.reason == reason
    assert "\n" not in str(caught.value)


TRANSMISSION_QUEUES = {
    "XMITQ": ("WAY", "", (MQRC.UNKNOWN_XMIT_Q, MQRC.XMIT_Q_TYPE_ERROR, MQRC.XMIT_Q_USAGE_ERROR)),
    "named like the manager": (
        "IN",
        "{0}",
        (MQRC.UNKNOWN_REMOTE_Q_MGR, MQRC.XMIT_Q_TYPE_ERROR, MQRC.XMIT_Q_USAGE_ERROR),
    ),
    "DEFXMITQ": ("IN", "QM9", (MQRC.UNKNOWN_DEF_XMIT_Q, MQRC.DEF_XMIT_Q_TYPE_ERROR, MQRC.DEF_XMIT_Q_USAGE_ERROR)),
}


@pytest.mark.rule(
    "igq/routes", "A transmission queue that cannot be used is refused: 2091, 2092, 2196, or 2197 to 2199 for DEFXMITQ."
)
@pytest.mark.parametrize("how", TRANSMISSION_QUEUES)
@pytest.mark.parametrize(
    ("named", "which"), [("NONE", 0), ("NICK", 1), ("MODEL", 1), ("PLAIN", 2), (SYSTEM_QSG_TRANSMIT_QUEUE, 2)]
)
@pytest.mark.parametrize("igq", ["ENABLED", "DISABLED"])
def test_a_bad_transmission_queue_is_refused_by_how_it_was_named(
    pair: TestGroup, how: str, named: str, which: int, igq: str
) -> None:
    """A message for a manager outside the group cannot take SYSTEM.QSG.TRANSMIT.QUEUE."""
    name, qmgr, reasons = TRANSMISSION_QUEUES[how]
    pair.repository("QM1").define(QueueModel(name="MODEL", usage="XMITQ"))
    pair.define_private("QM1", "PLAIN")
    pair.define("QM1", QueueAlias(name="NICK", target="PLAIN"))
    way = QueueRemote(name="WAY", remote_queue="IN", remote_qmgr="QM9", transmission_queue=named)
    pair.define("QM1", way)
    changes = {"igq": igq, "default_transmission_queue": named if how == "DEFXMITQ" else ""}
    pair.repository("QM1").alter_qmgr("QM1", changes)
    connection = pair.connect("QM1")
    assert reason_of(partial(connection.open, name, OpenOption.OUTPUT, qmgr_name=qmgr.format(named))) == reasons[which]
    assert reason_of(partial(connection.put1, name, b"x", qmgr_name=qmgr.format(named))) == reasons[which]


@pytest.mark.rule(
    "igq/routes", "A transmission queue in a definition is not looked at where intra-group queuing leads to the member."
)
def test_intra_group_queuing_ignores_a_definitions_transmission_queue(pair: TestGroup) -> None:
    changes = {"default_transmission_queue": SYSTEM_QSG_TRANSMIT_QUEUE}
    pair.repository("QM1").alter_qmgr("QM1", changes)
    far = QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2", transmission_queue=SYSTEM_QSG_TRANSMIT_QUEUE)
    pair.define("QM1", far)
    pair.connect("QM1").put1("FAR", b"1")
    pair.connect("QM1").put1("IN", b"2", qmgr_name="QM2")
    assert [data for _, data in transmitted(pair, "QM2")] == [b"1", b"2"]


@pytest.mark.rule(
    "igq/routes", "A remote definition without RNAME is an alias of a manager, and leads to that manager."
)
def test_the_alias_of_a_manager_leads_to_it(pair: TestGroup) -> None:
    pair.define("QM1", manager_alias("OLD", "QM2", def_persistence="YES"))
    pair.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="OLD", def_persistence="NO"))
    connection = pair.connect("QM1")
    connection.put1("IN", b"1", qmgr_name="OLD")
    connection.put1("FAR", b"2")
    sent = transmitted(pair, "QM2")
    assert [(header.remote_q_name, header.remote_q_mgr_name, data) for header, data in sent] == [
        (b"IN", b"QM2", b"1"),
        (b"IN", b"QM2", b"2"),
    ]
    # Defaults come from the first definition on the way.
    assert [header.msg_desc.persistence for header, _ in sent] == [1, 0]


@pytest.mark.rule(
    "igq/routes", "A remote definition without RNAME is an alias of a manager, and leads to that manager."
)
@pytest.mark.parametrize("qmgr", ["QM1", "the group"])
def test_the_alias_of_this_manager_leads_here(pair: TestGroup, qmgr: str) -> None:
    pair.define("QM1", manager_alias("OLD", "QM1" if qmgr == "QM1" else pair.group.name))
    pair.define_private("QM1", "HERE")
    pair.connect("QM1").put1("HERE", b"x", qmgr_name="OLD")
    assert [body for body, _ in on_queue(pair, "HERE", "@QM1")] == [b"x"]


@pytest.mark.rule("igq/routes", "An alias of a manager with XMITQ leads there through that transmission queue.")
def test_the_alias_of_a_manager_elsewhere_names_its_transmission_queue(pair: TestGroup) -> None:
    pair.define_private("QM1", "OUT", usage="XMITQ")
    pair.define("QM1", manager_alias("ABROAD", "ABROAD", transmission_queue="OUT"))
    connection = pair.connect("QM1")
    connection.put1("IN", b"x", qmgr_name="ABROAD")
    header = unpack_xqh(connection.open("OUT", BOTH).get().body)
    assert (header.remote_q_name, header.remote_q_mgr_name) == (b"IN", b"ABROAD")


def test_aliases_of_managers_that_lead_in_a_circle_lead_nowhere(pair: TestGroup) -> None:
    pair.define("QM1", manager_alias("A", "B"))
    pair.define("QM1", manager_alias("B", "A"))
    pair.define("QM1", manager_alias("SELF", "SELF"))
    for qmgr in ("A", "SELF"):
        reason = reason_of(partial(pair.connect("QM1").open, "IN", OpenOption.OUTPUT, qmgr_name=qmgr))
        assert reason == MQRC.XMIT_Q_TYPE_ERROR


def test_no_definition_leads_to_a_model_queue(pair: TestGroup) -> None:
    pair.define("QM1", QueueRemote(name="R", remote_queue="SYSTEM.DEFAULT.MODEL.QUEUE", remote_qmgr="QM1"))
    pair.define("QM1", manager_alias("OLD", "QM1"))
    for name, qmgr in (("R", ""), ("SYSTEM.DEFAULT.MODEL.QUEUE", "OLD")):
        reason = reason_of(partial(pair.connect("QM1").open, name, BOTH, qmgr_name=qmgr))
        assert reason == MQRC.Q_TYPE_ERROR


def test_a_remote_queue_cannot_be_opened_for_input(pair: TestGroup) -> None:
    pair.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2"))
    with pytest.raises(MQIError) as caught:
        pair.connect("QM1").open("FAR", OpenOption.INPUT_SHARED)
    assert caught.value.reason == MQRC.OPTION_NOT_VALID_FOR_TYPE


@pytest.mark.rule(
    "igq/routes", "SQQMNAME(IGNORE) opens a shared queue locally; SQQMNAME(USE) sends the message to the named member."
)
def test_sqqmname_ignore_opens_a_shared_queue_right_here(pair: TestGroup) -> None:
    pair.define_shared("SHARED.ONE")
    connection = pair.connect("QM1")
    connection.put1("SHARED.ONE", b"by agent", qmgr_name="QM2")
    assert len(transmitted(pair, "QM2")) == 1
    pair.repository("QM1").alter_qmgr("QM1", {"shared_q_mgr_name": "IGNORE"})
    connection.put1("SHARED.ONE", b"direct", qmgr_name="QM2")
    assert connection.open("SHARED.ONE", BOTH).get().body == b"direct"


def test_a_remote_definition_that_leads_to_itself_does_not_resolve(group: TestGroup) -> None:
    group.define("QM1", QueueRemote(name="LOOP", remote_queue="LOOP", remote_qmgr="QM1"))
    assert reason_of(partial(group.connect().open, "LOOP", OpenOption.OUTPUT)) == MQRC.REMOTE_Q_NAME_ERROR


def test_the_shared_transmit_queue_is_ones_own_part_by_whichever_name(pair: TestGroup) -> None:
    pair.define("QM1", QueueAlias(name="ALIAS", target=SYSTEM_QSG_TRANSMIT_QUEUE))
    connection = pair.connect("QM1")
    connection.put1("ALIAS", b"by alias")
    pair.repository("QM1").alter_qmgr("QM1", {"shared_q_mgr_name": "IGNORE"})
    connection.put1(SYSTEM_QSG_TRANSMIT_QUEUE, b"by another manager's name", qmgr_name="QM2")
    assert len(on_queue(pair, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM1")) == 2
