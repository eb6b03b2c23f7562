"""A program with MQCNO_RECONNECT whose manager is killed goes on at a peer."""

from __future__ import annotations

import signal

import pytest

from sharedq import pymqi
from sharedq.api import group_for
from sharedq.pymqi import CMQC
from tests.cli.conftest import Shell
from tests.support.scenes import until

pytestmark = pytest.mark.faults


def test_a_program_goes_on_at_a_peer_of_its_killed_manager(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.environment["IGQ_LEASE_MS"] = "3000"
    for name in ("IGQ_DATA_DIR", "IGQ_LEASE_MS"):
        monkeypatch.setenv(name, shell.environment[name])
    for name in ("IGQ_REDIS_URL", "IGQ_GROUP", "IGQ_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    first, _ = shell.start_manager("QM1"), shell.start_manager("QM2")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    qmgr = pymqi.connect("QM1", "CH", "qm1(1414),qm2(1414)", cno_options=CMQC.MQCNO_RECONNECT)
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_EXCLUSIVE)
    queue.put(b"kept")
    in_unit = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)
    assert queue.get(None, None, in_unit) == b"kept"

    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    until(lambda: qmgr.inquire(CMQC.MQCA_Q_MGR_NAME) == b"QM2".ljust(48), "the program is connected to QM2", 120)
    with pytest.raises(pymqi.MQMIError) as caught:
        qmgr.commit()
    assert caught.value.reason == CMQC.MQRC_BACKED_OUT
    options = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT, WaitInterval=60_000)
    received = pymqi.MD()
    assert queue.get(None, received, options) == b"kept"
    assert received.BackoutCount == 1
    qmgr.commit()
    qmgr.disconnect()
    group_for().leave()
    assert shell.out("fsck") == "Everything is accounted for.\n"
