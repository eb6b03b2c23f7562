"""QM1 with a dead-letter queue, and letters on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sharedq.messages.dead_letter import dead_lettered
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.support.members import TestGroup

Send = Callable[..., MQMD]
DLQ = SYSTEM_DEAD_LETTER_QUEUE


@pytest.fixture
def mail(group: TestGroup) -> TestGroup:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": DLQ})
    group.define_shared("ORDERS")
    group.define_private("QM1", "OTHER")
    return group


@pytest.fixture
def send(mail: TestGroup) -> Send:
    """Puts a dead letter on the queue, with all its context."""
    queue = mail.connect().open(DLQ, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)

    def send_one(
        body: bytes = b"order",
        queue_name: bytes = b"ORDERS",
        qmgr: bytes = b"QM1",
        reason: int = MQRC.Q_FULL,
        date: bytes = b"20260101",
        **fields: object,
    ) -> MQMD:
        values: dict[str, object] = {
            "version": 2,
            "persistence": 1,
            "priority": 4,
            "format": b"MQSTR",
            "user_identifier": b"ANNA",
            "accounting_token": bytes(range(32)),
            "appl_identity_data": b"identity",
            "put_appl_type": 6,
            "put_appl_name": b"shop",
            "put_date": b"20251231",
            "put_time": b"23595999",
            "appl_origin_data": b"orig",
        } | fields
        md = MQMD(**values)  # type: ignore[arg-type]
        letter, data = dead_lettered(md, body, queue_name, qmgr, reason, b"CSQM AGENT", date, b"12000000")
        return queue.put(data, letter, options=PutOption.SET_ALL_CONTEXT)

    return send_one
