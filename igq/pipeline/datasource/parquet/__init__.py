"""`format("igq.parquet")`: a stream whose workers write Parquet files themselves."""
