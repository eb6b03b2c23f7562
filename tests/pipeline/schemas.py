"""Schemas of small tables."""

from __future__ import annotations

from pyspark.sql.types import StructType


def schema_of(**columns: str) -> StructType:
    """A schema by the names and types of its columns."""
    schema = StructType()
    for name, kind in columns.items():
        schema = schema.add(name, kind)
    return schema
