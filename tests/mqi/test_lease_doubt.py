"""A process that may have lost its lease, and then has not."""

from __future__ import annotations

import pytest

from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from tests.support.members import TestGroup


def test_a_call_refused_for_a_late_renewal_gives_its_connection_up_for_recovery(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    process = group.process()
    connection = group.connect(process=process)
    queue = connection.open("ORDERS", OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    queue.put(b"first")
    queue.get(GetOption.SYNCPOINT)
    held_until_s, process._safe_until_s = process._safe_until_s, 0.0

    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN

    # The renewal arrives after all; what the lost connection holds must not stay with a process that lives.
    process._safe_until_s = held_until_s
    assert process.is_alive
    assert connection.connection.is_ended
    process._tell_abandoned()
    keys = group.group.keys
    assert group.group.command(keys.leases, "ZSCORE", keys.leases, connection.connection.token) is not None
