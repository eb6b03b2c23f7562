"""The tables of the columns that the Spark data sources have."""

from __future__ import annotations

from docs.generator.markdown import code
from docs.generator.markdown import table as markdown_table
from igq.pipeline.schemas import JOURNAL, QUEUE

_TABLES = {"queue": QUEUE, "journal": JOURNAL}


def table(name: str) -> str:
    """The columns of a data source: name, type and meaning."""
    rows = [
        (code(field.name), field.dataType.simpleString(), field.metadata["comment"]) for field in _TABLES[name].fields
    ]
    return markdown_table(("Column", "Type", "Meaning"), rows)
