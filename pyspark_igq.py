"""Spark registers ``format("igq")`` by itself where this module is installed: it looks for modules named so."""

from igq.pipeline.datasource.queue.source import QueueSource as DefaultSource

__all__ = ["DefaultSource"]
