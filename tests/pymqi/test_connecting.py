"""connect, QueueManager: the ways to connect, and to disconnect."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sharedq import pymqi
from sharedq.pymqi import CMQC
from sharedq.pymqi.connection.hconn import _disconnect_at_exit, settle
from tests.support.members import TestGroup

pytestmark = pytest.mark.usefixtures("qsg")


def test_every_way_to_connect(qsg: TestGroup) -> None:
    late, later, latest = pymqi.QueueManager(None), pymqi.QueueManager(None), pymqi.QueueManager(None)
    late.connect(b"QM1")
    later.connect_with_options("QM1", opts=CMQC.MQCNO_HANDLE_SHARE_BLOCK, user="app", password="secret")
    latest.connectTCPClient("QM1", pymqi.CD(), "SVRCONN.1", "mq.example.com(1414)")
    cd_first = pymqi.QueueManager(None)
    cd_first.connectWithOptions("QM1", pymqi.CD(), pymqi.SCO())
    managers = [
        pymqi.connect("QM1"),
        pymqi.connect(b"QM1"),
        pymqi.connect(queue_manager="QM1", channel="CH", conn_info="host(1414)", user="app", password="secret"),
        pymqi.connect(None, "CH", "host(1414)"),
        pymqi.connect(qsg.settings.group),
        pymqi.connect(f"*{qsg.settings.group}"),
        pymqi.QueueManager("QM1"),
        pymqi.QueueManager(),
        late,
        later,
        latest,
        cd_first,
    ]
    assert [qmgr.inquire(CMQC.MQCA_Q_MGR_NAME) for qmgr in managers] == [b"QM1".ljust(48)] * len(managers)
    assert all(qmgr.is_connected for qmgr in managers)


def test_a_manager_that_is_not_there() -> None:
    with pytest.raises(pymqi.MQMIError) as caught:
        pymqi.connect("NOBODY")
    assert (caught.value.comp, caught.value.reason) == (CMQC.MQCC_FAILED, CMQC.MQRC_Q_MGR_NAME_ERROR)


def test_arguments_that_make_no_connection() -> None:
    with pytest.raises(TypeError):
        pymqi.connect("")
    with pytest.raises(TypeError):
        pymqi.QueueManager(None).connect_with_options("QM1", pymqi.CD(), pymqi.SCO(), "more")
    with pytest.raises(ValueError, match="password"):
        pymqi.connect("QM1", "CH", "host(1414)", "app")


def test_unusable_settings_are_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGQ_GROUP", "much too long")
    with pytest.raises(pymqi.PYIFError, match="IGQ_GROUP") as caught:
        pymqi.connect("QM1")
    assert "\n" not in str(caught.value)


def test_nothing_can_be_done_without_a_connection() -> None:
    qmgr = pymqi.connect("QM1")
    queue = pymqi.Queue(qmgr, "ORDERS")
    queue.put(b"x")
    qmgr.disconnect()

    assert not qmgr.is_connected
    for call in (qmgr.disconnect, qmgr.commit, qmgr.backout, qmgr.getHandle, queue.get, queue.close):
        with pytest.raises(pymqi.PYIFError, match="not connected"):
            call()


def test_disconnecting_commits() -> None:
    qmgr = pymqi.connect("QM1")
    qmgr.put1("ORDERS", b"kept", None, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    qmgr.disconnect()
    assert pymqi.Queue(pymqi.connect("QM1"), "ORDERS").get() == b"kept"


@pytest.mark.parametrize(("is_disconnected", "depth"), [(True, 1), (False, 0)])
def test_the_end_of_a_program_disconnects_unless_switched_off(is_disconnected: bool, depth: int) -> None:
    program = f"""
from sharedq import pymqi
qmgr = pymqi.connect("QM1", disconnect_on_exit={is_disconnected})
qmgr.put1("ORDERS", b"last words", None, pymqi.PMO(Options=pymqi.CMQC.MQPMO_SYNCPOINT))
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(pymqi.__file__).parents[2])
    queue = pymqi.Queue(pymqi.connect("QM1"), "ORDERS")
    for _ in range(depth):
        assert queue.get() == b"last words"
    with pytest.raises(pymqi.MQMIError, match="MQRC_NO_MSG_AVAILABLE"):
        queue.get()


def test_an_endless_wait_does_not_keep_the_program() -> None:
    program = """
import threading
from sharedq import pymqi
from sharedq.redis.link import Link
is_blocked = threading.Event()
block = Link.block
def watched(*args, **kwargs):
    is_blocked.set()
    return block(*args, **kwargs)
Link.block = watched
qmgr = pymqi.connect("QM1")
options = pymqi.GMO(Options=pymqi.CMQC.MQGMO_WAIT, WaitInterval=pymqi.CMQC.MQWI_UNLIMITED)
queue = pymqi.Queue(qmgr, "ORDERS")
threading.Thread(target=queue.get, args=(None, None, options), daemon=True).start()
is_blocked.wait()
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(pymqi.__file__).parents[2])


def test_a_forked_child_leaves_its_parents_connection_alone() -> None:
    qmgr = pymqi.connect("QM1")
    qmgr.put1("ORDERS", b"of the parent", None, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    child = os.fork()
    if child == 0:
        # As the end of the child's program does, and must not commit.
        try:
            _disconnect_at_exit()
            qmgr.__del__()
            settle()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    queue = pymqi.Queue(pymqi.connect("QM1"), "ORDERS")
    with pytest.raises(pymqi.MQMIError, match="MQRC_NO_MSG_AVAILABLE"):
        queue.get()
    qmgr.commit()
    assert queue.get() == b"of the parent"


def test_a_forgotten_connection_is_ended_before_the_next_begins() -> None:
    def forget() -> None:
        qmgr = pymqi.connect("QM1")
        queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
        queue.put(b"kept", None, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))

    forget()
    gc.collect()
    assert pymqi.Queue(pymqi.connect("QM1"), "ORDERS").get() == b"kept"


def test_a_forgotten_queue_is_closed_before_the_next_is_opened() -> None:
    qmgr = pymqi.connect("QM1")
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE)
    with pytest.raises(pymqi.MQMIError, match="MQRC_OBJECT_IN_USE"):
        pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE)
    del queue
    gc.collect()
    pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE)


def test_a_connection_tag_is_held_by_one_connection() -> None:
    options = CMQC.MQCNO_SERIALIZE_CONN_TAG_QSG
    first = pymqi.connect("QM1", conn_tag=b"nightly", cno_options=options)
    with pytest.raises(pymqi.MQMIError) as caught:
        pymqi.connect("QM1", conn_tag="nightly", cno_options=options)
    assert caught.value.reason == CMQC.MQRC_CONN_TAG_IN_USE
    first.disconnect()
    assert pymqi.connect("QM1", conn_tag=b"nightly", cno_options=options).is_connected

    with pytest.raises(pymqi.PYIFError, match="128"):
        pymqi.connect("QM1", conn_tag=bytes(129), cno_options=options)


def test_mqbegin_warns_that_no_other_coordinator_takes_part() -> None:
    qmgr = pymqi.connect("QM1")
    with pytest.raises(pymqi.MQMIError) as caught:
        qmgr.begin()
    assert (caught.value.comp, caught.value.reason) == (CMQC.MQCC_WARNING, CMQC.MQRC_NO_EXTERNAL_PARTICIPANTS)
    qmgr.put1("ORDERS", b"x", None, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    with pytest.raises(pymqi.MQMIError) as caught:
        qmgr.begin()
    assert (caught.value.comp, caught.value.reason) == (CMQC.MQCC_FAILED, CMQC.MQRC_UOW_IN_PROGRESS)


def test_the_queue_manager_returns_its_attributes(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1")
    assert qmgr.inquire(CMQC.MQCA_QSG_NAME) == qsg.settings.group.encode().ljust(4)
    assert qmgr.inquire(CMQC.MQIA_MAX_PRIORITY) == 9
    assert qmgr.inquire(CMQC.MQCA_VERSION) == b"09030000"
    identifier = qmgr.inquire(CMQC.MQCA_Q_MGR_IDENTIFIER)
    assert identifier == f"QM1.{qsg.settings.group}".encode().ljust(48)
    with pytest.raises(pymqi.MQMIError) as caught:
        qmgr.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
    assert caught.value.reason == CMQC.MQRC_SELECTOR_ERROR


#: Every selector of queue managers that MQINQ knows on z/OS.
NUMBERS = """
    ACCOUNTING_Q ACTIVE_CHANNELS ACTIVITY_RECORDING ADOPTNEWMCA_CHECK ADOPTNEWMCA_TYPE AUTHORITY_EVENT BRIDGE_EVENT
    CERT_VAL_POLICY CHANNEL_EVENT CHINIT_ADAPTERS CHINIT_DISPATCHERS CHINIT_TRACE_AUTO_START CHINIT_TRACE_TABLE_SIZE
    CHLAUTH_RECORDS CLUSTER_WORKLOAD_LENGTH CLWL_MRU_CHANNELS CLWL_USEQ CODED_CHAR_SET_ID COMMAND_EVENT COMMAND_LEVEL
    CONFIGURATION_EVENT DEF_CLUSTER_XMIT_Q_TYPE DNS_WLM EXPIRY_INTERVAL GROUP_UR IGQ_PUT_AUTHORITY INHIBIT_EVENT
    INTRA_GROUP_QUEUING IP_ADDRESS_VERSION LISTENER_TIMER LOCAL_EVENT LU62_CHANNELS MONITORING_AUTO_CLUSSDR
    MONITORING_CHANNEL MONITORING_Q MAX_CHANNELS MAX_HANDLES MAX_MSG_LENGTH MAX_PRIORITY MAX_PROPERTIES_LENGTH
    MAX_UNCOMMITTED_MSGS MSG_MARK_BROWSE_INTERVAL OUTBOUND_PORT_MAX OUTBOUND_PORT_MIN PERFORMANCE_EVENT PLATFORM
    PROT_POLICY_CAPABILITY PUBSUB_CLUSTER PUBSUB_MAXMSG_RETRY_COUNT PUBSUB_MODE PUBSUB_NP_MSG PUBSUB_NP_RESP
    PUBSUB_SYNC_PT QMGR_CFCONLOS RECEIVE_TIMEOUT RECEIVE_TIMEOUT_MIN RECEIVE_TIMEOUT_TYPE REMOTE_EVENT
    REVERSE_DNS_LOOKUP SECURITY_CASE SHARED_Q_Q_MGR_NAME SSL_EVENT SSL_FIPS_REQUIRED SSL_RESET_COUNT SSL_TASKS
    START_STOP_EVENT STATISTICS_AUTO_CLUSSDR STATISTICS_CHANNEL STATISTICS_Q SUITE_B_STRENGTH SYNCPOINT TCP_CHANNELS
    TCP_KEEP_ALIVE TCP_STACK_TYPE TRACE_ROUTE_RECORDING TREE_LIFE_TIME TRIGGER_INTERVAL XR_CAPABILITY
"""
#: With the names of their lengths.
STRINGS = """
    ALTERATION_DATE:DATE ALTERATION_TIME:TIME CERT_LABEL:CERT_LABEL CHANNEL_AUTO_DEF_EXIT:EXIT_NAME
    CHINIT_SERVICE_PARM:CHINIT_SERVICE_PARM CLUSTER_WORKLOAD_DATA:EXIT_DATA CLUSTER_WORKLOAD_EXIT:EXIT_NAME
    COMMAND_INPUT_Q_NAME:Q_NAME CONN_AUTH:AUTH_INFO_NAME CUSTOM:CUSTOM DEAD_LETTER_Q_NAME:Q_NAME
    DEF_XMIT_Q_NAME:Q_NAME DNS_GROUP:DNS_GROUP_NAME IGQ_USER_ID:USER_ID LU62_ARM_SUFFIX:ARM_SUFFIX
    LU_GROUP_NAME:LU_NAME LU_NAME:LU_NAME PARENT:Q_MGR_NAME QSG_CERT_LABEL:CERT_LABEL Q_MGR_DESC:Q_MGR_DESC
    Q_MGR_IDENTIFIER:Q_MGR_IDENTIFIER Q_MGR_NAME:Q_MGR_NAME QSG_NAME:QSG_NAME REPOSITORY_NAME:CLUSTER_NAME
    REPOSITORY_NAMELIST:NAMELIST_NAME SSL_CRL_NAMELIST:NAMELIST_NAME SSL_CRYPTO_HARDWARE:SSL_CRYPTO_HARDWARE
    SSL_KEY_REPOSITORY:SSL_KEY_REPOSITORY TCP_NAME:TCP_NAME VERSION:VERSION
"""


def test_every_attribute_of_the_queue_manager_can_be_inquired() -> None:
    qmgr = pymqi.connect("QM1")
    for name in NUMBERS.split():
        assert isinstance(qmgr.inquire(getattr(CMQC, f"MQIA_{name}")), int), name
    for name, _, length in (each.partition(":") for each in STRINGS.split()):
        value = qmgr.inquire(getattr(CMQC, f"MQCA_{name}"))
        assert isinstance(value, bytes), name
        assert len(value) == getattr(CMQC, f"MQ_{length}_LENGTH"), name
