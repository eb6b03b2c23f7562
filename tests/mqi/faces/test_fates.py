"""The fate of options and fields that were known, accepted and never read."""

from __future__ import annotations

import pytest

from sharedq import verbs
from sharedq.mqi.constants import MQCC, MQRC, ConnectOption, OpenOption, PutOption
from sharedq.mqi.options import CONNECT_CHOICES
from sharedq.mqi.structures import MQCNO, MQMD, MQOD, MQPMO, MQSTS
from tests.support.members import TestGroup

C = ConnectOption
OUTPUT = OpenOption.OUTPUT
REFUSED = [C.GENERATE_CONN_TAG, 0x0002_0000, 0x2000_0000, *(choice[0] | choice[-1] for choice in CONNECT_CHOICES)]


@pytest.mark.parametrize("options", REFUSED)
def test_a_connect_refuses_options_that_exclude_each_other(group: TestGroup, options: int) -> None:
    _, comp_code, reason = verbs.mqconnx(group.group, "QM1", MQCNO(options=int(options)))
    assert (comp_code, reason) == (MQCC.FAILED, MQRC.OPTIONS_ERROR)


@pytest.mark.parametrize("option", [option for option in ConnectOption if option != C.GENERATE_CONN_TAG])
def test_a_connect_takes_each_other_option(group: TestGroup, option: ConnectOption) -> None:
    connection, comp_code, reason = verbs.mqconnx(group.group, "QM1", MQCNO(options=int(option)))
    assert connection is not None, (comp_code, reason)
    assert verbs.mqdisc(connection) == (MQCC.OK, MQRC.NONE)


def test_resolve_local_q_names_the_transmission_queue(pair: TestGroup) -> None:
    connection = pair.connect().connection
    for option, expected in (
        (0, (b"IN", b"QM2")),
        (OpenOption.RESOLVE_LOCAL_Q, (b"SYSTEM.QSG.TRANSMIT.QUEUE", b"QM1")),
    ):
        od, pmo = MQOD(object_name=b"IN", object_q_mgr_name=b"QM2"), MQPMO(options=int(option))
        handle, *_ = verbs.mqopen(connection, od, int(OUTPUT | option))
        assert handle is not None
        assert verbs.mqput(connection, handle, MQMD(), pmo, b"x") == (MQCC.OK, MQRC.NONE)
        assert (od.resolved_q_name, od.resolved_q_mgr_name) == expected
        assert (pmo.resolved_q_name, pmo.resolved_q_mgr_name) == expected


def test_suppress_replyto_keeps_the_reply_to_queue_secret(group: TestGroup) -> None:
    connection = group.connect()
    subscription = connection.subscribe("a")
    handle, *_ = verbs.mqopen(connection.connection, MQOD(4, object_type=8, object_string=b"a"), int(OUTPUT))
    assert handle is not None
    md = MQMD(reply_to_q=b"ANSWERS", reply_to_q_mgr=b"QM1")
    options = MQPMO(options=int(PutOption.SUPPRESS_REPLYTO))
    assert verbs.mqput(connection.connection, handle, md, options, b"x") == (MQCC.OK, MQRC.NONE)
    found = subscription.get()
    assert (found.md.reply_to_q, found.md.reply_to_q_mgr) == (b"", b"")
    request = MQMD(msg_type=1, reply_to_q=b"ANSWERS")
    outcome = verbs.mqput(connection.connection, handle, request, options, b"x")
    assert outcome == (MQCC.FAILED, MQRC.MISSING_REPLY_TO_Q)


def test_mqstat_names_the_queue_that_a_put_failed_on(group: TestGroup) -> None:
    group.define_shared("FULL", max_depth=1)
    connection = group.connect().connection
    handle, *_ = verbs.mqopen(connection, MQOD(object_name=b"FULL"), int(OUTPUT))
    assert handle is not None
    pmo = MQPMO(options=int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE))
    for _ in range(2):
        verbs.mqput(connection, handle, MQMD(), pmo, b"x")
    sts = MQSTS()
    assert verbs.mqstat(connection, sts) == (MQCC.OK, MQRC.NONE)
    assert (sts.reason, sts.object_type, sts.object_name) == (MQRC.Q_FULL, 1, b"FULL")
    assert sts.object_q_mgr_name == b"QM1"
    assert (sts.resolved_object_name, sts.resolved_q_mgr_name) == (b"FULL", group.group.name.encode())
