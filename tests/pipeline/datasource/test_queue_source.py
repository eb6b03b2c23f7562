"""`format("igq")`, reading: against real queues."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.datasource.queue import layout
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.schemas import QUEUE
from sharedq.api import Queue
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, MIG, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import contents

pytestmark = pytest.mark.spark

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """An empty shared queue."""
    group.define_structure()
    group.define_shared("ORDERS")
    return group.connect().open("ORDERS", BOTH)


def read(spark: SparkSession, where: TestGroup, **options: Any) -> DataFrame:
    spark.dataSource.register(QueueSource)
    reader = spark.read.format("igq").options(url=where.settings.redis_url, group=where.group.name, queue="ORDERS")
    return reader.options(**{"columns": "all"} | options).load()


def correl(text: str) -> bytes:
    return text.encode().ljust(24, b"\0")


@pytest.mark.share
def test_a_queue_is_a_table_in_delivery_order(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    for number in range(60):
        if number % 4 == 0:
            put_member(orders, b"g", number + 1, b"%d" % number, correl_id=correl("member"))
        else:
            orders.put(b"%d" % number, MQMD(priority=number % 3, format=b"MQSTR"))
    before = contents(group)

    table = read(spark, group, rowsPerPartition="7")
    rows = table.collect()

    assert table.schema == QUEUE
    assert table.rdd.getNumPartitions() > 4
    assert [bytes(row.data) for row in rows] == browse_all(orders)
    member = next(row for row in rows if row.data == b"4")
    assert (member.msg_seq_number, member.msg_flags, bytes(member.correl_id)) == (5, MIG, correl("member"))
    plain = next(row for row in rows if row.data == b"1")
    assert (plain.format, plain.correl_id, plain.group_id, plain.length) == ("MQSTR", None, None, 1)
    put_at = plain.put_at.astimezone(UTC)
    assert (plain.put_date, plain.put_time) == (f"{put_at:%Y%m%d}", f"{put_at:%H%M%S%f}"[:8])
    assert abs(datetime.now(UTC) - put_at) < timedelta(minutes=10)
    assert contents(group) == before


@pytest.mark.share
def test_columns_and_schemas_choose_what_is_read(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    orders.put(b"body", MQMD(priority=3))

    chosen = read(spark, group, columns="priority, msg_id,length")
    given = (
        spark.read.format("igq")
        .schema("length BIGINT, queue STRING")
        .options(url=group.settings.redis_url, group=group.group.name, queue="ORDERS")
        .load()
    )

    assert chosen.columns == ["priority", "msg_id", "length"]
    assert (chosen.collect()[0].priority, chosen.collect()[0].length) == (3, 4)
    assert [tuple(row) for row in given.collect()] == [(4, "ORDERS")]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ("", "basic"),
        ("data", "data"),
        ("all", "all"),
        ("length, data", "data length"),
        ("basic,group_id", "basic group_id"),
    ],
)
def test_presets_stand_for_columns(columns: str, found: str) -> None:
    basic = "queue message_id msg_type coded_char_set_id format priority persistence msg_id correl_id reply_to_q"
    basic += " reply_to_q_mgr put_at length data"
    names = found.replace("basic", basic).replace("all", " ".join(QUEUE.fieldNames())).split()
    assert layout.chosen(columns, "").fieldNames() == [name for name in QUEUE.fieldNames() if name in names]


def test_an_empty_queue_is_an_empty_table(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    assert orders.name == "ORDERS"
    assert read(spark, group).collect() == []
    assert read(spark, group, columns="msg_id").collect() == []


def test_filters_that_are_pushed_find_what_spark_finds(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    for number in range(30):
        md = MQMD(version=2, priority=number % 5, correl_id=correl(f"c{number % 3}"))
        if number % 2:
            md.group_id, md.msg_flags, md.msg_seq_number = correl("g"), MIG, number
        orders.put(b"%d" % number, md)
    everything = read(spark, group).persist()
    middle = everything.orderBy("put_at").collect()[15]
    filters = [
        F.col("correl_id") == F.lit(correl("c1")),
        (F.col("correl_id") == F.lit(correl("c1"))) & (F.col("priority") > 2),
        F.col("group_id") == F.lit(correl("g")),
        F.col("msg_id") == F.lit(bytes(middle.msg_id)),
        F.col("priority").between(1, 3),
        F.col("put_at") >= F.lit(middle.put_at),
        (F.col("put_at") < F.lit(middle.put_at)) & (F.col("format") == ""),
        F.col("correl_id") == F.lit(b"short"),
        F.col("priority").isin(1, 4) | (F.col("correl_id") == F.lit(correl("c2"))),
    ]
    try:
        for condition in filters:
            found = read(spark, group).where(condition)
            expected = everything.where(condition)
            assert sorted(row.position for row in found.collect()) == sorted(row.position for row in expected.collect())
        asked = left_to_spark(read(spark, group, pushFilters="true").where(filters[1] & filters[5]))
        assert "correl_id" not in asked.replace("isnotnull(correl_id", "")
        assert "> 2" not in asked
        assert ">= " not in asked
        assert left_to_spark(read(spark, group).where(filters[1] & filters[5])) == asked
        assert "> 2" in left_to_spark(read(spark, group, pushFilters="false").where(filters[1] & filters[5]))
        spark.conf.set(PUSHDOWN, "false")
        assert "> 2" in left_to_spark(read(spark, group).where(filters[1] & filters[5]))
    finally:
        spark.conf.set(PUSHDOWN, "true")
        everything.unpersist()


def left_to_spark(table: DataFrame) -> str:
    """The filters that it applies itself."""
    plan = table._jdf.queryExecution().executedPlan().toString()
    return re.sub(r"#\d+", "", "".join(re.findall(r"^.*\bFilter \(.*$", plan, flags=re.MULTILINE)))


#: Messages with bodies of 2 KiB, and about the number of bytes that the server sends if all of them are read.
DEEP, BODY = 1_500, bytes(2048)
EVERYTHING_BYTES = DEEP * len(BODY)


@pytest.fixture
def deep(orders: Queue) -> list[MQMD]:
    """A deep queue: each message has its own CorrelId, and every hundredth is a member of the group g."""
    mds = []
    for number in range(DEEP):
        md = MQMD(version=2, priority=9 if number == 700 else 4, correl_id=correl(f"c{number}"))
        if number % 100 == 0:
            md.group_id, md.msg_flags, md.msg_seq_number = correl("g"), MIG, number // 100 + 1
        mds.append(md)
    orders.put_many([(md, BODY) for md in mds])
    return mds


class Server:
    """The work of a server: commands by name, bytes that it sent."""

    def __init__(self, group: TestGroup) -> None:
        self._client: redis.Redis = group.group.client()
        self._before = self._sent

    @property
    def _sent(self) -> int:
        return int(self._client.info("stats")["total_net_output_bytes"])

    @property
    def sent(self) -> int:
        return self._sent - self._before

    def calls(self, command: str) -> int:
        return int(self._client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"])


def test_unrequested_columns_are_not_fetched(spark: SparkSession, group: TestGroup, deep: list[MQMD]) -> None:
    everything = Server(group)
    assert len(read(spark, group).collect()) == len(deep)
    assert everything.sent > EVERYTHING_BYTES
    without = Server(group)
    assert len(read(spark, group, columns="msg_id,priority,length").collect()) == len(deep)
    assert without.sent < EVERYTHING_BYTES / 5


@pytest.mark.parametrize(
    ("condition", "rows", "by_index"),
    [
        ("correl_id = X'{correl_id}'", 1, True),
        ("correl_id = X'{correl_id}' AND priority = 4", 1, True),
        ("group_id = X'{group_id}'", DEEP // 100, True),
        ("msg_id = X'{msg_id}'", 1, True),
        ("priority > 4", 1, False),
        ("put_at < TIMESTAMP '2001-01-01 00:00:00'", 0, False),
    ],
)
def test_messages_that_filters_exclude_are_not_fetched(
    spark: SparkSession, group: TestGroup, deep: list[MQMD], condition: str, rows: int, by_index: bool
) -> None:
    ids = {name: getattr(deep[800], name).hex() for name in ("msg_id", "correl_id", "group_id")}
    table = read(spark, group).where(condition.format(**ids))
    server = Server(group)
    scans = server.calls("zrangebyscore")
    assert len(table.collect()) == rows
    # Scripts and definitions are sent, too.
    assert server.sent < EVERYTHING_BYTES / 10
    # By the index: only the matches were examined.
    assert (server.calls("zrangebyscore") == scans) == by_index


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"queue": "NONE"}, r"NONE: MQRC_UNKNOWN_OBJECT_NAME \(2085\), no such queue among the shared ones"),
        ({"queue": "ORDERS", "qmgr": "QM7"}, r"QM7: MQRC_Q_MGR_NAME_ERROR \(2058\)"),
        ({"queue": ""}, "the option queue is missing"),
        ({"columns": "msg_id,body"}, "columns: there is no body; allowed: basic, all, queue, structure"),
        ({"colums": "msg_id"}, "unknown option colums; allowed: group, url, queue, qmgr, columns"),
        ({"rowsPerPartition": "0"}, "rowsPerPartition=0: allowed: whole numbers from 1 on"),
        ({"pushFilters": "maybe"}, "pushFilters=maybe: allowed: true, false"),
        ({"group": "not a name"}, "option group=not a name: allowed: 1 to 4 of A-Z"),
        ({"group": "NONE"}, r"NONE: MQRC_Q_MGR_NOT_AVAILABLE \(2059\)"),
        ({"url": "http://somewhere"}, "option url=http://somewhere: allowed: redis://, "),
        ({"url": "unix:///nowhere/at/all"}, r"MQRC_CONNECTION_BROKEN \(2009\)"),
    ],
)
@pytest.mark.share
def test_an_impossible_read_is_one_clear_error(
    spark: SparkSession, group: TestGroup, orders: Queue, options: dict[str, str], what: str
) -> None:
    assert orders.name == "ORDERS"
    with pytest.raises(Exception, match=what):
        read(spark, group, **options).collect()


def test_a_schema_with_another_type_is_refused(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    assert orders.name == "ORDERS"
    reader = spark.read.format("igq").options(url=group.settings.redis_url, group=group.group.name, queue="ORDERS")
    with pytest.raises(Exception, match="schema: length is bigint"):
        reader.schema("length STRING").load().collect()


@pytest.mark.share
def test_a_user_without_the_right_to_read_gets_2035(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    assert orders.name == "ORDERS"
    client: redis.Redis = group.group.client()
    client.acl_setuser("reader", enabled=True, passwords=["+secret"], keys=["*"], categories=["+@connection"])
    try:
        url = f"{group.settings.redis_url}?username=reader&password=secret"
        with pytest.raises(Exception, match=r"MQRC_NOT_AUTHORIZED \(2035\)"):
            read(spark, group, url=url).collect()
        wrong = f"{group.settings.redis_url}?username=reader&password=wrong"
        with pytest.raises(Exception, match=r"MQRC_NOT_AUTHORIZED \(2035\)"):
            read(spark, group, url=wrong).collect()
    finally:
        client.acl_deluser("reader")
