"""`format("igq.journal")`: the journal as a table and as a stream."""
