"""Conversion of a message's data to another character set and encoding: MQGMO_CONVERT and MQXCNVC."""
