"""Registers ``format("igq.journal")``: Spark looks for installed modules with this kind of name."""

from igq.pipeline.datasource.journal.source import JournalSource as DefaultSource

__all__ = ["DefaultSource"]
