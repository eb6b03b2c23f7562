"""The output for people: the log, messages and their ids, tables."""
