"""A process that may have lost its lease, but has not."""

from __future__ import annotations

import threading

import pytest

from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from tests.support.members import TestGroup

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


def test_a_call_in_doubt_waits_for_the_renewal_and_goes_on(group: TestGroup) -> None:
    """Redis was slow, but the lease is held: nothing is given up, least of all the unit of work."""
    group.define_shared("ORDERS")
    process = group.process()
    connection = group.connect(process=process)
    queue = connection.open("ORDERS", BOTH)
    queue.put(b"first")
    queue.get(GetOption.SYNCPOINT)
    process.lease.safe_until_s = 0.0

    connection.commit()
    assert process.is_alive
    assert not connection.connection.is_ended


def test_a_call_without_news_of_the_lease_gives_up_its_connection(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.define_shared("ORDERS")
    process = group.process()
    connection = group.connect(process=process)
    queue = connection.open("ORDERS", BOTH)
    queue.put(b"first")
    queue.get(GetOption.SYNCPOINT)
    answered = threading.Event()
    monkeypatch.setattr(process, "_renew", answered.wait)
    monkeypatch.setattr(process.lease, "length_s", 1.0)
    held_until_s, process.lease.safe_until_s = process.lease.safe_until_s, 0.0

    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN

    # The renewal arrives after all. The lost connection's work must not stay with a living process.
    process.lease.safe_until_s = held_until_s + 3600
    answered.set()
    assert process.is_alive
    assert connection.connection.is_ended
    process._tell_abandoned()
    keys = group.group.keys
    assert group.group.command(keys.leases, "ZSCORE", keys.leases, connection.connection.token) is not None
