"""The audit: every message of a run, once and in order."""
