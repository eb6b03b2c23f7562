"""The queues that the agent reads and writes: its transmission queue, the destinations, who serves which queue."""
