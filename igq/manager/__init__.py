"""The process of one queue manager."""
