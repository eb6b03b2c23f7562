"""Metrics for Prometheus: their names, how they are read, and the endpoint that shows them."""
