"""Exactly once: what a query or a job holds in doubt until Spark has noted its batch."""
