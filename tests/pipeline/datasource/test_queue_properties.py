"""Message properties as columns: read from the MQRFH2, which leaves the data, and written into one."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import LongType, MapType, StringType, StructType

from igq.pipeline.datasource.queue.rows import check_columns, messages
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import PROPERTIES, QUEUE
from sharedq import MessageHandle, Queue
from sharedq.mqi.constants import MQRC, Format, GetOption, PropertyType
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.properties.headers import separated
from tests.pipeline.schemas import schema_of
from tests.pipeline.streams import Drivers, Watch, in_doubt, rows, table_rows
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup

TEXTS = MapType(StringType(), StringType())
#: Of every type, with what the two columns have.
VALUES: dict[str, tuple[PropertyType, Any, str | None, Any]] = {
    "colour": (PropertyType.STRING, "rot & grün", "rot & grün", "rot & grün"),
    "small": (PropertyType.INT8, -7, "-7", -7),
    "price": (PropertyType.INT64, 1 << 60, str(1 << 60), 1 << 60),
    "weight": (PropertyType.FLOAT64, 1.5, "1.5", 1.5),
    "endless": (PropertyType.FLOAT64, float("inf"), "inf", "Infinity"),
    "is_new": (PropertyType.BOOLEAN, True, "TRUE", True),
    "token": (PropertyType.BYTE_STRING, b"\x01\xfe", "01FE", "01FE"),
    "nothing": (PropertyType.NULL, None, None, None),
    "mq_usr.own": (PropertyType.STRING, "x", "x", "x"),
    "app.part.name": (PropertyType.STRING, "y", "y", "y"),
    "JMSCorrelationID": (PropertyType.STRING, "id", "id", "id"),
}
#: The name under which JMS' property is kept.
KEPT = {"JMSCorrelationID": "jms.Cid"}


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """Three messages: with properties of every type, with none, and with a header that is not valid."""
    group.define_structure()
    group.define_shared("ORDERS")
    group.define_shared("COPY")
    queue = group.connect().open("ORDERS", BOTH)
    handle = MessageHandle()
    for name, (type_, value, _, _) in VALUES.items():
        handle.set(name, value, type_)
    queue.put("größer".encode(), MQMD(format=b"MQSTR", correl_id=b"C" * 24), properties=handle)
    queue.put(b"plain", MQMD(format=b"MQSTR"))
    queue.put(b"RFH no header", MQMD(format=Format.RF_HEADER_2))
    return queue


@pytest.mark.share
@pytest.mark.parametrize("kind", ["table", "stream"])
def test_properties_are_columns_and_leave_the_data(
    group: TestGroup, orders: Queue, drivers: Drivers, kind: str
) -> None:
    if kind == "table":
        found = table_rows(group, queue="ORDERS", properties="true")
    else:
        reader = drivers.start(properties="true")
        at = reader.initialOffset()
        found = rows(reader, at, reader.latestOffset(at, ReadMaxRows(100)))
    first, plain, wrong = found
    assert dict(first["properties"]) == {KEPT.get(name, name): text for name, (_, _, text, _) in VALUES.items()}
    typed = {KEPT.get(name, name): value for name, (_, _, _, value) in VALUES.items()}
    assert json.loads(first["properties_json"]) == typed
    assert (first["data"].decode(), first["length"], first["format"]) == ("größer", 8, "MQSTR")
    assert (first["encoding"], first["coded_char_set_id"]) == (plain["encoding"], plain["coded_char_set_id"])
    assert (plain["data"], plain["properties"], plain["properties_json"]) == (b"plain", [], "{}")
    # A header that is not valid is data.
    assert (wrong["data"], wrong["format"], wrong["properties"]) == (b"RFH no header", "MQHRF2", [])
    assert orders.name == "ORDERS"


@pytest.mark.share
@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"columns": "properties"}, ["properties"]),
        ({"columns": "properties_json,length"}, ["length", "properties_json"]),
        ({"columns": "data", "properties": "true"}, ["data", "properties", "properties_json"]),
        ({"properties": "false", "columns": "data"}, ["data"]),
        ({"properties": "TRUE", "columns": "all"}, [*QUEUE.fieldNames(), *PROPERTIES.fieldNames()]),
        ({"columns": "all"}, QUEUE.fieldNames()),
    ],
)
def test_they_are_there_where_they_are_asked_for(
    group: TestGroup, orders: Queue, options: dict[str, str], columns: list[str]
) -> None:
    assert QueueSource({"queue": "ORDERS", **options}).schema().fieldNames() == columns
    found = table_rows(group, queue="ORDERS", **options)
    assert [*found[0]] == columns
    if "length" in columns:
        whole = len(browse_all(orders, GetOption.PROPERTIES_FORCE_MQRFH2)[0])
        assert found[0]["length"] == (8 if "properties_json" in columns else whole)


def test_a_schema_asks_for_them_too(group: TestGroup, orders: Queue) -> None:
    source: DataSource = QueueSource(
        {"url": str(group.settings.redis_url), "group": group.group.name, "queue": "ORDERS"}
    )
    reader = source.reader(StructType().add("properties", TEXTS).add("data", "binary"))
    (partition,) = reader.partitions()
    found: list[dict[str, Any]] = []
    for batch in reader.read(partition):
        assert isinstance(batch, pa.RecordBatch)
        found += batch.to_pylist()
    assert (dict(found[0]["properties"])["colour"], found[0]["data"].decode()) == ("rot & grün", "größer")
    assert orders.name == "ORDERS"


# -- writing -----------------------------------------------------------------------------------------------------------


def put(kind: StructType, **columns: list[Any]) -> list[tuple[MQMD, bytes]]:
    return list(messages(pa.RecordBatch.from_pydict(columns, schema=to_arrow_schema(kind))))


@pytest.mark.share
def test_a_map_becomes_properties_of_type_string() -> None:
    kind = schema_of(data="string", format="string").add("properties", TEXTS)
    given = [{"colour": "red", "n": "7", "none": None}, {}, None]
    found = put(kind, data=["a", "b", "c"], format=["MQSTR"] * 3, properties=given)
    (md, body), *others = found
    assert md.format == Format.RF_HEADER_2
    properties, data = separated(md, body)
    assert [(each.name, each.type_, each.value) for each in properties] == [
        ("colour", PropertyType.STRING, "red"),
        ("n", PropertyType.STRING, "7"),
        ("none", PropertyType.NULL, None),
    ]
    assert (data, md.format) == (b"a", b"MQSTR")
    # A row without properties gets no header.
    assert [(md.format, body) for md, body in others] == [(b"MQSTR", b"b"), (b"MQSTR", b"c")]


@pytest.mark.share
def test_typed_properties_keep_their_types_and_come_first() -> None:
    kind = schema_of(data="string", properties_json="string").add("properties", TEXTS)
    text = json.dumps({"price": 7, "weight": 1.5, "is_new": False, "colour": "red", "nothing": None})
    (first, second) = put(kind, data=["a", "b"], properties_json=[text, None], properties=[{"price": "8"}] * 2)
    assert [(each.name, each.type_, each.value) for each in separated(*first)[0]] == [
        ("price", PropertyType.INT64, 7),
        ("weight", PropertyType.FLOAT64, 1.5),
        ("is_new", PropertyType.BOOLEAN, False),
        ("colour", PropertyType.STRING, "red"),
        ("nothing", PropertyType.NULL, None),
    ]
    assert [(each.name, each.value) for each in separated(*second)[0]] == [("price", "8")]


@pytest.mark.share
@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("properties", {"NOT": "x"}, r"MQRC_PROPERTY_NAME_ERROR \(2442\)"),
        ("properties", {"": "x"}, r"\(2513\)"),
        ("properties", {"1a": "x"}, r"\(2442\)"),
        ("properties_json", "{", "properties_json is no JSON object of texts, numbers and truth values in a row: '{'"),
        ("properties_json", "[1]", "properties_json is no JSON object"),
        ("properties_json", '{"a": {"b": 1}}', "properties_json is no JSON object"),
        ("properties_json", '{"a": 99999999999999999999}', r"MQRC_PROPERTY_VALUE_TOO_BIG \(2469\)"),
    ],
)
def test_what_cannot_be_a_property_is_one_clear_error(column: str, value: Any, what: str) -> None:
    kind = schema_of(data="string").add(column, TEXTS if column == "properties" else StringType())
    with pytest.raises((PipelineError, MQIError), match=what) as caught:
        put(kind, data=["a"], **{column: [value]})
    assert "\n" not in str(caught.value)


@pytest.mark.share
def test_a_map_of_other_types_is_refused() -> None:
    kind = schema_of(data="string").add("properties", MapType(StringType(), LongType()))
    with pytest.raises(PipelineError, match="column properties is map<string,bigint>, must be map<string,string>"):
        check_columns(kind)


@pytest.mark.spark
@pytest.mark.share
def test_a_copy_through_spark_has_the_same_properties(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    spark.dataSource.register(QueueSource)
    at = {"url": str(group.settings.redis_url), "group": group.group.name}
    table = spark.read.format("igq").options(**at, queue="ORDERS", properties="true").load()
    assert table.schema["properties"].dataType == TEXTS
    red = table.where("properties['colour'] LIKE 'rot%'")
    assert red.selectExpr("from_json(properties_json, 'price BIGINT').price").collect()[0][0] == 1 << 60
    chosen = red.select("data", "format", "correl_id", "properties")
    with Watch(group):
        chosen.write.format("igq").options(**at, queue="COPY").mode("append").save()
    handle = MessageHandle()
    copy = group.connect().open("COPY", BOTH)
    message = copy.get(GetOption.PROPERTIES_IN_HANDLE, properties=handle)
    assert (message.body.decode(), message.md.format, message.md.correl_id) == ("größer", b"MQSTR", b"C" * 24)
    texts = {KEPT.get(name, name): text for name, (_, _, text, _) in VALUES.items()}
    assert {name: handle.get(name) for name in handle} == texts
    with pytest.raises(MQIError) as caught:
        copy.get()
    assert (caught.value.reason, in_doubt(group)) == (MQRC.NO_MSG_AVAILABLE, 0)
    assert orders.name == "ORDERS"
