"""Commands and jobs that move messages move all of their properties, also those that a get would not return."""

from __future__ import annotations

from igq.pipeline.jobs.archive import Taker
from sharedq import MessageHandle
from sharedq.mqi.constants import GetOption
from tests.support.groups import BOTH
from tests.support.members import TestGroup

FOLDER = b"<mq_usr><a>1</a></mq_usr>"


def test_a_job_takes_a_message_with_its_properties(group: TestGroup) -> None:
    group.define_shared("Q")
    queue, hidden = group.connect().open("Q", BOTH), MessageHandle()
    hidden.set("mq_usr.a", "1")
    md = queue.put(b"data", properties=hidden)
    number = int.from_bytes(md.msg_id[18:], "big")
    with Taker(group.settings, "Q", "QM1") as taker:
        message = taker.take("APPL1", f"{number}x")
    assert message is not None
    assert FOLDER in message.body


def test_a_mover_gets_a_message_with_its_properties(group: TestGroup) -> None:
    group.define_shared("Q")
    queue, hidden = group.connect().open("Q", BOTH), MessageHandle()
    hidden.set("mq_usr.a", "1")
    for _ in range(2):
        queue.put(b"data", properties=hidden)
    assert queue.get().body == b"data"
    queue.handle.gets.confirms_delivery = False
    assert FOLDER in queue.get(GetOption.NO_WAIT).body
