"""Spans of OpenTelemetry for puts, hops and gets. While tracing is off, only this module of the package is imported."""

from __future__ import annotations

from sharedq.settings import STARTERS


def register() -> None:
    """Let the setting ``tracing`` begin to trace, at the first connection with it."""
    STARTERS["tracing"] = _start


def _start() -> None:
    # Imported late, because the module needs OpenTelemetry.
    from sharedq.tracing.connections import trace_connections

    trace_connections()
