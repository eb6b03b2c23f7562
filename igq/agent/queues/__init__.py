"""The queues that the agent reads and writes."""
