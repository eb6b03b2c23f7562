"""The table of the metrics."""

from __future__ import annotations

from docs.generator.markdown import code
from docs.generator.markdown import table as markdown_table
from igq.monitoring.metrics import METRICS


def table() -> str:
    """Each metric: its type, labels and meaning."""
    rows = [(code(each.name), each.kind, ", ".join(map(code, each.labels)), each.text) for each in METRICS.values()]
    return markdown_table(("Metric", "Type", "Labels", "Meaning"), rows)
