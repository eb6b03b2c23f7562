"""Definitions of queues and queue managers: attributes, defaults and names. Pure."""
