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
    """The columns that the options name, in the table's order. All of QUEUE if *columns* is empty.

    Args:
        properties: ``true`` adds the columns of properties.
    """
    names = [name.strip() for name in columns.split(",") if name.strip()]
    unknown = [name for name in names if name not in QUEUE_AND_PROPERTIES.fieldNames()]
    if unknown:
        raise PipelineError(
            f"columns: there is no {unknown[0]}; allowed: {', '.join(QUEUE_AND_PROPERTIES.fieldNames())}"
        )
    wanted = {*(names or QUEUE.fieldNames())}
    if properties.strip().lower() == "true":
        wanted |= {*PROPERTIES.fieldNames()}
    return StructType([field for field in QUEUE_AND_PROPERTIES.fields if field.name in wanted])
