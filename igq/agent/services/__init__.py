"""The threads of the agent: the delivery of each part, and a mover for each transmission queue."""
