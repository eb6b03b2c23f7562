"""`format("igq")`: a queue as a table, as a stream and as a sink."""
