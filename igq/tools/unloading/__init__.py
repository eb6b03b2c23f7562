"""A queue as a file of records, and back: identical, and no message lost or doubled on the way."""
