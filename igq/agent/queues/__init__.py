"""The queues that the agent reads and writes: its transmit queue, the destinations, who serves which queue."""
