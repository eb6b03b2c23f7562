"""Spark registers ``format("igq")`` by itself where this module is installed: it looks for modules named so."""

from pipeline.queue_source import QueueSource as DefaultSource

__all__ = ["DefaultSource"]
