"""The columns that a query reads of a queue, and what must be fetched for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import PROPERTIES, QUEUE, QUEUE_AND_PROPERTIES

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns by the name of their preset. The preset ``data`` is the column.
PRESETS = {
    "basic": (
        *("queue", "message_id", "msg_type", "coded_char_set_id", "format", "priority", "persistence"),
        *("msg_id", "correl_id", "reply_to_q", "reply_to_q_mgr", "put_at", "length", "data"),
    ),
    "all": tuple(QUEUE.fieldNames()),
}


@dataclass(frozen=True)
class Layout:
    """The columns of a query.

    Attributes:
        takes_properties: the query asks for message properties, so these leave the data.
    """

    schema: StructType
    takes_properties: bool

    @classmethod
    def of(cls, schema: StructType, options: SourceOptions) -> Layout:
        """The layout of a query. Raises PipelineError: the option ``properties`` is no truth value."""
        is_asked = not set(PROPERTIES.fieldNames()).isdisjoint(schema.fieldNames())
        return cls(schema, options.flag("properties", default=False) or is_asked)

    @property
    def has_data(self) -> bool:
        """Whether the messages' data must be fetched. Properties are in front of it."""
        return self.takes_properties or "data" in self.schema.fieldNames()

    @property
    def arrow(self) -> pa.Schema:
        """The columns as Arrow has them."""
        return to_arrow_schema(self.schema, timezone="UTC")


def chosen(columns: str, properties: str) -> StructType:
    """The columns that the options name, in the table's order.

    Args:
        columns: names and presets; empty: the preset ``basic``.
        properties: ``true`` adds the columns of properties.
    """
    names = [name.strip() for name in columns.split(",") if name.strip()] or ["basic"]
    allowed = (*PRESETS, *QUEUE_AND_PROPERTIES.fieldNames())
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise PipelineError(f"columns: there is no {unknown[0]}; allowed: {', '.join(allowed)}")
    wanted = {column for name in names for column in PRESETS.get(name, (name,))}
    if properties.strip().lower() == "true":
        wanted |= {*PROPERTIES.fieldNames()}
    return StructType([field for field in QUEUE_AND_PROPERTIES.fields if field.name in wanted])
