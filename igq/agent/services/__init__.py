"""The threads of the agent."""
