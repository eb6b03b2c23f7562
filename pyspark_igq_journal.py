"""Spark registers ``format("igq.journal")`` by itself where this module is installed: it looks for modules named so."""

from pipeline.journal_source import JournalSource as DefaultSource

__all__ = ["DefaultSource"]
