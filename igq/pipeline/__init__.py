"""Spark over the message journal: read it as a table, audit every delivery, report."""
