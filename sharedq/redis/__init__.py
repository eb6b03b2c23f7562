"""Where Redis is, and how a script gets there."""
