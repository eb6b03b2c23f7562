"""The stored form of a message: its descriptor, its segments, its reply-to queue."""
