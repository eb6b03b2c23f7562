"""The history of messages, made from the journal: lives, order, stays on queues."""
