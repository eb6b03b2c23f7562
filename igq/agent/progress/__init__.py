"""The agent's progress: retry, sleep, wake-up, and its reports."""
