"""Registers ``format("igq")``: Spark looks for installed modules with this kind of name."""

from igq.pipeline.datasource.queue.source import QueueSource as DefaultSource

__all__ = ["DefaultSource"]
