"""The console: one page, its scripts, and what they ask for."""
