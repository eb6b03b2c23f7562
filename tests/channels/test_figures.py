"""The doings of clients are counted for their channel and for each of them, and told at most once a second."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from igq.channels.figures import ClientFigures, ServerFigures, Teller
from igq.channels.frames import Verb
from igq.operations.listeners import ChannelFigures, channel_figures, connection_figures
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.constants.pcf import PCFCommand
from sharedq.mqi.constants.pcf import PCFParameter as Param
from tests.igq.monitoring.test_metrics import scrape
from tests.igq.mqsc.test_channels import mqsc
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.pcf import Asked
from tests.support.scenes import until

pytestmark = pytest.mark.share
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)

Come = Callable[[str], RawClient]


@pytest.fixture
def come(port: int) -> Iterator[Come]:
    """Makes clients that are connected by a channel."""
    clients: list[RawClient] = []

    def come_by(channel: str) -> RawClient:
        clients.append(RawClient(port))
        assert clients[-1].connect(channel=channel).numbers[:2] == (0, 0)
        return clients[-1]

    yield come_by
    for client in clients:
        client.close()


def of_channel(group: TestGroup, name: str) -> ChannelFigures | None:
    member = group.group.member("QM1")
    assert member is not None
    found = [each for each in channel_figures(group.group, [member]) if each.channel == name]
    return found[0] if found else None


def test_calls_bytes_and_waiting_gets_are_metrics_of_the_channel(group: TestGroup, come: Come) -> None:
    first, second = come("APP"), come("APP")
    handle = first.open("Q", BOTH)
    first.put(handle, bytes(10_000))
    first.get(handle)
    first.call(Verb.DISC)
    first.close()
    second.send_get(second.open("Q", BOTH), int(GetOption.WAIT), -1)

    until(lambda: (its := of_channel(group, "APP")) is not None and (its.current, its.waiting) == (1, 1), "one is left")

    found = scrape(group)
    of = {"qmgr": "QM1", "channel": "APP", "listener": ""}
    assert (found.value("ibmmq_channel_cur_inst", **of), found.value("igq_channel_waiting_gets", **of)) == (1, 1)
    assert found.value("igq_channel_connections_total", **of) == 2
    # CONNX, OPEN, PUT, GET and DISC of the first; CONNX and OPEN of the second, whose get has not ended.
    assert found.value("igq_channel_calls_total", **of) == 7
    for name in ("igq_channel_sent_bytes_total", "igq_channel_received_bytes_total"):
        assert 10_000 < (found.value(name, **of) or 0) < 20_000


def test_the_status_of_a_channel_has_the_figures_of_each_client(group: TestGroup, come: Come) -> None:
    busy, idle = come("APP"), come("FEW")
    handle = busy.open("Q", BOTH)
    busy.put(handle, bytes(5_000))
    until(lambda: "MSGS(3)" in mqsc(group, "DISPLAY CHSTATUS(APP)"), "three calls are told")

    shown = mqsc(group, "DISPLAY CHSTATUS(APP)")
    assert 5_000 < int(re.findall(r"BYTSRCVD\((\d+)\)", shown)[0]) < 6_000
    assert 0 < int(re.findall(r"BYTSSENT\((\d+)\)", shown)[0]) < 5_000
    for keyword in ("CHSTADA", "LSTMSGDA"):
        assert re.search(rf"{keyword}\(\d{{4}}-\d\d-\d\d\)", shown)
    for keyword in ("CHSTATI", "LSTMSGTI"):
        assert re.search(rf"{keyword}\(\d\d\.\d\d\.\d\d\)", shown)
    assert "CURSHCNV(1)" in shown
    # CONNX, OPEN, PUT; the preface is no frame of the client's, but a buffer that was sent.
    assert ("BUFSRCVD(3)" in shown, "BUFSSENT(4)" in shown, "SUBSTATE(RECEIVE)" in shown) == (True, True, True)
    assert "MSGS(1)" in mqsc(group, "DISPLAY CHSTATUS(*) WHERE(MSGS LT 2)")
    (asked,) = Asked(group).items(PCFCommand.INQUIRE_CHANNEL_STATUS, {Param.CHANNEL_NAME: "APP"})
    assert (asked[Param.MSGS], asked[Param.CURRENT_SHARING_CONVS]) == (3, 1)
    assert (asked[Param.BUFFERS_RECEIVED], asked[Param.CHANNEL_SUBSTATE]) == (3, 300)
    busy.get(handle)
    busy.send_get(handle, int(GetOption.WAIT), -1)
    until(lambda: "SUBSTATE(MQGET)" in mqsc(group, "DISPLAY CHSTATUS(APP) SUBSTATE"), "it gets")
    idle.call(Verb.DISC)


def test_a_client_of_the_unix_socket_needs_no_channel_to_count(group: TestGroup, channel: Path) -> None:
    client = RawClient(channel)
    client.connect()
    until(lambda: (its := of_channel(group, "")) is not None and its.calls == 1, "it is told")
    assert scrape(group).value("ibmmq_channel_cur_inst", qmgr="QM1", channel="") == 1
    client.close()
    until(lambda: (its := of_channel(group, "")) is not None and (its.clients, its.current) == (1, 0), "it is gone")


def test_figures_are_told_when_they_change_and_seldom_otherwise(group: TestGroup) -> None:
    served, tasks = ServerFigures(), list[Callable[[], None]]()
    teller = Teller(group.group, "QM1", "", served, tasks.append)
    figures = ClientFigures("APP")
    served.begin("QM1.1.1.1", figures)
    teller.look(0.0)
    figures.called()
    teller.look(0.5)
    assert len(tasks) == 1, "it has not told yet"
    tasks.pop()()
    teller.look(0.9)
    assert tasks == [], "a second is not over"
    teller.look(1.0)
    tasks.pop()()
    for now_s in (2.0, 10.0, 19.9):
        teller.look(now_s)
    assert tasks == [], "nothing has changed"
    teller.look(21.0)
    tasks.pop()()
    its = of_channel(group, "APP")
    assert its is not None
    assert its.calls == 1
    assert 0 < group.group.client().ttl(group.group.keys.served_at("QM1", "")) <= 60


def test_many_clients_are_told_less_often(group: TestGroup) -> None:
    served, tasks = ServerFigures(), list[Callable[[], None]]()
    teller = Teller(group.group, "QM1", "", served, tasks.append)
    for number in range(2_000):
        served.begin(f"QM1.1.1.{number}", ClientFigures("APP"))
    teller.look(0.0)
    tasks.pop()()
    figures = ClientFigures("APP")
    served.begin("QM1.1.1.2000", figures)
    teller.look(4.9)
    assert tasks == []
    teller.look(5.0)
    tasks.pop()()
    member = group.group.member("QM1")
    assert member is not None
    assert len(connection_figures(group.group, member)) == 2_001


def test_a_server_of_a_manager_that_is_dead_tells_nothing(group: TestGroup) -> None:
    served, tasks = ServerFigures(), list[Callable[[], None]]()
    teller = Teller(group.group, "QM1", "", served, tasks.append)
    served.begin("QM1.1.1.1", ClientFigures("APP"))
    group.group.client().hset(group.group.keys.fence, "QM1", 1)
    teller.look(0.0)
    tasks.pop()()
    assert of_channel(group, "APP") is None
    group.group.client().hdel(group.group.keys.fence, "QM1")
    teller.look(1.0)
    tasks.pop()()
    assert of_channel(group, "APP") is not None
