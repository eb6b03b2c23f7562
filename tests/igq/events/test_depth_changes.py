"""Depth events where something else than a put or a get changes the depth of a queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sharedq.api import QueueManagerConnection
from sharedq.calls.requests.put import undo_call
from sharedq.mqi.constants import GetOption, MsgFlag, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.igq.events.scene import Events, mqsc
from tests.igq.events.test_counts import counted
from tests.igq.events.test_writer import LIMITS, put_alone, put_in_unit, take_in_unit
from tests.support.expiry import discard_expired

pytestmark = pytest.mark.share

#: Tenths of a second that messages of these tests live.
BRIEFLY = 1
LOW, HIGH = "MQRC_Q_DEPTH_LOW", "MQRC_Q_DEPTH_HIGH"


class Scene:
    """Queue Q, whose program also browses it."""

    def __init__(self, events: Events, *, shared: bool = True) -> None:
        self.events, self.group = events, events.group
        if shared:
            self.group.define_shared("Q", **LIMITS)
        else:
            self.group.define_private("QM1", "Q", **LIMITS)
        self.connection: QueueManagerConnection = self.group.connect("QM1")
        options = OpenOption.OUTPUT | OpenOption.INPUT_SHARED | OpenOption.BROWSE
        self.queue: Any = self.connection.open("Q", options)
        self.structure = "APPL1" if shared else "@QM1"

    def put_brief(self, **fields: Any) -> None:
        for _ in range(8):
            self.queue.put(b"x", MQMD(expiry=BRIEFLY, **fields))
        self.group.wait_redis_ms(BRIEFLY * 100 + 20)

    def get_in_vain(self, options: int = GetOption.NO_SYNCPOINT, **how: Any) -> None:
        with pytest.raises(MQIError, match="NO_MSG_AVAILABLE"):
            self.queue.get(options, **how)


def expired_at_a_get(scene: Scene) -> None:
    scene.put_brief()
    scene.get_in_vain()


def expired_at_a_chosen_get(scene: Scene) -> None:
    scene.put_brief(correl_id=b"c" * 24)
    scene.get_in_vain(match=MQMD(correl_id=b"c" * 24))


def expired_at_a_get_of_groups(scene: Scene) -> None:
    scene.put_brief(group_id=b"g" * 24, msg_flags=MsgFlag.MSG_IN_GROUP)
    scene.get_in_vain()


def expired_at_a_browse(scene: Scene) -> None:
    scene.put_brief()
    scene.get_in_vain(GetOption.BROWSE_FIRST)


def expired_at_a_browse_that_locks(scene: Scene) -> None:
    scene.put_brief()
    scene.get_in_vain(GetOption.BROWSE_FIRST | GetOption.LOCK)


def discarded_by_the_manager(scene: Scene) -> None:
    scene.put_brief()
    assert discard_expired(scene.group.connect("QM1").connection, scene.structure) == 8


def cleared(scene: Scene) -> None:
    put_alone(scene.queue, 8)
    scene.queue.close()
    assert "CSQ" in mqsc(scene.group, "CLEAR QLOCAL(Q)")
    scene.queue = scene.connection.open("Q", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)


def backed_out(scene: Scene) -> None:
    put_in_unit(scene.queue, 8)
    scene.connection.backout()


def undone(scene: Scene) -> None:
    put_in_unit(scene.queue, 8)
    connection = scene.connection.connection
    connection.checked_call(*undo_call(connection, scene.queue.handle, 1))


WAYS = [
    *(expired_at_a_get, expired_at_a_chosen_get, expired_at_a_get_of_groups, expired_at_a_browse),
    *(expired_at_a_browse_that_locks, discarded_by_the_manager, cleared, backed_out, undone),
]


@pytest.mark.rule("mqi/events", "The depth is low also where messages expire, are cleared or are backed out.")
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "private"])
@pytest.mark.parametrize("way", WAYS)
def test_whatever_empties_the_queue_causes_depth_low(
    events: Events, way: Callable[[Scene], None], *, shared: bool
) -> None:
    scene = Scene(events, shared=shared)
    way(scene)
    assert events.names() == [HIGH, LOW]
    put_alone(scene.queue, 8)
    assert events.names() == [HIGH]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_get_counts_as_none(events: Events, way: Callable[[Scene], None]) -> None:
    scene = Scene(events)
    events.group.repository("QM1").alter("QLOCAL", "Q", {"depth_high_event": "DISABLED"})
    way(scene)
    assert counted(events.group) == (8, 8, 0)


@pytest.mark.rule("mqi/events", "The depth is high also where gets are backed out.")
def test_gets_that_are_backed_out_cause_depth_high(events: Events) -> None:
    scene = Scene(events)
    put_alone(scene.queue, 8)
    take_in_unit(scene.queue, 8)
    assert events.names() == [HIGH, LOW]
    assert counted(events.group) == (2, 0, 2)
    scene.connection.backout()
    assert events.names() == [HIGH]
    assert counted(events.group) == (8, 0, 0)
