"""The engine that computes tables: Spark, or DuckDB within this process."""
