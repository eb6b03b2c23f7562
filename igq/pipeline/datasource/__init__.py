"""The Spark data sources `format("igq")` and `format("igq.journal")`."""
