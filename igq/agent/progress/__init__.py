"""How the agent goes on: retry, sleep, wake-up, and what it reports."""
