"""Spark registers ``format("igq.journal")`` by itself where this module is installed: it looks for modules named so."""

from igq.pipeline.datasource.journal.source import JournalSource as DefaultSource

__all__ = ["DefaultSource"]
