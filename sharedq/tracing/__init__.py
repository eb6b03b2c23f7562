"""Spans of OpenTelemetry for puts, hops and gets. Nothing here is imported while tracing is off."""
