"""What is asked of managers from outside: start together, stop, remove, status."""
