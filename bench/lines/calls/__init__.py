"""Single calls, batches, and what they cost in depth and memory."""
