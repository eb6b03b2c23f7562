"""Dead letters: what is on a dead-letter queue and why, and what becomes of it, by hand or by rules."""
