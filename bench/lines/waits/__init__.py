"""Waits: wake-ups, requests and replies."""
