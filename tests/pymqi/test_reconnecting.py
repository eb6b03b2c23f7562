"""MQCNO_RECONNECT: what goes on after a connection broke, and the codes for what does not. And connection lists."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq import pymqi
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover
from sharedq.api import group_for
from sharedq.objects.definitions.queues import QueueAlias
from sharedq.pymqi import CMQC, CMQXC
from sharedq.pymqi.connection import reconnection
from sharedq.pymqi.connection.reconnection import mode_of, names_at
from tests.support.backups import lose as lose_structure
from tests.support.backups import mqsc
from tests.support.members import TestGroup
from tests.support.proxy import Proxy
from tests.support.scenes import on_queue, recover_lost, until
from tests.support.server import Server
from tests.support.waits import replace_pauses

ANY, SAME = CMQC.MQCNO_RECONNECT, CMQC.MQCNO_RECONNECT_Q_MGR
BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED
IN_UNIT = CMQC.MQPMO_SYNCPOINT


@pytest.fixture(autouse=True)
def second(qsg: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    qsg.add_member("QM2")
    monkeypatch.setattr(reconnection, "PAUSES_S", (0.01,))
    monkeypatch.setattr(reconnection, "JITTER_S", 0.0)


def set_state(qsg: TestGroup, name: str, state: str) -> None:
    keys = qsg.group.keys
    changes = name, 1, json.dumps({"state": state})
    assert qsg.group.call("admin/member_state", [keys.members, keys.fence], changes)[0] == 0


def stop(qsg: TestGroup, name: str) -> None:
    """The manager takes no connections any more."""
    set_state(qsg, name, "STOPPED")


def lose(qmgr: pymqi.QueueManager) -> str:
    """The connection breaks. Returns its token: the group does not know yet."""
    connection = qmgr._hconn().connection
    connection.break_off()
    return connection.token


def name_of(qmgr: pymqi.QueueManager) -> bytes:
    return bytes(qmgr.inquire(CMQC.MQCA_Q_MGR_NAME)).strip()


def fails(reason: int) -> pytest.RaisesExc[pymqi.MQMIError]:
    return pytest.RaisesExc(pymqi.MQMIError, check=lambda error: error.reason == reason)


def test_calls_go_on_at_another_member(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue, other = pymqi.Queue(qmgr, "ORDERS", BOTH), pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE)
    handles = queue.get_handle(), other.get_handle()
    queue.put(b"before")
    # The object that this opens is opened again at the other member.
    assert name_of(qmgr) == b"QM1"
    lose(qmgr)
    stop(qsg, "QM1")

    assert queue.get() == b"before"
    queue.put(b"after")
    assert other.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 1
    assert name_of(qmgr) == b"QM2"
    assert (queue.get_handle(), other.get_handle()) == handles
    assert pymqi.Queue(qmgr, "ORDERS", BOTH).get_handle() not in handles
    queue.close()
    with fails(CMQC.MQRC_HOBJ_ERROR):
        borrower = pymqi.Queue(qmgr)
        borrower.set_handle(handles[0] or 0)
        borrower.put(b"x")
    qmgr.disconnect()


def test_the_named_manager_is_preferred() -> None:
    qmgr = pymqi.connect("QM2", cno_options=ANY)
    lose(qmgr)
    assert name_of(qmgr) == b"QM2"
    assert qmgr.is_connected


@pytest.mark.parametrize("options", [CMQC.MQCNO_NONE, CMQC.MQCNO_RECONNECT_DISABLED])
def test_without_the_option_a_broken_connection_stays_so(options: int) -> None:
    qmgr = pymqi.connect("QM1", cno_options=options)
    lose(qmgr)
    assert not qmgr.is_connected
    with fails(CMQC.MQRC_CONNECTION_BROKEN):
        qmgr.commit()


@pytest.mark.parametrize(
    ("options", "of_channel", "mode"),
    [
        (CMQC.MQCNO_RECONNECT_AS_DEF, CMQXC.MQRCN_NO, 0),
        (CMQC.MQCNO_RECONNECT_AS_DEF, CMQXC.MQRCN_YES, ANY),
        (CMQC.MQCNO_RECONNECT_AS_DEF, CMQXC.MQRCN_Q_MGR, SAME),
        (CMQC.MQCNO_RECONNECT_AS_DEF, CMQXC.MQRCN_DISABLED, 0),
        (ANY, CMQXC.MQRCN_NO, ANY),
        (ANY, CMQXC.MQRCN_Q_MGR, ANY),
        (ANY, CMQXC.MQRCN_DISABLED, 0),
        (SAME | CMQC.MQCNO_HANDLE_SHARE_BLOCK, CMQXC.MQRCN_YES, SAME),
        (CMQC.MQCNO_RECONNECT_DISABLED, CMQXC.MQRCN_YES, 0),
    ],
)
def test_the_options_decide_before_the_channel_does(options: int, of_channel: int, mode: int) -> None:
    assert mode_of(options, of_channel) == mode


def test_options_that_exclude_each_other() -> None:
    with fails(CMQC.MQRC_OPTIONS_ERROR):
        pymqi.connect("QM1", cno_options=ANY | SAME)


def test_a_channel_may_ask_for_it() -> None:
    qmgr = pymqi.QueueManager(None)
    qmgr.connect_tcp_client("QM1", pymqi.CD(DefReconnect=CMQXC.MQRCN_YES), "CH", "host(1414)")
    lose(qmgr)
    assert qmgr.is_connected
    assert name_of(qmgr) == b"QM1"


def test_the_same_manager_is_waited_for(qsg: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    qmgr = pymqi.connect("QM1", cno_options=SAME)
    lose(qmgr)
    stop(qsg, "QM1")
    pauses: list[float] = []

    def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 3:
            set_state(qsg, "QM1", "RUNNING")

    replace_pauses(monkeypatch, sleep)
    assert name_of(qmgr) == b"QM1"
    assert len(pauses) == 3


def test_it_is_given_up_after_the_time_allowed(qsg: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnection, "TIMEOUT_S", 0.05)
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    lose(qmgr)
    stop(qsg, "QM1")
    stop(qsg, "QM2")
    with fails(CMQC.MQRC_RECONNECT_TIMED_OUT):
        qmgr.commit()
    assert not qmgr.is_connected
    with fails(CMQC.MQRC_CONNECTION_BROKEN):
        qmgr.commit()
    qmgr.disconnect()


def test_a_unit_of_work_is_backed_out(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"kept")
    assert queue.get(None, None, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)) == b"kept"
    queue.put(b"lost", None, pymqi.PMO(Options=IN_UNIT))
    token = lose(qmgr)

    # Work outside of the unit of work goes on.
    queue.put(b"outside", pymqi.MD(Priority=0))
    for call in (
        lambda: queue.put(b"x", None, pymqi.PMO(Options=IN_UNIT)),
        lambda: queue.get(None, None, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)),
        lambda: qmgr.put1("ORDERS", b"x", None, pymqi.PMO(Options=IN_UNIT)),
        qmgr.commit,
    ):
        with fails(CMQC.MQRC_BACKED_OUT):
            call()
    qmgr.commit()
    recover_lost(qsg, token)
    assert sorted([queue.get(), queue.get()]) == [b"kept", b"outside"]
    with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
        queue.get()


def test_the_program_may_back_out_what_is_lost() -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"lost", None, pymqi.PMO(Options=IN_UNIT))
    lose(qmgr)
    with fails(CMQC.MQRC_BACKED_OUT):
        queue.put(b"lost", None, pymqi.PMO(Options=IN_UNIT))
    qmgr.backout()
    queue.put(b"new", None, pymqi.PMO(Options=IN_UNIT))
    qmgr.commit()
    assert queue.get() == b"new"


@pytest.mark.parametrize("is_put_later", [False, True])
def test_a_unit_of_work_that_lost_its_structure_is_not_committed(qsg: TestGroup, is_put_later: bool) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    qsg.define_structure("APPL2")
    qsg.define_shared("OTHER", "APPL2")
    later = CMQC.MQPMO_ASYNC_RESPONSE if is_put_later else 0
    queue.put(b"lost", None, pymqi.PMO(Options=IN_UNIT | later))
    backup(qsg.group, "APPL1")
    lose_structure(qsg)
    with fails(CMQC.MQRC_CF_STRUC_FAILED):
        queue.get()
    queue.close()
    # Nothing of the unit of work is left, but it has not ended.
    with fails(CMQC.MQRC_UOW_IN_PROGRESS):
        qmgr.begin()
    recover(qsg.group, "APPL1")
    lose(qmgr)
    with fails(CMQC.MQRC_UOW_IN_PROGRESS):
        qmgr.begin()
    with fails(CMQC.MQRC_BACKED_OUT):
        qmgr.put1("OTHER", b"half", None, pymqi.PMO(Options=IN_UNIT))
    with fails(CMQC.MQRC_BACKED_OUT):
        qmgr.commit()
    assert on_queue(qsg, "OTHER", "APPL2") == []
    qmgr.commit()


# -- calls that are under way --------------------------------------------------------------------------------------


@pytest.fixture
def proxy(qsg: TestGroup, redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:  # noqa: ARG001
    """Make the program's connections go through this from now on."""
    with tempfile.TemporaryDirectory() as where:
        made = Proxy(redis_server.socket, Path(where))
        monkeypatch.setenv("IGQ_REDIS_URL", made.url)
        yield made
        group_for().leave()
        made.close()


def test_a_put_whose_reply_is_lost_was_interrupted(proxy: Proxy, qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    proxy.lose_reply("structure/put_plain")
    with fails(CMQC.MQRC_CALL_INTERRUPTED):
        queue.put(b"once")
    proxy.lose_reply("structure/put_plain")
    with fails(CMQC.MQRC_CALL_INTERRUPTED):
        qmgr.put1("ORDERS", b"once")
    assert queue.get() == b"once"
    assert len(on_queue(qsg, "ORDERS")) == 1


def test_a_put_under_syncpoint_whose_reply_is_lost_is_backed_out(proxy: Proxy, qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    token = qmgr._hconn().connection.token
    proxy.lose_reply("structure/put")
    with fails(CMQC.MQRC_BACKED_OUT):
        queue.put(b"lost", None, pymqi.PMO(Options=IN_UNIT))
    with fails(CMQC.MQRC_BACKED_OUT):
        qmgr.commit()
    recover_lost(qsg, token)
    with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
        queue.get()


def test_a_commit_whose_reply_is_lost_was_interrupted(proxy: Proxy, qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"committed", None, pymqi.PMO(Options=IN_UNIT))
    token = qmgr._hconn().connection.token
    proxy.lose_reply("structure/commit")
    with fails(CMQC.MQRC_CALL_INTERRUPTED):
        qmgr.commit()
    recover_lost(qsg, token)
    assert queue.get() == b"committed"
    qmgr.commit()


def test_a_get_whose_request_is_lost_is_made_again(proxy: Proxy) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"there")
    proxy.lose_request("structure/get")
    assert queue.get() == b"there"


def test_a_backout_whose_reply_is_lost_is_done(proxy: Proxy) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"lost", None, pymqi.PMO(Options=IN_UNIT))
    proxy.lose_reply("structure/backout")
    qmgr.backout()
    queue.put(b"new", None, pymqi.PMO(Options=IN_UNIT))
    qmgr.commit()


def test_a_waiting_get_waits_on(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    found: list[bytes] = []
    options = pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
    thread = threading.Thread(target=lambda: found.append(queue.get(None, None, options)))
    first = qmgr._hconn().connection
    thread.start()
    until(lambda: first._waiting_on, "the get waits")
    first.interrupt()
    until(lambda: qmgr._hconn().connection is not first and qmgr._hconn().connection._waiting_on, "it waits again")
    # The group hands nothing to the wait of the broken connection any more.
    recover_lost(qsg, first.token)
    qsg.connect("QM2").put1("ORDERS", b"for the waiter")
    thread.join()
    assert found == [b"for the waiter"]


# -- what was open --------------------------------------------------------------------------------------------------


def test_a_queue_that_the_other_member_does_not_have(qsg: TestGroup) -> None:
    qsg.define_private("QM1", "MINE")
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue, shared = pymqi.Queue(qmgr, "MINE", BOTH), pymqi.Queue(qmgr, "ORDERS", BOTH)
    lose(qmgr)
    stop(qsg, "QM1")
    with fails(CMQC.MQRC_RECONNECT_FAILED):
        shared.put(b"x")
    for each in (queue, shared):
        with fails(CMQC.MQRC_CONNECTION_BROKEN):
            each.put(b"x")
    assert not qmgr.is_connected


def test_a_temporary_queue_is_made_again_under_its_name(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    descriptor = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"REPLY.*")
    replies = pymqi.Queue(qmgr, descriptor, CMQC.MQOO_INPUT_EXCLUSIVE)
    lose(qmgr)
    stop(qsg, "QM1")
    with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
        replies.get()
    pymqi.Queue(qmgr, descriptor.ObjectName).put(b"answer")
    assert replies.get() == b"answer"
    assert qsg.repository("QM2").locate(descriptor.ObjectName.strip().decode()) is not None


def test_what_the_broken_connection_still_holds_is_waited_for(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE)
    token = lose(qmgr)
    thread = threading.Thread(target=recover_lost, args=(qsg, token))
    thread.start()
    with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
        queue.get()
    thread.join()


def test_a_browse_begins_anew_and_locks_are_lost(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH | CMQC.MQOO_BROWSE)
    for body in (b"1", b"2"):
        queue.put(body)

    def get(options: int) -> bytes:
        return queue.get(None, None, pymqi.GMO(Options=options))

    assert (get(CMQC.MQGMO_BROWSE_FIRST), get(CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_LOCK)) == (b"1", b"2")
    token = lose(qmgr)
    with fails(CMQC.MQRC_NO_MSG_UNDER_CURSOR):
        get(CMQC.MQGMO_MSG_UNDER_CURSOR)
    with fails(CMQC.MQRC_NO_MSG_LOCKED):
        get(CMQC.MQGMO_UNLOCK)
    recover_lost(qsg, token)
    assert (get(CMQC.MQGMO_BROWSE_NEXT), get(CMQC.MQGMO_BROWSE_NEXT)) == (b"1", b"2")


def test_options_that_need_what_a_broken_connection_loses() -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    grouped = pymqi.MD(Version=2, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP)
    with fails(CMQC.MQRC_RECONNECT_INCOMPATIBLE):
        queue.put(b"x", grouped, pymqi.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER))
    by_token = pymqi.GMO(Version=3, MatchOptions=CMQC.MQMO_MATCH_MSG_TOKEN, MsgToken=b"t")
    with fails(CMQC.MQRC_RECONNECT_Q_MGR_REQD):
        queue.get(None, None, by_token)
    same = pymqi.connect("QM1", cno_options=SAME)
    with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
        pymqi.Queue(same, "ORDERS").get(None, None, by_token)


def test_a_forgotten_queue_is_not_opened_again(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE)
    del queue
    pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE).close()
    lose(qmgr)
    stop(qsg, "QM1")
    pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE)


def get_from(source: pymqi.Queue | pymqi.Subscription) -> bytes:
    return source.get(None, None, pymqi.GMO(Options=CMQC.MQGMO_NO_WAIT))


def test_topics_and_managed_subscriptions_go_on(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    topic = pymqi.Topic(qmgr, topic_string="T/1", open_opts=CMQC.MQOO_OUTPUT)
    subscriptions = [pymqi.Subscription(qmgr) for _ in range(3)]
    for number, each in enumerate(subscriptions):
        each.sub(topic_string=f"T/{number}")
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queues = [each.get_sub_queue() for each in subscriptions[1:]]
    handles = [each.get_handle() for each in (queue, *queues)]
    topic.pub(b"before")
    assert get_from(subscriptions[1]) == b"before"
    subscriptions[0].close(close_sub_queue=True)

    for name in ("QM1", "QM2"):
        token = lose(qmgr)
        stop(qsg, name)
        topic.pub(b"after")
        md = pymqi.MD()
        assert subscriptions[1].get(None, md) == b"after"
        set_state(qsg, name, "RUNNING")
        recover_lost(qsg, token, by=name)
        for each in subscriptions[1:]:
            with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
                get_from(each)
            with fails(CMQC.MQRC_NO_RETAINED_MSG):
                each.request()
        with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
            get_from(queue)
        assert [each.get_handle() for each in (queue, *queues)] == handles
    topic.close()
    for each in subscriptions[1:]:
        each.close(close_sub_queue=True)
    connection = qmgr._hconn().connection
    assert (list(connection.handles), connection.objects, connection.subscriptions) == ([handles[0]], {}, {})


@pytest.mark.parametrize("name", [None, "MINE"])
def test_a_subscription_to_a_queue_of_the_program_goes_on(qsg: TestGroup, name: str | None) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    subscription = pymqi.Subscription(qmgr)
    options = CMQC.MQSO_CREATE | CMQC.MQSO_NON_DURABLE
    subscription.sub(sub_queue=queue, sub_name=name, sub_opts=options, topic_string="T")
    topic = pymqi.Topic(qmgr, topic_string="T")
    topic.pub(b"before")
    before, after = pymqi.MD(), pymqi.MD()
    assert queue.get(None, before) == b"before"
    token = lose(qmgr)
    stop(qsg, "QM1")
    topic.pub(b"after")
    # Once, although nobody has recovered the lost connection; and with the CorrelId that the program knows.
    assert queue.get(None, after) == b"after"
    assert after.CorrelId == before.CorrelId
    with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
        get_from(queue)
    set_state(qsg, "QM1", "RUNNING")
    recover_lost(qsg, token)
    topic.pub(b"again")
    assert queue.get() == b"again"
    subscription.close()
    topic.pub(b"to nobody")
    with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
        get_from(queue)


def test_a_durable_subscription_loses_nothing(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    descriptor = pymqi.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_RESUME | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED)
    descriptor.set_vs("SubName", b"DURABLE")
    descriptor.set_vs("ObjectString", b"T")
    subscription = pymqi.Subscription(qmgr, descriptor)
    lose(qmgr)
    with qsg.connect("QM2") as other, other.open_topic("T") as topic:
        topic.publish(b"meanwhile")
    assert get_from(subscription) == b"meanwhile"
    subscription.close(CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)


def test_an_alias_of_a_topic_is_opened_again(qsg: TestGroup) -> None:
    qsg.define("QM1", QueueAlias(name="PRICES", target="PRICE", target_type="TOPIC"))
    mqsc(qsg, "DEFINE TOPIC(PRICE) TOPICSTR('T')")
    qmgr = pymqi.connect("QM1", cno_options=SAME)
    subscription = pymqi.Topic(qmgr, topic_string="T").sub()
    queue = pymqi.Queue(qmgr, "PRICES", CMQC.MQOO_OUTPUT)
    lose(qmgr)
    queue.put(b"again")
    assert subscription.get(None) == b"again"
    queue.close()


def test_a_topic_that_the_program_has_dropped_is_not_opened_again() -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    pymqi.Topic(qmgr, topic_string="T", open_opts=CMQC.MQOO_OUTPUT)
    lose(qmgr)
    assert name_of(qmgr)
    assert [each.object_name for each in qmgr._hconn().connection.objects.values()] == ["QM1"]


def test_message_handles_go_on() -> None:
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    handle = pymqi.MessageHandle(qmgr)
    handle.properties.set("colour", "red")
    lose(qmgr)
    qmgr.put1("ORDERS", b"x", pymqi.MD(), pymqi.PMO(Version=3, NewMsgHandle=handle.msg_handle))
    assert handle.properties.get("colour") == "red"


def test_a_number_stays_where_another_queue_of_a_spread_is_opened(qsg: TestGroup) -> None:
    qsg.define_structure("APPL2")
    qsg.define_shared("ONE")
    qsg.define_shared("TWO", "APPL2")
    qsg.define("QM1", QueueAlias(name="SPREAD", disposition="GROUP", target="ONE", spread="TWO"))
    qmgr = pymqi.connect("QM1", cno_options=ANY)
    queues = [pymqi.Queue(qmgr, "SPREAD", CMQC.MQOO_INPUT_SHARED) for _ in range(4)]
    numbers = [each.get_handle() for each in queues]
    lose_structure(qsg)
    lose(qmgr)
    for each in queues:
        with fails(CMQC.MQRC_NO_MSG_AVAILABLE):
            get_from(each)
    assert sorted(qmgr._hconn().connection.handles) == numbers
    assert [handle.number for handle in qmgr._hconn().connection.handles.values()] == numbers


# -- connection lists ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "addresses", "expected"),
    [
        ("QM1", b"qm2(1414)", ["QM1"]),
        ("", b"", [""]),
        ("*QM1", b"", ["*QM1"]),
        ("*QM1", b"host(1414)", ["QM1"]),
        ("*ANY", b"host(1414)", [""]),
        ("", b"qm2(1414),QM1.example.com(1415)", ["QM2", "QM1"]),
        ("*X", b" qm2 (1414) , host1, 10.0.0.1(1414), qm1\0\0", ["QM2", "", "QM1"]),
        ("", b"qm2,qm2(1415)", ["QM2"]),
    ],
)
def test_a_list_of_addresses_becomes_a_list_of_names(
    qsg: TestGroup, name: str, addresses: bytes, expected: list[str]
) -> None:
    assert names_at(qsg.group, name, addresses) == expected
    if not name:
        assert names_at(qsg.group, qsg.group.name, addresses) == [each or qsg.group.name for each in expected]


def test_a_list_fails_over_to_the_next(qsg: TestGroup) -> None:
    where = "qm2(1414),qm1(1414)"
    assert name_of(pymqi.connect("*ANY", "CH", where)) == b"QM2"
    stop(qsg, "QM2")
    assert name_of(pymqi.connect(qsg.group.name, "CH", where)) == b"QM1"
    stop(qsg, "QM1")
    with fails(CMQC.MQRC_Q_MGR_NOT_AVAILABLE):
        pymqi.connect(None, "CH", where)


def test_reconnection_follows_the_list(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("*ANY", "CH", "qm2(1414),qm1(1414)", cno_options=ANY)
    lose(qmgr)
    stop(qsg, "QM2")
    assert name_of(qmgr) == b"QM1"
