"""A connection, and the calls on it: queue manager, queue, put and get."""
