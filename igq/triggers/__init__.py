"""Triggering: the trigger messages that a manager writes, and the trigger monitor that starts programs for them."""
