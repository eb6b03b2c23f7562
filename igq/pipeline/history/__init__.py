"""What the journal tells of messages: lives, order, stays on queues."""
