"""Events of channels: an operator stops and starts one, and a client is refused.

IBM MQ writes Channel Started and Channel Stopped for no client that comes or goes.
"""

from __future__ import annotations

import socket

import pytest

from igq.events import formats
from sharedq.mqi.constants import MQRC
from tests.channels.conftest import served
from tests.igq.events.scene import Events, mqsc
from tests.support.channel_client import RawClient

DEFINE = "DEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MCAUSER('app')"
STOPPED = {
    "event": "CHANNEL_EVENT",
    "reason": 2279,
    "reasonName": "MQRC_CHANNEL_STOPPED_BY_USER",
    "qMgrName": "QM1",
    "reasonQualifier": "CHANNEL_STOPPED_DISABLED",
    "channelName": "APP",
}
STARTED = {
    "event": "CHANNEL_EVENT",
    "reason": 2282,
    "reasonName": "MQRC_CHANNEL_STARTED",
    "qMgrName": "QM1",
    "channelName": "APP",
}


@pytest.mark.rule("mqi/events", "CHLEV(EXCEPTION) tells of a STOP CHANNEL, CHLEV(ENABLED) of a START CHANNEL too.")
@pytest.mark.parametrize(
    ("level", "told"), [("ENABLED", [STOPPED, STARTED]), ("EXCEPTION", [STOPPED]), ("DISABLED", [])]
)
def test_an_operator_stops_and_starts_a_channel(events: Events, level: str, told: list[dict[str, object]]) -> None:
    mqsc(events.group, f"ALTER QMGR CHLEV({level})", DEFINE)
    mqsc(events.group, "STOP CHANNEL(APP)", "STOP CHANNEL(APP)", "START CHANNEL(APP)", "START CHANNEL(APP)")
    mqsc(events.group, "STOP CHANNEL(APP) STATUS(INACTIVE)")
    assert [fields for fields, _ in events.read(formats.CHANNEL_QUEUE)] == told


@pytest.mark.rule("mqi/events", "A client that comes by a channel, or goes, causes no channel event.")
def test_clients_come_and_go_without_an_event(events: Events) -> None:
    mqsc(events.group, "ALTER QMGR CHLEV(ENABLED)", DEFINE)
    listening = socket.create_server(("127.0.0.1", 0))
    with served(events.group, listening):
        client = RawClient(listening.getsockname()[1])
        assert client.connect(channel="APP").numbers[:2] == (0, 0)
        client.close()
    assert events.read(formats.CHANNEL_QUEUE) == []


def test_a_refused_client_is_told_with_its_channel_and_its_place(events: Events) -> None:
    mqsc(events.group, "DEFINE CHANNEL(NOBODY) CHLTYPE(SVRCONN)")
    listening = socket.create_server(("127.0.0.1", 0))
    with served(events.group, listening):
        client = RawClient(listening.getsockname()[1])
        assert client.connect(channel="NOBODY").numbers[:2] == (2, MQRC.NOT_AUTHORIZED)
        own_port = client.socket.getsockname()[1]
        client.close()
    (told,) = [fields for fields, _ in events.read(formats.QMGR_QUEUE) if fields["reason"] == MQRC.NOT_AUTHORIZED]
    assert (told["reasonQualifier"], told["applName"]) == ("CONN_NOT_AUTHORIZED", "raw")
    assert (told["channelName"], told["connectionName"]) == ("NOBODY", f"127.0.0.1({own_port})")


def test_a_call_of_a_client_that_is_refused_names_its_channel(events: Events) -> None:
    mqsc(events.group, DEFINE)
    listening = socket.create_server(("127.0.0.1", 0))
    with served(events.group, listening):
        client = RawClient(listening.getsockname()[1])
        client.connect(channel="APP")
        with pytest.raises(AssertionError):
            client.open("NO.SUCH.QUEUE", 16)
        client.close()
    (told,) = [fields for fields, _ in events.read(formats.QMGR_QUEUE) if fields["reason"] == MQRC.UNKNOWN_OBJECT_NAME]
    assert told["channelName"] == "APP"
    assert str(told["connectionName"]).startswith("127.0.0.1(")
