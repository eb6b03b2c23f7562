"""Registers ``format("igq.parquet")``: Spark looks for installed modules with this kind of name."""

from igq.pipeline.datasource.parquet.source import ParquetSource as DefaultSource

__all__ = ["DefaultSource"]
