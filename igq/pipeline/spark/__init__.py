"""The Spark session and its Java."""
