"""Processes that a line of the benchmark starts."""
