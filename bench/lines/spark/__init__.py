"""Lines about Spark."""
