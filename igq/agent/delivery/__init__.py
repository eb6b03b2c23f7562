"""What becomes of a message that the agent delivers."""
