"""Commands that show what is on queues: messages, and events decoded."""
