"""Which OpenTelemetry provider makes the spans: that of the program, or one that the environment describes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points

from sharedq.settings.values import ConfigError

_MISSING = "tracing needs the extra tracing: pip install 'igq[tracing]'"

try:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
except ImportError:
    raise ConfigError(_MISSING) from None

_EXPORTER = "OTEL_TRACES_EXPORTER"


def provider_in_force() -> trace.TracerProvider:
    """The provider that the program has set; else one is made and set, whose exporter ``OTEL_TRACES_EXPORTER`` names.

    Raises:
        ConfigError: that exporter is not installed.
    """
    found = trace.get_tracer_provider()
    if not isinstance(found, trace.ProxyTracerProvider):
        return found
    made = TracerProvider()
    for name in _names():
        made.add_span_processor(BatchSpanProcessor(_maker(name)()))
    trace.set_tracer_provider(made)
    return made


def check_environment() -> None:
    """Raise ConfigError: an exporter that the environment names is not installed."""
    for name in _names():
        _maker(name)


def _names() -> list[str]:
    # The specification's default.
    names = [name.strip() for name in (os.environ.get(_EXPORTER) or "otlp").split(",")]
    return [name for name in names if name != "none"]


def _maker(name: str) -> Callable[[], SpanExporter]:
    if name == "console":
        # Standard output is the program's.
        return partial(ConsoleSpanExporter, out=sys.stderr)
    found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
    try:
        maker: Callable[[], SpanExporter] = found[0].load()
    except (IndexError, ImportError):
        allowed = "console, none, or one that is installed, such as otlp by pip install opentelemetry-exporter-otlp"
        raise ConfigError(f"{_EXPORTER}={name}: there is no such exporter; allowed: {allowed}") from None
    return maker
