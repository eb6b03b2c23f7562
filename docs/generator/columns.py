"""The tables of the columns of the Spark data sources, and of the metrics."""

from __future__ import annotations

from docs.generator.markdown import code
from docs.generator.markdown import table as markdown_table
from igq.monitoring.metrics import METRICS
from igq.pipeline.schemas import JOURNAL, PARQUET_FILES, QUEUE_AND_PROPERTIES

_TABLES = {"queue": QUEUE_AND_PROPERTIES, "journal": JOURNAL, "parquet": PARQUET_FILES}


def table(name: str) -> str:
    """The columns of a data source: name, type and meaning."""
    rows = [
        (code(field.name), field.dataType.simpleString(), field.metadata["comment"]) for field in _TABLES[name].fields
    ]
    return markdown_table(("Column", "Type", "Meaning"), rows)


def metric_table() -> str:
    """Each metric: its type, labels and meaning."""
    rows = [(code(each.name), each.kind, ", ".join(map(code, each.labels)), each.text) for each in METRICS.values()]
    return markdown_table(("Metric", "Type", "Labels", "Meaning"), rows)
