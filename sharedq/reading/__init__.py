"""Readers that take no part in the group: they read ranges of queues, and the journal."""
