"""Commands as PCF messages: filters, and the object whose methods they are."""
