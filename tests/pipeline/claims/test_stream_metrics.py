"""The metrics of the group show what each stream that runs has still to take, and has taken."""

from __future__ import annotations

import json

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from igq.pipeline.datasource.queue import stream
from sharedq.mqi.errors import MQIError
from tests.igq.monitoring.test_metrics import scrape
from tests.pipeline.streams import Drivers, open_orders
from tests.support.members import TestGroup

NAMES = ("depth", "depth_min", "depth_avg", "depth_max", "messages_total", "batches_total")


def figures(group: TestGroup, name: str = "billing") -> list[float | None]:
    found = scrape(group)
    return [found.value(f"igq_stream_{each}", stream=name) for each in NAMES]


def test_a_scrape_shows_what_a_stream_has_to_take(
    group: TestGroup, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_REPORT_S", 0.0)
    group.connect().put1(open_orders(group).name, b"x")
    group.connect().put1("COPY", b"x")
    reader = drivers.start(queues="ORDERS,COPY")
    start = reader.initialOffset()
    reader.reportLatestOffset()
    assert figures(group) == [None] * 6
    first = reader.latestOffset(start, ReadMaxRows(4))
    assert reader.reportLatestOffset() is not None
    # The stream claims one batch more, ahead of Spark.
    depth, least, average, most, messages, batches = figures(group)
    assert None not in (depth, least, average, most)
    assert (messages, batches) == (4, 1)
    assert average is not None
    assert average * 2 == depth
    found = scrape(group)
    assert 0 <= (found.value("igq_stream_report_age_seconds", stream="billing") or 0) < 600
    assert 0 < (found.value("igq_stream_oldest_message_age", stream="billing") or 0) < 600
    list(reader.read(reader.partitions(start, first)[0]))
    reader.stop()
    assert figures(group) == [None] * 6


def test_a_connection_that_is_recovered_tells_nothing_more(group: TestGroup) -> None:
    connection = group.connect().connection
    connection.tell(stream={"name": "late"})
    told = json.loads(group.group.client().hget(group.group.keys.owners, connection.token) or b"{}")
    assert (told["stream"], told["appl"]) == ({"name": "late"}, connection.appl_name)
    group.group.client().hdel(group.group.keys.owners, connection.token)
    with pytest.raises(MQIError, match="2009"):
        connection.tell(stream={"name": "late"})
    assert not group.group.client().hexists(group.group.keys.owners, connection.token)
