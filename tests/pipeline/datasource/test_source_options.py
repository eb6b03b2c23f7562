"""A mistake in a query's options or schema is one clear error, even if Redis is not asked. No Spark here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import BinaryType, LongType, StringType, StructType

from igq.pipeline.datasource.journal.source import JournalSource
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import JOURNAL, QUEUE
from sharedq.reading.journal import JournalError
from sharedq.redis.embedded import EmbeddedRedis

pytestmark = pytest.mark.share

AT = {"group": "QSG1", "url": "redis://127.0.0.1:1", "queue": "ORDERS", "stream": "s"}
EVENT, MSG_ID = StructType().add("event", StringType()), StructType().add("msg_id", BinaryType())


def asked(made: object) -> None:
    """As Spark does: an error of a stream is reported at the first request, whatever it is."""
    if isinstance(made, DataSourceStreamReader):
        for question in (made.latestOffset, made.partitions, made.read):
            with pytest.raises(PipelineError):
                cast("Any", question)()
        made.initialOffset()


@pytest.mark.parametrize("kind", ["reader", "streamReader"])
@pytest.mark.parametrize(
    ("source", "schema", "what"),
    [
        (
            JournalSource,
            StructType().add("evnt", StringType()),
            "schema: there is no column evnt; allowed: event, time",
        ),
        (JournalSource, StructType().add("event", LongType()), "schema: event is string"),
        (JournalSource, StructType([*EVENT.fields, *EVENT.fields]), "schema: event comes 2 times"),
        (QueueSource, StructType([*MSG_ID.fields, *MSG_ID.fields]), "schema: msg_id comes 2 times"),
    ],
)
def test_a_schema_of_other_columns_is_refused(
    source: type[DataSource], schema: StructType, what: str, kind: str
) -> None:
    options = AT if source is QueueSource else {"group": AT["group"], "url": AT["url"]}
    with pytest.raises(PipelineError, match=what):
        asked(getattr(source(options), kind)(schema))


@pytest.mark.parametrize(
    ("qmgr", "names"), [("QM1", "QM1"), ("QSG1", "QSG1"), ("*QSG1", "QSG1"), (" QM1 , QM2", "QM1,QM2"), ("", "")]
)
def test_the_managers_are_one_or_several_or_the_group(qmgr: str, names: str) -> None:
    assert SourceOptions({"qmgr": qmgr}, ("qmgr",)).managers() == names


@pytest.mark.parametrize(("name", "value"), [("qmgr", "QM1,,QM2"), ("qmgr", ",QM1"), ("outage_s", "-1")])
@pytest.mark.parametrize(
    ("kind", "arguments"), [("reader", (QUEUE,)), ("streamReader", (QUEUE,)), ("writer", (MSG_ID, False))]
)
def test_a_list_with_a_hole_is_refused(kind: str, arguments: tuple[Any, ...], name: str, value: str) -> None:
    options = AT | {"qmgr": "QM1", name: value}
    if kind != "streamReader":
        del options["stream"]
    if kind == "writer":
        arguments = (StructType().add("data", BinaryType()), False)
    with pytest.raises(PipelineError, match=rf"^{name}={value}: allowed: "):
        asked(getattr(QueueSource(options), kind)(*arguments))


@pytest.mark.parametrize(("start", "end"), [("2026-01-31T12:00:00", "2026-01-31T11:59:59"), ("1000-5", "1000-4")])
def test_a_journal_that_ends_before_it_begins_is_refused(start: str, end: str) -> None:
    options = {"group": AT["group"], "url": AT["url"], "start": start, "end": end}
    with pytest.raises(JournalError, match=r"^the end \(.*\) is before the start \(.*\)$"):
        JournalSource(options).reader(JOURNAL)


def test_without_a_url_it_is_the_embedded_server_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IGQ_REDIS_URL", raising=False)
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path))
    options = SourceOptions({"group": "QSG1"}, ())

    with pytest.raises(PipelineError, match=f"no embedded server runs in {tmp_path}: give the option url"):
        options.settings()
    with EmbeddedRedis.start_or_join(tmp_path) as held:
        assert options.settings().redis_url == held.url
