"""The process of one queue manager: its lease, its recoveries of others, its agent, its housekeeping."""
