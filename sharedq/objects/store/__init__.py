"""The definitions of queues, structures and authorities in Redis, and how they are found."""
