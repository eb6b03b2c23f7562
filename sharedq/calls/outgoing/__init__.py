"""What a message is stored as: its descriptor, its segments, its reply-to queue."""
