"""Many programs put while IGQ and SYSTEM.QSG.TRANSMIT.QUEUE are altered: no put goes by what was before.

Seed: invalidation of object handles (MQRC_OBJECT_CHANGED). When an ALTER has returned, every put through a handle that
was opened before it began is refused; what was put stands where its handle led, once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import pytest

from sharedq import MQIError
from sharedq.api import Queue
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import XQH_LENGTH
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from tests.support.members import TestGroup
from tests.support.scenes import on_queue

PUTTERS, ALTERS = 6, 24
#: The most bytes that the transmit queue accepts. Longer messages go the conventional way.
SHORT = 40


@dataclass
class Altered:
    """The numbers of ALTERs that have begun and that have returned."""

    begun: int = 0
    returned: int = 0
    is_over: Event = field(default_factory=Event)


def put_one(queue: Queue, body: bytes) -> None:
    queue.put(body)


def put_long(queue: Queue, body: bytes) -> None:
    queue.put(body.ljust(SHORT + 1, b"."))


def put_many(queue: Queue, body: bytes) -> None:
    queue.put_many([(MQMD(), body), (MQMD(), body + b"'")])


def put_under_syncpoint(queue: Queue, body: bytes) -> None:
    queue.put(body, MQMD(persistence=1), options=PutOption.SYNCPOINT)


WAYS: tuple[Callable[[Queue, bytes], None], ...] = (put_one, put_long, put_many, put_under_syncpoint)


class Putter:
    """Opens, puts until a put is refused, and opens again. Notes its puts, and the way that its handle led."""

    def __init__(self, group: TestGroup, name: int, altered: Altered) -> None:
        self.connection, self.name, self.altered = group.connect("QM1"), name, altered
        self.put: dict[str, list[bytes]] = {"shared": [], "conventional": []}
        self.refused = 0

    def run(self) -> None:
        numbers = itertools.count()
        while not self.altered.is_over.is_set():
            with self.connection.open("IN", OpenOption.OUTPUT, qmgr_name="QM2") as queue:
                # The open cannot know of an ALTER that begins from now on.
                self._put_until_refused(queue, self.altered.begun, numbers)

    def _put_until_refused(self, queue: Queue, begun: int, numbers: itertools.count[int]) -> None:
        while not self.altered.is_over.is_set():
            number = next(numbers)
            way, body = WAYS[number % len(WAYS)], b"%d %d" % (self.name, number)
            returned = self.altered.returned
            try:
                way(queue, body)
                self.connection.commit()
            except MQIError as error:
                if error.reason != MQRC.OBJECT_CHANGED:
                    raise
                self.connection.backout()
                self.refused += 1
                return
            assert returned <= begun, f"put {body!r} went by what was before ALTER number {returned}"
            is_shared = queue.handle.is_intra_group and way is not put_long
            self.put["shared" if is_shared else "conventional"] += [body] + ([body + b"'"] if way is put_many else [])


@pytest.mark.rule(
    "igq/invalidation", "While many programs put, no put uses a definition from before an ALTER that has returned."
)
@pytest.mark.parametrize("what", ["IGQ", "the transmission queue"])
def test_no_put_goes_by_what_was_before_an_alter(group: TestGroup, what: str) -> None:
    group.add_member("QM2")
    repository = group.repository("QM1")
    repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_msg_length": SHORT})
    group.define_private("QM1", "QM2", usage="XMITQ")
    altered = Altered()
    putters = [Putter(group, name, altered) for name in range(PUTTERS)]

    with ThreadPoolExecutor(PUTTERS) as pool:
        futures = [pool.submit(putter.run) for putter in putters]
        for number in range(1, ALTERS + 1):
            altered.begun = number
            if what == "IGQ":
                repository.alter_qmgr("QM1", {"igq": ("ENABLED", "DISABLED")[number % 2]})
            else:
                repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"description": f"altered {number} times"})
            altered.returned = number
            # A round of puts by the putters that have reopened. A putter that failed is not waited for.
            group.wait_redis_ms(20)
            if any(future.done() for future in futures):
                break
        altered.is_over.set()
        for future in futures:
            future.result(120)

    sent = {
        "shared": on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2"),
        "conventional": on_queue(group, "QM2", "@QM1"),
    }
    for way, messages in sent.items():
        bodies = [body if way == "shared" else body[XQH_LENGTH:].rstrip(b".") for body, _ in messages]
        for putter in putters:
            mine = [body for body in bodies if body.startswith(b"%d " % putter.name)]
            assert mine == putter.put[way]
    assert sum(putter.refused for putter in putters) >= ALTERS
