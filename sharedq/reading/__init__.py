"""Readers that take no part in the group: ranges of queues, and the journal."""
