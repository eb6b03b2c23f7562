"""Clients that come by TCP: their channel says who they are and what they may."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from igq.channels.frames import Verb
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.wire import MD
from tests.igq.mqsc.test_channels import mqsc
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import until

pytestmark = pytest.mark.share
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
WAIT = int(GetOption.WAIT)

Come = Callable[[str], tuple[RawClient, tuple[int, ...]]]


@pytest.fixture
def come(port: int) -> Iterator[Come]:
    """Makes clients that connect by a channel. Returns each with the numbers of the reply."""
    clients: list[RawClient] = []

    def come_by(channel: str) -> tuple[RawClient, tuple[int, ...]]:
        clients.append(RawClient(port))
        return clients[-1], clients[-1].connect(channel=channel).numbers

    yield come_by
    for client in clients:
        client.close()


def test_a_client_acts_as_the_user_of_its_channel(group: TestGroup, come: Come) -> None:
    client, numbers = come("APP")
    assert numbers == (0, 0, 1, 4_194_304)
    handle = client.open("Q", BOTH)
    client.put(handle, b"hello")
    assert MD.unpack(client.get(handle).blobs[0]).user_identifier == b"app"
    shown = mqsc(group, "DISPLAY CHSTATUS(APP)", "DISPLAY CONN(*) WHERE(CHANNEL EQ APP)", "DIS QS(Q) TYPE(HANDLE)")
    for text in ("CHSTATUS(APP)", "MCAUSER(app)", "RAPPLTAG(raw)", "STATUS(RUNNING)", "CONNAME(127.0.0.1("):
        assert text in shown
    assert shown.count("CHANNEL(APP)") == 2
    assert f"PID({os.getpid()})" in shown
    assert "No CHSTATUS matches" in mqsc(group, "DISPLAY CHSTATUS(OTHER*)")


@pytest.mark.parametrize(
    ("channel", "reason"),
    [("", MQRC.UNKNOWN_CHANNEL_NAME), ("NONE", MQRC.UNKNOWN_CHANNEL_NAME), ("NOBODY", MQRC.NOT_AUTHORIZED)],
)
def test_a_client_without_a_channel_or_a_user_is_refused(come: Come, channel: str, reason: MQRC) -> None:
    _, numbers = come(channel)
    assert numbers[:2] == (2, reason)


def test_a_channel_has_so_many_instances(come: Come) -> None:
    (first, _), (_, numbers) = come("FEW"), come("FEW")
    assert numbers[:2] == (0, 0)
    assert come("FEW")[1][:2] == (2, MQRC.CHANNEL_NOT_AVAILABLE)
    first.close()
    until(lambda: come("FEW")[1][:2] == (0, 0), "there is room")


def test_a_message_that_is_longer_than_the_channel_takes_is_refused(come: Come) -> None:
    client, numbers = come("FEW")
    assert numbers[3] == 1_000
    handle = client.open("Q", BOTH)
    assert client.put(handle, bytes(1_001)).numbers[:2] == (2, MQRC.DATA_LENGTH_ERROR)
    assert client.put(handle, bytes(1_000)).numbers[:2] == (0, 0)


def test_a_client_that_is_silent_for_two_heartbeats_is_ended(come: Come) -> None:
    silent, _ = come("APP")
    talking, _ = come("APP")
    silent.send_get(silent.open("Q", BOTH), WAIT, -1)
    until(lambda: _talks_until_it_ends(talking, silent), "the silent one is ended")


def _talks_until_it_ends(talking: RawClient, silent: RawClient) -> bool:
    assert talking.call(Verb.HEARTBEAT).numbers == ()
    silent.socket.settimeout(0.1)
    try:
        frame = silent.receive()
    except TimeoutError:
        return False
    return frame.verb == Verb.ENDED and "nothing was heard" in frame.blobs[0].decode()
