"""Jobs: each takes DataFrames and gives DataFrames, or a few aggregated numbers."""
