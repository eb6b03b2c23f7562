"""The option `selector`: a table and a stream have only the messages that a selection string is true of."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import reader as queue_reader
from igq.pipeline.datasource.queue.reader import QueueReader, push
from igq.pipeline.schemas import QUEUE
from sharedq import MessageHandle, Queue
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.pipeline.streams import Drivers, bodies, in_doubt, table_rows
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

#: The number of a message is its body and its property `price`. Selectors, and the numbers that each is true of.
COUNT = 60
ALL = range(COUNT)
CHOSEN = {
    "colour = 'red'": ALL[::3],
    "colour = 'red' AND Root.MQMD.Priority > 3": [number for number in ALL[::3] if number % 10 > 3],
    "price BETWEEN 10 AND 20": ALL[10:21],
    "colour LIKE 'b%' OR price = 0": sorted([0, *ALL[1::3]]),
    "size IS NULL": ALL,
    "size IS NOT NULL": [],
    f'Root.MQMD.CorrelId = "0x{b"c7".hex():0<48}"': [7],
    "1 = 1": ALL,
}


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """Messages with properties and priorities."""
    group.define_structure()
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    for number in range(COUNT):
        handle = MessageHandle()
        handle.set("colour", ("red", "blue", "green")[number % 3])
        handle.set("price", number)
        md = MQMD(priority=number % 10, correl_id=(b"c%d" % number).ljust(24, b"\0"))
        queue.put(b"%d" % number, md, properties=handle)
    return queue


def numbers(found: list[dict[str, Any]]) -> list[int]:
    return sorted(int(row["data"].rpartition(b" ")[2] or row["data"]) for row in found)


@pytest.mark.parametrize("selector", CHOSEN)
def test_a_table_has_what_the_selector_is_true_of(group: TestGroup, orders: Queue, selector: str) -> None:
    before = browse_all(orders)
    rows = table_rows(group, queue="ORDERS", selector=selector, properties="true")
    assert numbers(rows) == list(CHOSEN[selector])
    assert browse_all(orders) == before


@pytest.mark.parametrize("selector", CHOSEN)
def test_a_stream_takes_what_the_selector_is_true_of(
    group: TestGroup, orders: Queue, drivers: Drivers, selector: str
) -> None:
    wanted = list(CHOSEN[selector])
    reader = drivers.start(selector=selector, properties="true", columns="data")
    reader.prepareForTriggerAvailableNow()
    at, seen = reader.initialOffset(), list[int]()
    while (end := reader.latestOffset(at, ReadMaxRows(8))) != at:
        seen += [int(body) for body in bodies(reader, at, end)]
        at = end
    assert sorted(seen) == wanted
    left = [orders.get(GetOption.NO_PROPERTIES).body for _ in range(COUNT - len(wanted))]
    assert sorted(map(int, left)) == sorted(set(ALL) - set(wanted))
    assert in_doubt(group) == 0


def test_a_stream_without_the_trigger_waits_for_messages_that_fit(orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start(selector="Root.MQMD.Priority = 7 AND colour = 'green'")
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadMaxRows(100))
    assert len(bodies(reader, at, end)) == 2
    again = reader.latestOffset(end, ReadMaxRows(100))
    assert again == end
    told = reader.reportLatestOffset()
    assert told is not None
    assert told["depth"] == COUNT - 2
    assert orders.name == "ORDERS"


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ("colour ==", MQRC.SELECTOR_SYNTAX_ERROR),
        ("colour = 'red' AND", MQRC.SELECTOR_SYNTAX_ERROR),
        ("Root.MQMD.Nothing = 1", MQRC.SELECTOR_SYNTAX_ERROR),
        ("1 = 2", MQRC.SELECTOR_ALWAYS_FALSE),
        ("a = '" + "x" * 10_300 + "'", MQRC.SELECTION_STRING_ERROR),
    ],
)
def test_a_wrong_selector_is_one_error_with_ibms_reason(
    group: TestGroup, drivers: Drivers, selector: str, reason: MQRC
) -> None:
    for start in (
        lambda: table_rows(group, queue="ORDERS", selector=selector),
        lambda: drivers.start(selector=selector),
    ):
        with pytest.raises(MQIError) as caught:
            start()
        assert (caught.value.reason, str(caught.value).count("\n")) == (reason, 0)


def test_an_identifier_of_the_selector_leads_to_the_message(group: TestGroup, orders: Queue) -> None:
    assert orders.name == "ORDERS"
    identifier = b"c7".ljust(24, b"\0")
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "queue": "ORDERS"}
    told["selector"] = f"Root.MQMD.CorrelId = \"0x{identifier.hex()}\" AND colour = 'blue'"
    reader = QueueReader(QUEUE, SourceOptions(told, queue_reader.OPTIONS))
    assert reader._wanted.correl_id == identifier
    # A filter of the query is another condition.
    wanted, left = push([], reader._wanted)
    assert (wanted, left) == (reader._wanted, [])
    assert len(reader.partitions()) == 1
